//! Whether a pattern picks some files of a project, or may mean all of them or the history.

use crate::pattern::{Case, Dialect, Pattern};

/// Names in `.git` without which its commits are lost, and `.git` itself.
const HISTORY: [&[u8]; 8] =
    [b".git", b"HEAD", b"index", b"logs", b"modules", b"objects", b"packed-refs", b"refs"];
/// Paths of the history, one for each depth.
const HISTORY_PATHS: [&[u8]; 4] =
    [b".git", b".git/HEAD", b".git/refs/heads/main", b".git/objects/ab/cd"];

/// The language of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// A pattern of names, as for `-name`.
    Name,
    /// A pattern of whole paths, as for `-path`.
    Path,
    /// A regular expression.
    Regex,
}

/// Whether a pattern holds a literal name or extension, and does not mean the history. `folders` are
/// those in which the search starts.
pub(super) fn narrows(style: Style, pattern: &[u8], folders: &[&[u8]]) -> bool {
    match style {
        Style::Name => {
            let runs = runs(pattern);
            let compiled = Pattern::new(pattern, Dialect::Find);
            (is_literal(&runs) || has_beginning(&runs))
                && !HISTORY.iter().any(|one| compiled.matches_as(one, Case::Ascii))
        }
        Style::Path => {
            let start = folders.iter().filter(|folder| pattern.starts_with(folder));
            let start = start.map(|folder| folder.len()).max().unwrap_or(0);
            let rest = pattern.get(start..).unwrap_or_default();
            let runs = runs(rest);
            (is_literal(&runs) || has_beginning(&runs)) && !means_history(pattern, folders)
        }
        Style::Regex => {
            let runs = regex_runs(pattern);
            let of_history = |run: &[u8]| {
                let is_part = |one: &[u8]| one.windows(run.len().max(1)).any(|part| part == run);
                HISTORY.iter().any(|one| is_part(one)) || run.ends_with(b".git")
            };
            let named = runs.iter().filter(|run| !of_history(run.trim_ascii())).cloned();
            let mut parts = pattern.split(|byte| *byte == b'/');
            let is_git = |part: &[u8]| part.ends_with(b".git") && part.len() <= 6;
            // A branch of an alternative may be empty.
            !pattern.contains(&b'|') && !parts.any(is_git) && is_literal(&named.collect::<Vec<_>>())
        }
    }
}

fn means_history(pattern: &[u8], folders: &[&[u8]]) -> bool {
    let fixed: [&[u8]; 2] = [b"", b"./"];
    let starts = fixed.into_iter().map(<[u8]>::to_vec);
    let starts = starts.chain(folders.iter().map(|folder| [folder, b"/".as_slice()].concat()));
    let mut paths =
        starts.flat_map(|start| HISTORY_PATHS.map(|path| [start.as_slice(), path].concat()));
    let pattern = Pattern::new(pattern, Dialect::Find);
    paths.any(|path| pattern.matches_as(path, Case::Ascii))
}

/// Whether one of the literal parts is a name or an extension, and not only a letter.
fn is_literal(runs: &[Vec<u8>]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
    let names = |run: &Vec<u8>| {
        let pairs = run.windows(2).any(|pair| match pair {
            [first, second] => (is_letter(first) || *first == b'.') && is_letter(second),
            _ => false,
        });
        // One letter is a name between slashes.
        let folder = run.windows(3).any(|three| match three {
            [b'/', letter, b'/'] => is_letter(letter),
            _ => false,
        });
        pairs
            || folder
            || (runs.len() == 1 && run.ends_with(b"\0") && run.iter().any(is_letter))
            || run.ends_with(b"~")
    };
    runs.iter().any(names)
}

/// Whether names have to begin with a letter that the pattern says.
fn has_beginning(runs: &[Vec<u8>]) -> bool {
    runs.first().is_some_and(|run| run.iter().any(u8::is_ascii_alphanumeric))
}

/// The literal parts of a pattern. One without any star ends with a NUL byte.
fn runs(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut runs = vec![Vec::new()];
    let mut rest = pattern;
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'*' | b'?', _) => {
                runs.push(Vec::new());
                after
            }
            (b'[', _) => {
                runs.push(Vec::new());
                after_class(after)
            }
            (b'\\', [escaped, after @ ..]) => {
                push(&mut runs, *escaped);
                after
            }
            _ => {
                push(&mut runs, *byte);
                after
            }
        };
    }
    if runs.len() == 1 {
        push(&mut runs, b'\0');
    }
    runs
}

/// The literal parts of a regular expression; letters that a sign repeats or escapes are none.
fn regex_runs(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut runs = vec![Vec::new()];
    let mut rest = pattern;
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'[', _) => {
                runs.push(Vec::new());
                after_class(after)
            }
            (b'\\', [escaped, after @ ..]) if !escaped.is_ascii_alphanumeric() => {
                match escaped {
                    b'(' | b')' | b'|' | b'{' | b'}' => runs.push(Vec::new()),
                    _ => push(&mut runs, *escaped),
                }
                after
            }
            (b'\\', [_, after @ ..]) => {
                runs.push(Vec::new());
                after
            }
            (b'*' | b'?' | b'{', _) => {
                if let Some(run) = runs.last_mut() {
                    run.pop();
                }
                runs.push(Vec::new());
                after
            }
            (b'.' | b'+' | b'^' | b'$' | b'(' | b')' | b'|' | b'}', _) => {
                runs.push(Vec::new());
                after
            }
            _ => {
                push(&mut runs, *byte);
                after
            }
        };
    }
    runs
}

fn push(runs: &mut [Vec<u8>], byte: u8) {
    if let Some(run) = runs.last_mut() {
        run.push(byte);
    }
}

/// What stands behind a class; one that nothing closes ends at once.
fn after_class(rest: &[u8]) -> &[u8] {
    let signs = rest.iter().take_while(|byte| matches!(byte, b'!' | b'^' | b']')).count();
    let from = rest.get(signs..).unwrap_or_default();
    let end = from.iter().position(|byte| *byte == b']');
    end.and_then(|end| from.get(end.saturating_add(1)..)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::{Style, narrows};

    #[test]
    fn a_name_or_an_extension_narrows_and_the_history_does_not() {
        let check = |style, pattern: &str, expected: bool| {
            let found = narrows(style, pattern.as_bytes(), &[b".", b"/p"]);
            assert_eq!(found, expected, "{style:?} {pattern:?}");
        };
        for name in
            ["*.pyc", "*.o", "x", "x*", "node_modules", ".gitignore", ".git?*s", "*~", "a[bc].h"]
        {
            check(Style::Name, name, true);
        }
        for name in [
            "", "*", "*.*", "?*", ".*", "[a-z]*", "[!.]*", ".git", ".git*", ".GIT", "*git", ".g?t",
            "[.]git", "*i*", "HEAD", "objects", "\\.git", "*e*", "**", "[a-z",
        ] {
            check(Style::Name, name, false);
        }
        for path in ["./x/*", "*/build/*", "/p/x*y/ab", "./.git/*.lock", "*.pyc"] {
            check(Style::Path, path, true);
        }
        for path in [
            "./*",
            "*",
            "*/*",
            "./.git/*",
            "*.git*",
            "/p/*",
            "/p/.git/*",
            "*/.git",
            "*/.g*",
            "/p/[a-z]*",
        ] {
            check(Style::Path, path, false);
        }
        for regex in [".*\\.pyc", ".*/build/.*", "\\.pyc$", "foo"] {
            check(Style::Regex, regex, true);
        }
        for regex in
            [".*", "", ".", "^.+$", ".*/\\.git", ".*/.git/.*", ".*\\.gi.*", "[a-z]*", "a*", "x|"]
        {
            check(Style::Regex, regex, false);
        }
    }
}
