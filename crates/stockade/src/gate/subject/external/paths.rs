//! The paths in the input of an external tool, resolved. Tools differ in what they expand and cut
//! off, so one text can mean several paths; each is judged.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::call::{ExternalCall, PATCH_NAMES, patched_files};
use crate::gate::facts::is_absent;
use crate::gate::protected_paths::finding;
use crate::inspect::{Finding, PathResolver, Weight};
use crate::policy::rules::{PathFacts, Reach, Touch, overwrites};

/// Names of path fields, in lower case and without separators.
const FIELDS: [&str; 16] = [
    "dest",
    "destination",
    "dst",
    "folders",
    "from",
    "include",
    "location",
    "out",
    "output",
    "resource",
    "saveas",
    "saveto",
    "source",
    "src",
    "target",
    "to",
];
/// Endings of the names of other path fields: `notebook_path`, `targetFile`, `rootDir`.
const ENDINGS: [&str; 13] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "folder",
    "dir",
    "dirs",
    "directory",
    "directories",
    "uri",
    "uris",
];
/// Beginnings of the names of fields with paths that the tool writes.
const WRITTEN: [&str; 5] = ["dest", "dst", "out", "save", "write"];
/// The most paths of one call. Each is resolved.
pub(super) const PATHS_MAX: usize = 1000;
/// Fields that may hold a patch.
const PATCHES: [&str; 3] = ["command", "input", "patch"];

/// The paths of a call.
#[derive(Debug, Default)]
pub(in crate::gate) struct NamedPaths {
    pub(in crate::gate) reads: Vec<PathFacts>,
    pub(in crate::gate) writes: Vec<PathFacts>,
    /// Findings that refuse the call.
    pub(super) findings: Vec<Finding>,
}

impl NamedPaths {
    /// The paths in the input of a tool. If the tool is not known to read or to write, each path
    /// counts as both.
    pub(super) fn of(
        foreign: &ExternalCall,
        resolver: &PathResolver<'_>,
        home: Option<&Path>,
    ) -> Self {
        if is_patch(foreign) {
            return Self::of_patch(foreign, resolver);
        }
        let touch = Touch::of(&foreign.name);
        let mut named = Self::default();
        let Some(texts) = texts(foreign) else {
            named.findings.push(too_many());
            return named;
        };
        let downloads = downloads(foreign);
        for NamedText { text, is_written } in texts {
            for path in meanings(&text, resolver.cwd_path(), home) {
                let fact = fact(&path, resolver, &foreign.name);
                if touch != Touch::Writes {
                    named.reads.push(fact.clone());
                }
                if touch != Touch::Reads || is_written || downloads {
                    named.writes.push(fact);
                }
            }
        }
        named
    }

    /// The files of a patch. They have to be in the project.
    fn of_patch(foreign: &ExternalCall, resolver: &PathResolver<'_>) -> Self {
        let mut named = Self::default();
        let refuse = |text: String| {
            let instead = "send one patch from `*** Begin Patch` to `*** End Patch` that names files \
                           of the project";
            finding("patch", text, instead, Weight::Always)
        };
        let files = match patch(foreign).map(|text| patched_files(&text)) {
            Some(Ok(files)) => files,
            Some(Err(error)) => {
                named.findings.push(refuse(format!("the patch cannot be read: {error}")));
                return named;
            }
            None => {
                named.findings.push(refuse("the call has no patch that is a text".to_owned()));
                return named;
            }
        };
        if files.len() > PATHS_MAX {
            named.findings.push(too_many());
            return named;
        }
        for file in files {
            let fact = fact(&resolver.cwd_path().join(&file.path), resolver, &foreign.name);
            let fact = PathFacts { unread: fact.unread || !file.reads, ..fact };
            if !fact.free {
                let text = format!("the patch names {:?}, outside of the project", file.path);
                named.findings.push(refuse(text));
            }
            // A file may replace a folder with everything in it.
            named.writes.push(PathFacts { free: false, reach: Reach::Tree, ..fact });
        }
        named
    }
}

/// Whether a tool applies patches.
pub(super) fn is_patch(foreign: &ExternalCall) -> bool {
    PATCH_NAMES.contains(&foreign.name.to_lowercase().as_str())
}

/// The facts about one path of an input.
pub(super) fn fact(path: &Path, resolver: &PathResolver<'_>, tool: &str) -> PathFacts {
    let real = resolver.real(path.as_os_str());
    let free = real.as_ref().is_some_and(|real| real.starts_with(resolver.root().path()));
    let fact = PathFacts { real, free, ..PathFacts::new(path) };
    PathFacts { unread: overwrites(tool) || is_absent(&fact), ..fact }
}

/// The text of a patch: a field, or the last word of a command.
fn patch(foreign: &ExternalCall) -> Option<String> {
    let mut found = PATCHES.iter().filter_map(|field| match foreign.input.get(*field)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => match words.as_slice() {
            [_, Value::String(text)] => Some(text.clone()),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    });
    let first = found.next()?;
    // With two texts it is not known which one is applied.
    found.next().is_none().then_some(first)
}

/// The paths of an input, resolved as the agent would. A call with too many is refused.
pub(super) fn paths(
    foreign: &ExternalCall,
    resolver: &PathResolver<'_>,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let paths = |text: NamedText| meanings(&text.text, resolver.cwd_path(), home);
    texts(foreign).unwrap_or_default().into_iter().flat_map(paths).collect()
}

pub(super) fn too_many() -> Finding {
    let text = format!("the call names more than {PATHS_MAX} paths or addresses");
    finding("many", text, "split it into several calls", Weight::Always)
}

/// Whether a call has an address beside its paths: it may write a download to them.
fn downloads(foreign: &ExternalCall) -> bool {
    let is_web = |text: &str| text.contains("://") && !text.trim_start().starts_with("file:");
    foreign.input.iter().any(|(name, value)| {
        name.to_lowercase().contains("url") && value.as_str().is_some_and(is_web)
    })
}

/// A text that may name paths.
#[derive(Debug)]
struct NamedText {
    text: String,
    /// Whether the field is for output.
    is_written: bool,
}

/// What the name of a field says about its texts.
#[derive(Debug, Clone, Copy)]
struct Field {
    names: bool,
    is_written: bool,
}

impl Field {
    fn of(name: &str) -> Self {
        let plain: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
        let plain = plain.to_lowercase();
        let names = FIELDS.contains(&plain.as_str())
            || ENDINGS.iter().any(|ending| plain.ends_with(ending));
        let is_written = names && WRITTEN.iter().any(|begin| plain.starts_with(begin));
        Self { names, is_written }
    }

    fn within(self, outer: Self) -> Self {
        Self { names: self.names || outer.names, is_written: self.is_written || outer.is_written }
    }
}

/// The texts of all path fields; none if there are too many.
fn texts(foreign: &ExternalCall) -> Option<Vec<NamedText>> {
    // The JSON reader bounds the depth.
    let mut all = Vec::new();
    let mut left: Vec<(Field, &Value)> =
        foreign.input.iter().map(|(name, value)| (Field::of(name), value)).collect();
    while let Some((field, value)) = left.pop() {
        match value {
            Value::String(text) if field.names => {
                all.push(NamedText { text: text.clone(), is_written: field.is_written });
            }
            Value::Array(values) => left.extend(values.iter().map(|value| (field, value))),
            Value::Object(fields) => {
                let fields = fields.iter();
                left.extend(fields.map(|(name, value)| (Field::of(name).within(field), value)));
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if all.len() > PATHS_MAX {
            return None;
        }
    }
    Some(all)
}

/// Every path that a text may mean to a tool in this folder.
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

/// A text as a path relative to this folder, with `~` expanded.
pub(in crate::gate) fn placed(text: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ if text == "~" => home.map_or_else(|| folder.join(text), Path::to_owned),
        _ => folder.join(OsStr::new(text)),
    }
}

/// A path that starts with a variable or with another user's home directory.
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

/// The paths of a `file:` address, with and without a possible query or fragment.
fn file_url(text: &str) -> Vec<String> {
    let Some((scheme, rest)) = text.split_once(':') else { return Vec::new() };
    if !scheme.eq_ignore_ascii_case("file") {
        return Vec::new();
    }
    // URL parsers drop line ends and read a backslash as a slash.
    let rest: String = rest.chars().filter(|letter| !letter.is_control()).collect();
    let rest = rest.replace('\\', "/");
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.find('/').and_then(|at| behind.get(at..)).unwrap_or_default(),
        None => rest.as_str(),
    };
    let bare = path.split(['?', '#']).next().unwrap_or_default();
    let mut paths = vec![decoded(path)];
    add(&mut paths, decoded(bare));
    // Some programs read the host of such an address as a folder.
    add(&mut paths, decoded(rest.trim_start_matches('/')));
    paths
}

/// Decodes `%2e` and its kin.
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
    // A decoded NUL ends the path as well.
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

    use serde_json::json;

    use super::{ExternalCall, meanings, patch, texts};

    fn foreign(input: &serde_json::Value) -> ExternalCall {
        ExternalCall { name: "apply_patch".to_owned(), input: input.as_object().unwrap().clone() }
    }

    #[test]
    fn a_patch_is_one_text() {
        for (input, expected) in [
            (json!({"command": "p"}), Some("p")),
            (json!({"input": "p"}), Some("p")),
            (json!({"command": ["apply_patch", "p"]}), Some("p")),
            (json!({"command": "p", "input": "q"}), None),
            (json!({"command": ["bash", "-lc", "p"]}), None),
            (json!({"command": 1}), None),
            (json!({}), None),
        ] {
            assert_eq!(patch(&foreign(&input)).as_deref(), expected, "{input}");
        }
    }

    #[test]
    fn paths_are_found_under_the_names_that_agents_use() {
        for input in [
            json!({"file_path": "p"}),
            json!({"absolute_path": "p"}),
            json!({"filePath": "p"}),
            json!({"target_file": "p"}),
            json!({"paths": ["p"], "content": "q"}),
            json!({"source": "p"}),
            json!({"dst": "p"}),
            json!({"outputPath": "p"}),
            json!({"args": {"target": {"path": "p"}}}),
            json!({"edits": [{"file_path": "p", "new_string": "q"}]}),
            json!({"file-path": "p"}),
            json!({"imagePath": ["p"]}),
            json!({"root_dir": "p", "pattern": "q"}),
        ] {
            let found = texts(&foreign(&input)).unwrap();
            let found: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
            assert_eq!(found, ["p"], "{input}");
        }
    }

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
