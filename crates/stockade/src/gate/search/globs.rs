//! The patterns of a search: which files it selects and leaves out, in the words of ripgrep.

use std::path::Path;

use serde_json::Value;

use crate::call::Foreign;
use crate::confine::{Origin, Parsed, Segment};
use crate::policy::rule::Rule;

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
/// Patterns that braces stand for, in one pattern.
const BRACES_MAX: usize = 256;
/// Letters that mean something in a pattern, or end it.
const SPECIAL: [char; 9] = ['*', '?', '[', ']', '{', '}', '!', '\\', ','];

/// The patterns of one search.
#[derive(Debug)]
pub(super) struct Globs {
    selecting: Vec<String>,
    excluding: Vec<String>,
}

/// Files that a pattern names, as far as it says which.
pub(super) enum Selected {
    /// A path without a wildcard.
    Plain(String),
    /// Files whose names begin with a dot, by a pattern.
    Hidden(Parsed),
}

impl Globs {
    /// Those of a call.
    pub(super) fn of(foreign: &Foreign) -> Self {
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
                // The last pattern that fits decides.
                None => {
                    globs.excluding.clear();
                    globs.selecting.extend(unbraced(&pattern));
                }
            }
        }
        globs
    }

    /// What the patterns select by name.
    pub(super) fn selected(&self) -> Vec<Selected> {
        self.selecting.iter().filter_map(|pattern| selected(pattern)).collect()
    }

    /// Whether a path is, or holds, a file that the search looks at.
    pub(super) fn may_select(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let fits = |pattern: &String| {
            let last = pattern.rsplit('/').next().unwrap_or_default().to_lowercase();
            let is_open = last.is_empty() || last.contains(['{', '[', '\\']) || last == "**";
            is_open || Segment::parse(&last).fits(&name) || may_hold(pattern, path)
        };
        self.selecting.is_empty() || path.is_dir() || self.selecting.iter().any(fits)
    }

    /// Whether the search leaves this out.
    pub(super) fn excludes(&self, pattern: &str) -> bool {
        self.excluding.iter().any(|one| one == pattern)
    }
}

/// Whether a text without wildcards may name a folder that holds a path: some tools take paths and
/// patterns in one field.
fn may_hold(text: &str, path: &Path) -> bool {
    if text.contains(['*', '?']) {
        return false;
    }
    let bare = text.trim().trim_start_matches("./").trim_end_matches(['/', '.']);
    // Where these lead is not known here.
    let is_unknown = bare.starts_with(['~', '$']) || bare.contains("..") || bare.contains(':');
    bare.is_empty() || is_unknown || path.ancestors().skip(1).any(|above| above.ends_with(bare))
}

/// The pattern that leaves a path out, by its names below the folder that is searched.
pub(super) fn excluding(path: &Path) -> String {
    format!("!**/{}", plain(&path.to_string_lossy()))
}

/// The paths that a rule refuses to read, as they are written in it.
pub(super) fn read_in(rule: &Rule) -> Option<&str> {
    let inside = rule.text().strip_prefix("Read(")?.strip_suffix(')')?;
    // A shipped one that begins in the home folder or at a system folder is about no project.
    let is_shipped = rule.origin() == Origin::Shipped;
    (!is_shipped || inside.starts_with("//**/")).then_some(inside)
}

/// The last name of a path in a rule, if it is plain.
pub(super) fn last_name(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    (!name.is_empty() && !name.contains(SPECIAL)).then_some(name)
}

/// The pattern that leaves out what a rule refuses to read, and perhaps more.
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

/// Files that a pattern names. One that also means other files selects none by name.
fn selected(pattern: &str) -> Option<Selected> {
    let path = pattern.trim_start_matches('/').trim_start_matches("**/").trim_end_matches('/');
    let path = path.strip_suffix("/**").or_else(|| path.strip_suffix("/*")).unwrap_or(path);
    if !path.contains(['*', '?', '[', '{']) {
        return Some(Selected::Plain(path.replace('\\', ""))).filter(|_| !path.is_empty());
    }
    let name = path.rsplit('/').next()?.to_lowercase();
    let is_hidden = name.starts_with('.') || name.starts_with("[.]") || name.starts_with("\\.");
    is_hidden.then(|| Selected::Hidden(Segment::parse(&name)))
}

/// The patterns in a text: Claude Code separates them by spaces, and by commas where there are no braces.
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

/// What a pattern with braces stands for.
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

/// A name as a pattern that means it.
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

/// Whether a letter ends a pattern where several are written one after another.
fn is_end(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || letter == ','
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{Foreign, Globs, Selected, excluding, of_rule};

    fn globs(glob: &Value) -> Globs {
        let input = json!({"glob": glob, "pattern": ".env"}).as_object().unwrap().clone();
        Globs::of(&Foreign { name: "Grep".to_owned(), input })
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
                    Selected::Plain(path) => path,
                    Selected::Hidden(_) => "hidden".to_owned(),
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
