//! Files from which code runs later, outside of any box: what is known of them is data, in
//! `policies/risky.toml`.

pub(super) mod named;

use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// The list as tables, made of the data by the build script.
mod table {
    include!(concat!(env!("OUT_DIR"), "/risky.rs"));
}

/// Said of every file if the patterns cannot be compiled, which a test keeps from happening.
const UNREADABLE: &str = "the list of files from which code runs cannot be read";

/// The patterns of all entries, compiled.
#[derive(Debug)]
struct Patterns {
    set: GlobSet,
    /// For each pattern of the set, the entry that it is of.
    entries: Vec<usize>,
}

/// How code runs from a file with this path, beneath the root or absolute, if it does.
pub fn why(path: &Path) -> Option<&'static str> {
    if !named::may_be(path) {
        return None;
    }
    let Some(patterns) = patterns() else { return Some(UNREADABLE) };
    let found = patterns.set.matches(path);
    let entry = found.iter().filter_map(|at| patterns.entries.get(*at)).min()?;
    table::ENTRIES.get(*entry).map(|(why, _)| *why)
}

/// Said of a link in git's own folder, which may lead to anything that git runs.
const IN_GIT: &str = "git follows it, to hooks or configuration";

/// How code runs from files in a folder with this path, for a link in its place.
pub(super) fn why_above(path: &Path) -> Option<&'static str> {
    let is_above = |listed: &&str| {
        let mut above = Path::new(listed).ancestors().skip(1);
        above.any(|above| above != Path::new("") && path.ends_with(above))
    };
    let entry = table::ENTRIES.iter().find(|(_, paths)| paths.iter().any(is_above));
    let in_git = || path.iter().any(|name| name == ".git").then_some(IN_GIT);
    entry.map(|(why, _)| *why).or_else(in_git)
}

/// Compiled when a file that may be on the list was changed, and not before: it costs more than all
/// the rest.
fn patterns() -> Option<&'static Patterns> {
    static PATTERNS: OnceLock<Option<Patterns>> = OnceLock::new();
    PATTERNS.get_or_init(|| compiled().ok()).as_ref()
}

fn compiled() -> Result<Patterns, String> {
    let (mut set, mut entries) = (GlobSetBuilder::new(), Vec::new());
    for (at, (_, paths)) in table::ENTRIES.iter().enumerate() {
        for path in *paths {
            set.add(pattern(&format!("**/{path}"))?);
            entries.push(at);
        }
    }
    let set = set.build().map_err(|error| error.to_string())?;
    Ok(Patterns { set, entries })
}

fn pattern(text: &str) -> Result<Glob, String> {
    GlobBuilder::new(text).literal_separator(true).build().map_err(|error| error.to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The data itself, with its examples.
    pub(super) const DATA: &str = include_str!("../../../../policies/risky.toml");

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Data {
        pub(super) file: Vec<RiskyEntry>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RiskyEntry {
        why: String,
        paths: Vec<String>,
        pub(super) r#match: Vec<String>,
        not_match: Vec<String>,
    }

    #[test]
    fn every_entry_is_what_its_examples_say() {
        let Data { file } = toml::from_str(DATA).unwrap();
        assert!(compiled().is_ok());
        assert_eq!(file.len(), table::ENTRIES.len());
        for (entry, (why_listed, paths)) in file.iter().zip(table::ENTRIES) {
            assert_eq!((entry.why.as_str(), entry.paths.len()), (*why_listed, paths.len()));
            assert!(!entry.r#match.is_empty() && !entry.not_match.is_empty(), "{}", entry.why);
            for path in &entry.r#match {
                assert_eq!(why(Path::new(path)), Some(entry.why.as_str()), "{path}");
            }
            for path in &entry.not_match {
                assert_ne!(why(Path::new(path)), Some(entry.why.as_str()), "{path}");
            }
        }
        assert_eq!(why(Path::new("src/main.rs")), None);
        assert!(why(Path::new("/home/x/.bashrc")).is_some());
    }
}
