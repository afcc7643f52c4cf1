//! Finds what patterns of rules mean among the files that a box will show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::root::{SYSTEM, placed};
use super::search::PatternSearch;
use crate::confine::{Files, PathMatch, PathPattern};
use crate::inspect::real_folder;
use crate::outcome::Failure;
use crate::pattern::MatchState;
use crate::policy::TrustStore;

/// What was found.
#[derive(Debug, Default)]
pub struct SearchResult {
    /// Each path once, with the pattern that means it by its place in the list.
    pub found: BTreeMap<PathBuf, usize>,
    /// How many entries of folders were looked at.
    pub entries: u64,
    /// How many folders were read: the others are as they were in an earlier search.
    pub read: usize,
    /// What may be meant and was not found, in words.
    pub gap: Option<String>,
    /// The patterns of which something may not have been found, by their places in the list.
    pub incomplete: BTreeSet<usize>,
    /// What was left out on purpose.
    pub note: Option<String>,
}

/// Looks for all that the patterns mean. Without patterns, nothing is looked at.
pub fn search(files: &Files) -> Result<SearchResult, Failure> {
    search_for(files, &files.sought, None)
}

/// The same for these patterns, until this time at the latest.
pub(super) fn search_for(
    files: &Files,
    sought: &[PathPattern],
    until: Option<Instant>,
) -> Result<SearchResult, Failure> {
    let mut searched = SearchResult::default();
    if sought.is_empty() {
        return Ok(searched);
    }
    let mut starts: BTreeMap<PathBuf, Vec<(usize, MatchState)>> = BTreeMap::new();
    let shown = shown(files)?;
    // Most patterns are about the same folder.
    let mut folders: BTreeMap<&Path, Option<PathBuf>> = BTreeMap::new();
    for (at, one) in sought.iter().enumerate() {
        let folder = folders.entry(one.folder()).or_insert_with_key(|path| real_folder(path).ok());
        // A folder that is not there holds nothing.
        let Some(folder) = folder.as_ref() else { continue };
        for place in &shown {
            if folder.starts_with(place) {
                starts.entry(folder.clone()).or_default().push((at, one.glob().start()));
                continue;
            }
            match one.at(folder, place) {
                PathMatch::Whole(_) if files.root.starts_with(place) => {
                    searched.gap = Some("it means the project as a whole".to_owned());
                    searched.incomplete.insert(at);
                }
                PathMatch::Whole(_) => {
                    searched.found.entry(place.clone()).or_insert(at);
                }
                PathMatch::Within(stand) => {
                    starts.entry(place.clone()).or_default().push((at, stand));
                }
                PathMatch::Nothing => {}
            }
        }
        // Only what begins above a folder of the system can mean something in it.
        let system = SYSTEM.iter().map(Path::new).filter(|place| place.starts_with(&*folder));
        for place in system.filter(|place| place.is_dir()) {
            match one.at(folder, place) {
                PathMatch::Within(stand) if one.glob().is_deep(stand) => {
                    let note = "the system's own folders were not looked through";
                    searched.note = Some(note.to_owned());
                }
                PathMatch::Within(stand) => {
                    starts.entry(place.to_path_buf()).or_default().push((at, stand));
                }
                // A system folder that is meant as a whole is named by the rule.
                PathMatch::Whole(_) | PathMatch::Nothing => {}
            }
        }
    }
    Ok(PatternSearch::new(sought, searched, until).run(starts, cache_file(files)))
}

/// Where the folders of searches are kept for later processes: in Stockade's state, unless a sandbox of this
/// kind could write there.
fn cache_file(files: &Files) -> Option<PathBuf> {
    let store = TrustStore::default_path()?;
    let state = real_folder(store.parent()?).ok()?;
    let is_writable = files.write.iter().any(|folder| state.starts_with(folder));
    (!is_writable && !state.starts_with(&files.root)).then(|| state.join("search"))
}

/// The folders besides the system's that a box shows, none of them within another.
pub(super) fn shown(files: &Files) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut shown = BTreeSet::from([files.root.clone()]);
    for path in files.write.iter().chain(&files.read) {
        shown.insert(placed(path, &files.root)?);
    }
    shown.extend(files.toolchains.iter().map(|one| one.path.clone()));
    let all = shown.clone();
    shown.retain(|place| !all.iter().any(|other| place != other && place.starts_with(other)));
    Ok(shown)
}
