//! Finds what patterns of rules mean among the files that a box will show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::root::{SYSTEM, placed};
use super::walk::Walk;
use crate::confine::{Files, Keep, Met, Sought, Stand};
use crate::inspect::real_folder;
use crate::outcome::Failure;

/// How many paths are kept by patterns in one box. Each takes a mount.
const FOUND_MAX: usize = 1000;

/// What was found.
#[derive(Debug, Default)]
pub struct Searched {
    /// Each path once, with the pattern that means it by its place in the list.
    pub found: BTreeMap<PathBuf, usize>,
    /// How many entries of folders were looked at.
    pub entries: u64,
    /// What may be meant and was not found, in words.
    pub gap: Option<String>,
    /// What was left out on purpose.
    pub note: Option<String>,
}

/// Looks for all that the patterns mean. Without patterns, nothing is looked at.
pub fn search(files: &Files) -> Result<Searched, Failure> {
    search_for(files, &files.sought)
}

/// The same for these patterns.
pub(super) fn search_for(files: &Files, sought: &[Sought]) -> Result<Searched, Failure> {
    let mut searched = Searched::default();
    if sought.is_empty() {
        return Ok(searched);
    }
    let mut starts: BTreeMap<PathBuf, Vec<(usize, Stand)>> = BTreeMap::new();
    let shown = shown(files)?;
    for (at, one) in sought.iter().enumerate() {
        // A folder that is not there holds nothing.
        let Ok(folder) = real_folder(one.folder()) else { continue };
        for place in &shown {
            if folder.starts_with(place) {
                starts.entry(folder.clone()).or_default().push((at, one.start()));
                continue;
            }
            match one.at(&folder, place) {
                Met::Wholly(_) if files.root.starts_with(place) => {
                    searched.gap = Some("it means the project as a whole".to_owned());
                }
                Met::Wholly(_) => {
                    searched.found.entry(place.clone()).or_insert(at);
                }
                Met::Within(stand) => starts.entry(place.clone()).or_default().push((at, stand)),
                Met::Nothing => {}
            }
        }
        for place in SYSTEM.iter().map(Path::new).filter(|place| place.is_dir()) {
            match one.at(&folder, place) {
                Met::Within(stand) if one.is_deep(stand) => {
                    let note = "the system's own folders were not looked through";
                    searched.note = Some(note.to_owned());
                }
                Met::Within(stand) => starts.entry(place.to_owned()).or_default().push((at, stand)),
                // A system folder that is meant as a whole is named by the rule.
                Met::Wholly(_) | Met::Nothing => {}
            }
        }
    }
    let mut walk = Walk::new();
    for (place, stands) in starts {
        below(&mut walk, place, stands, sought, &mut searched);
    }
    searched.entries = walk.entries();
    searched.gap = searched.gap.or_else(|| walk.gap());
    Ok(searched)
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

/// Goes down from one folder, as far as any pattern can still be met.
fn below(
    walk: &mut Walk,
    place: PathBuf,
    stands: Vec<(usize, Stand)>,
    sought: &[Sought],
    searched: &mut Searched,
) {
    walk.through(place, stands, |entry, stands| {
        let name = entry.name.to_string_lossy().to_lowercase();
        let mut next: Vec<(usize, Stand)> = Vec::new();
        let mut met: Option<usize> = None;
        for (at, stand) in stands {
            let Some(one) = sought.get(*at) else { continue };
            let stand = one.step(*stand, &name);
            if one.is_met(stand) {
                // Nothing is stricter than hidden.
                let is_hidden =
                    |at: usize| sought.get(at).is_some_and(|one| one.keep() == Keep::Hidden);
                met = met.filter(|met| is_hidden(*met)).or(Some(*at));
            } else if !stand.is_dead() {
                next.push((*at, stand));
            }
        }
        let Some(by) = met else { return (!next.is_empty()).then_some(next) };
        if searched.found.len() < FOUND_MAX {
            searched.found.insert(entry.path(), by);
        } else {
            let gap = format!("more than {FOUND_MAX} paths are meant, and only so many kept");
            searched.gap = Some(gap);
        }
        // In what is hidden nothing is seen; in what is protected something may have to be hidden.
        let keep = |at: usize| sought.get(at).map(Sought::keep);
        next.retain(|(at, _)| keep(by) == Some(Keep::Protected) && keep(*at) == Some(Keep::Hidden));
        (!next.is_empty()).then_some(next)
    });
}
