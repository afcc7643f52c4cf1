//! The file patterns of a search: which files it includes and excludes, in the syntax of ripgrep.

use std::path::Path;

use serde_json::Value;

use crate::call::ExternalCall;
use crate::confine::Origin;
use crate::pattern::{Dialect, Pattern};
use crate::policy::rules::Rule;

/// Fields that hold patterns for the files of a search.
const FIELDS: [&str; 11] = [
    "filepattern",
    "glob",
    "globpattern",
    "globs",
    "include",
    "includepattern",
    "includepatterns",
    "includes",
    "paths",
    "patterns",
    "filepatterns",
];
/// The most patterns that one pattern with braces expands to.
const BRACES_MAX: usize = 256;
/// Characters with a meaning in patterns, or that separate them.
const SPECIAL: [char; 9] = ['*', '?', '[', ']', '{', '}', '!', '\\', ','];

/// The patterns of one search.
#[derive(Debug)]
pub(super) struct Globs {
    selecting: Vec<String>,
    excluding: Vec<String>,
}

/// The files that a pattern names, as far as it is specific.
pub(super) enum Selection {
    /// A path without a wildcard.
    Plain(String),
    /// Files whose names start with a dot, by a pattern.
    Hidden(Pattern),
}

impl Globs {
    /// The patterns of a call.
    pub(super) fn of(foreign: &ExternalCall) -> Self {
        let mut texts = Vec::new();
        for (name, value) in &foreign.input {
            let plain: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
            if FIELDS.contains(&plain.to_lowercase().as_str()) {
                match value {
                    Value::String(text) => texts.push(text.as_str()),
                    Value::Array(all) => texts.extend(all.iter().filter_map(Value::as_str)),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
                }
            }
        }
        let mut globs = Self { selecting: Vec::new(), excluding: Vec::new() };
        for pattern in texts.into_iter().flat_map(split) {
            match pattern.strip_prefix('!') {
                Some(_) => globs.excluding.push(pattern),
                // The last matching pattern decides.
                None => {
                    globs.excluding.clear();
                    globs.selecting.extend(unbraced(&pattern));
                }
            }
        }
        globs
    }

    /// The files that the patterns name explicitly.
    pub(super) fn selected(&self) -> Vec<Selection> {
        self.selecting.iter().filter_map(|pattern| selected(pattern)).collect()
    }

    /// Whether the search may read a path or a file below it.
    pub(super) fn may_select(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let fits = |pattern: &String| {
            let last = pattern.rsplit('/').next().unwrap_or_default().to_lowercase();
            let is_open = last.is_empty() || last.contains(['{', '[', '\\']) || last == "**";
            is_open || Pattern::new(&last, Dialect::Name).matches(&name) || may_hold(pattern, path)
        };
        self.selecting.is_empty() || path.is_dir() || self.selecting.iter().any(fits)
    }

    /// Whether the search excludes this pattern already.
    pub(super) fn excludes(&self, pattern: &str) -> bool {
        self.excluding.iter().any(|one| one == pattern)
    }
}

/// Whether a text without wildcards may name a folder above a path: some tools take paths and
/// patterns in one field.
fn may_hold(text: &str, path: &Path) -> bool {
    if text.contains(['*', '?']) {
        return false;
    }
    let bare = text.trim().trim_start_matches("./").trim_end_matches(['/', '.']);
    // The target of these is not known here.
    let is_unknown = bare.starts_with(['~', '$']) || bare.contains("..") || bare.contains(':');
    bare.is_empty() || is_unknown || path.ancestors().skip(1).any(|above| above.ends_with(bare))
}

/// The pattern that excludes a path, relative to the searched folder.
pub(super) fn excluding(path: &Path) -> String {
    format!("!**/{}", plain(&path.to_string_lossy()))
}

/// The path of a rule that denies reading, as it is written.
pub(super) fn read_in(rule: &Rule) -> Option<&str> {
    let inside = rule.text().strip_prefix("Read(")?.strip_suffix(')')?;
    // A shipped rule for the home directory or a system folder concerns no project.
    let is_shipped = rule.origin() == Origin::Shipped;
    (!is_shipped || inside.starts_with("//**/")).then_some(inside)
}

/// The last name of a rule's path, if it has no wildcard.
pub(super) fn last_name(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    (!name.is_empty() && !name.contains(SPECIAL)).then_some(name)
}

/// A pattern that excludes what a rule denies to read, and possibly more.
pub(super) fn of_rule(path: &str) -> String {
    let anchors = ["//", "~/", "./", "/"];
    let path = anchors.iter().find_map(|anchor| path.strip_prefix(anchor)).unwrap_or(path);
    let mut rest = path.trim_start_matches("**/");
    let mut text = String::new();
    while let Some((before, behind)) = rest.split_once("!(") {
        text.push_str(before);
        text.push('*');
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let letter = |letter: char| if is_end(letter) { '?' } else { letter };
    format!("!**/{}", text.chars().map(letter).collect::<String>())
}

/// The files that a pattern names. A pattern that includes ordinary files as well names none.
fn selected(pattern: &str) -> Option<Selection> {
    let path = pattern.trim_start_matches('/').trim_start_matches("**/").trim_end_matches('/');
    let path = path.strip_suffix("/**").or_else(|| path.strip_suffix("/*")).unwrap_or(path);
    if !path.contains(['*', '?', '[', '{']) {
        return Some(Selection::Plain(path.replace('\\', ""))).filter(|_| !path.is_empty());
    }
    let name = path.rsplit('/').next()?.to_lowercase();
    let is_hidden = name.starts_with('.') || name.starts_with("[.]") || name.starts_with("\\.");
    is_hidden.then(|| Selection::Hidden(Pattern::new(&name, Dialect::Name)))
}

/// The patterns in a text. Claude Code separates them by spaces, and by commas if there are no
/// braces.
fn split(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for word in text.split_whitespace() {
        if word.contains('{') && word.contains('}') {
            all.push(word.to_owned());
        } else {
            all.extend(word.split(',').filter(|one| !one.is_empty()).map(str::to_owned));
        }
    }
    all
}

/// The patterns that a pattern with braces expands to.
fn unbraced(pattern: &str) -> Vec<String> {
    let (mut done, mut todo) = (Vec::new(), vec![pattern.to_owned()]);
    while let Some(next) = todo.pop() {
        let parts = next.split_once('}').and_then(|(before, behind)| {
            let (first, inside) = before.rsplit_once('{')?;
            Some((first.to_owned(), inside.to_owned(), behind.to_owned()))
        });
        match parts {
            Some((first, inside, behind)) if done.len().saturating_add(todo.len()) < BRACES_MAX => {
                todo.extend(inside.split(',').map(|one| format!("{first}{one}{behind}")));
            }
            Some(_) | None => done.push(next),
        }
    }
    done
}

/// A pattern that matches this name.
fn plain(name: &str) -> String {
    let letter = |letter: char| {
        if SPECIAL.contains(&letter) || is_end(letter) || letter == char::REPLACEMENT_CHARACTER {
            '?'
        } else {
            letter
        }
    };
    name.chars().map(letter).collect()
}

/// Whether a character separates patterns.
fn is_end(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || letter == ','
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{ExternalCall, Globs, Selection, excluding, of_rule};

    fn globs(glob: &Value) -> Globs {
        let input = json!({"glob": glob, "pattern": ".env"}).as_object().unwrap().clone();
        Globs::of(&ExternalCall { name: "Grep".to_owned(), input })
    }

    #[test]
    fn a_pattern_that_names_files_selects_them() {
        for (glob, expected) in [
            (".env", ".env"),
            ("**/.env", ".env"),
            ("/sub/.env", "sub/.env"),
            ("*.ts,.env", ".env"),
            ("*.ts .env", ".env"),
            ("{a,.env}", ".env a"),
            ("{a,{b,c}}/x", "a/x b/x c/x"),
            (".env*", "hidden"),
            ("[.]env", "hidden"),
            ("secrets/**", "secrets"),
            ("*", ""),
            ("**/*", ""),
            ("*.{ts,tsx}", ""),
            ("!.env", ""),
        ] {
            let globs = globs(&json!(glob));
            let mut found: Vec<String> = globs
                .selected()
                .into_iter()
                .map(|one| match one {
                    Selection::Plain(path) => path,
                    Selection::Hidden(_) => "hidden".to_owned(),
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.join(" "), expected, "{glob}");
        }
    }

    #[test]
    fn a_pattern_that_cannot_mean_a_file_does_not_select_it() {
        for (glob, expected) in
            [("*.ts", false), ("*", true), ("src/**", true), ("*.ts *v", true), ("!*.ts", true)]
        {
            assert_eq!(globs(&json!(glob)).may_select(Path::new("/p/.env")), expected, "{glob}");
        }
    }

    #[test]
    fn what_stands_last_decides() {
        assert!(globs(&json!("!**/.env")).excludes("!**/.env"));
        assert!(globs(&json!("*.ts !**/.env")).excludes("!**/.env"));
        assert!(!globs(&json!("!**/.env **/*")).excludes("!**/.env"));
        assert!(!globs(&json!("!**/.env")).excludes("!**/.env.local"));
    }

    #[test]
    fn paths_and_rules_become_patterns() {
        assert_eq!(excluding(Path::new("a/.env")), "!**/a/.env");
        assert_eq!(excluding(Path::new("a b/[x],y!")), "!**/a?b/?x??y?");
        assert_eq!(of_rule("//**/.env"), "!**/.env");
        assert_eq!(of_rule("//**/.env.!(example|a.b)"), "!**/.env.*");
        assert_eq!(of_rule("./secrets/**"), "!**/secrets/**");
        assert_eq!(of_rule(".env"), "!**/.env");
    }
}
