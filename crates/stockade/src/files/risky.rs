//! Files from which code runs later, outside of any box: what is known of them is data, in
//! `policies/risky.toml`.

pub(super) mod git;
pub(super) mod named;

use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

const DATA: &str = include_str!("../../../../policies/risky.toml");
/// Said of every file if the data cannot be read, which a test keeps from happening.
const UNREADABLE: &str = "the list of files from which code runs cannot be read";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    file: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    why: String,
    paths: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are held by a test"))]
    r#match: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are held by a test"))]
    not_match: Vec<String>,
}

/// The patterns of all entries, compiled.
#[derive(Debug)]
struct Table {
    set: GlobSet,
    /// For each pattern of the set, the entry that it is of.
    entries: Vec<usize>,
}

/// How code runs from a file with this path, beneath the root or absolute, if it does.
pub fn why(path: &Path) -> Option<&'static str> {
    listed(path).or_else(|| git::why(path))
}

fn listed(path: &Path) -> Option<&'static str> {
    if !named::may_be(path) {
        return None;
    }
    let (Some(data), Some(table)) = (data(), table()) else { return Some(UNREADABLE) };
    let found = table.set.matches(path);
    let entry = found.iter().filter_map(|at| table.entries.get(*at)).min()?;
    data.get(*entry).map(|entry| entry.why.as_str())
}

/// How code runs from files in a folder with this path, for a link in its place.
pub(super) fn why_above(path: &Path) -> Option<&'static str> {
    let is_above = |listed: &String| {
        let mut above = Path::new(listed).ancestors().skip(1);
        above.any(|above| above != Path::new("") && path.ends_with(above))
    };
    let entry = data()?.iter().find(|entry| entry.paths.iter().any(is_above));
    entry.map(|entry| entry.why.as_str()).or_else(|| git::why_link(path))
}

/// A place that is looked at after every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One file.
    File(&'static str),
    /// All that is in a folder.
    Folder(&'static str),
}

/// The places that can be looked at without a walk.
pub(super) fn places() -> impl Iterator<Item = Place> {
    data().unwrap_or_default().iter().flat_map(|entry| &entry.paths).filter_map(|path| {
        match path.strip_suffix("/**") {
            Some(folder) if named::is_plain(folder) => Some(Place::Folder(folder)),
            None if named::is_plain(path) => Some(Place::File(path)),
            Some(_) | None => None,
        }
    })
}

fn data() -> Option<&'static [Entry]> {
    static DATA_READ: OnceLock<Option<Vec<Entry>>> = OnceLock::new();
    DATA_READ.get_or_init(|| read(DATA).ok()).as_deref()
}

/// Compiled when a file that may be on the list was changed, and not before: it costs more than all
/// the rest.
fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(|| compiled(data()?).ok()).as_ref()
}

fn read(text: &str) -> Result<Vec<Entry>, String> {
    let Data { file } = toml::from_str(text).map_err(|error| error.to_string())?;
    Ok(file)
}

fn compiled(data: &[Entry]) -> Result<Table, String> {
    let (mut set, mut entries) = (GlobSetBuilder::new(), Vec::new());
    for (at, entry) in data.iter().enumerate() {
        for path in &entry.paths {
            set.add(pattern(&format!("**/{path}"))?);
            entries.push(at);
        }
    }
    let set = set.build().map_err(|error| error.to_string())?;
    Ok(Table { set, entries })
}

fn pattern(text: &str) -> Result<Glob, String> {
    GlobBuilder::new(text).literal_separator(true).build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_what_its_examples_say() {
        let data = read(DATA).unwrap();
        assert!(compiled(&data).is_ok());
        for entry in &data {
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

    #[test]
    fn every_plain_path_is_looked_at_after_a_run() {
        let all: Vec<Place> = places().collect();
        for place in
            [Place::File(".git/config"), Place::Folder(".git/hooks"), Place::File(".bashrc")]
        {
            assert!(all.contains(&place), "{place:?}");
        }
        assert!(all.len() > 100, "{}", all.len());
    }
}
