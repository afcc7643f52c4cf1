//! The paths that a text in an agent's input may mean. Tools differ in what they expand and cut off, so
//! that one text can have several meanings, and each of them is judged.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Every path that a text may mean to a tool that starts in this folder.
pub(super) fn meanings(text: &str, folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    // The kernel ends a path at a NUL.
    let cut = text.split('\0').next().unwrap_or_default();
    let trimmed = cut.trim_matches(|letter: char| letter.is_whitespace() || letter.is_control());
    let mut texts = vec![cut.to_owned()];
    add(&mut texts, trimmed.to_owned());
    for path in file_url(trimmed) {
        add(&mut texts, path);
    }
    let mut paths = Vec::new();
    for text in &texts {
        add(&mut paths, placed(text, folder, home));
        if let Some(path) = expanded(text, folder, home) {
            add(&mut paths, path);
        }
    }
    paths
}

/// A text as a path from this folder, where `~` is the home folder.
pub(super) fn placed(text: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ if text == "~" => home.map_or_else(|| folder.join(text), Path::to_owned),
        _ => folder.join(OsStr::new(text)),
    }
}

/// A path that begins with a variable, or with another person's home folder.
fn expanded(text: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    let start = match first {
        "$HOME" | "${HOME}" | "%HOME%" | "$env:HOME" => home?.to_owned(),
        "$PWD" | "${PWD}" | "~+" => folder.to_owned(),
        "~root" => PathBuf::from("/root"),
        _ => home?.parent()?.join(first.strip_prefix('~').filter(|name| !name.is_empty())?),
    };
    Some(start.join(rest.trim_start_matches('/')))
}

/// The paths of a `file:` address, with and without what may be a query or a fragment.
fn file_url(text: &str) -> Vec<String> {
    let Some((scheme, rest)) = text.split_once(':') else { return Vec::new() };
    if !scheme.eq_ignore_ascii_case("file") {
        return Vec::new();
    }
    // A reader of addresses drops line ends and takes a backslash for a slash.
    let rest: String = rest.chars().filter(|letter| !letter.is_control()).collect();
    let rest = rest.replace('\\', "/");
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.find('/').and_then(|at| behind.get(at..)).unwrap_or_default(),
        None => rest.as_str(),
    };
    let bare = path.split(['?', '#']).next().unwrap_or_default();
    let mut paths = vec![decoded(path)];
    add(&mut paths, decoded(bare));
    // The host of an address that has none is taken for a folder by some.
    add(&mut paths, decoded(rest.trim_start_matches('/')));
    paths
}

/// A text with its `%2e` replaced by what they stand for.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    // What was decoded may end the path, too.
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::meanings;

    #[test]
    fn a_text_means_every_path_that_a_tool_may_take_it_for() {
        for (text, expected) in [
            (".env", "/w/.env"),
            (".env\n", "/w/.env"),
            (".env\0.txt", "/w/.env"),
            (" .env", "/w/.env"),
            ("/w/a/../.env", "/w/a/../.env"),
            ("~/.netrc", "/h/me/.netrc"),
            ("~", "/h/me"),
            ("$HOME", "/h/me"),
            ("$HOME/.netrc", "/h/me/.netrc"),
            ("${HOME}//.netrc", "/h/me/.netrc"),
            ("~other/.netrc", "/h/other/.netrc"),
            ("file:///w/%2eenv", "/w/.env"),
            ("FILE://localhost/w/%2Eenv", "/w/.env"),
            ("file:/w/.env", "/w/.env"),
            ("file:.env", "/w/.env"),
            ("file:///w/.env?x#y", "/w/.env"),
            ("file:///w/%2eenv%00.txt", "/w/.env"),
            ("file:///w\\.env", "/w/.env"),
            ("a\\b", "/w/a\\b"),
            ("%2eenv", "/w/%2eenv"),
        ] {
            let found = meanings(text, Path::new("/w"), Some(Path::new("/h/me")));
            assert!(found.contains(&PathBuf::from(expected)), "{text:?}: {found:?}");
        }
        let of_root = meanings("~root/.netrc", Path::new("/w"), None);
        assert!(of_root.iter().any(|path| path.starts_with("/root")), "{of_root:?}");
        let plain = meanings("src/a b%20c", Path::new("/w"), None);
        assert_eq!(plain, [PathBuf::from("/w/src/a b%20c")]);
    }
}
