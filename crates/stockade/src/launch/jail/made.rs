//! Protected names that may be made anywhere: looked for again when the tree is dead, and moved away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::cover::Cover;
use super::sought::search_for;
use crate::confine::{Files, Keep, Sought};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::launch::absent::{self, Quarantined};

/// What was there before the run.
#[derive(Debug)]
pub(in crate::launch) struct Made {
    files: Files,
    known: BTreeSet<PathBuf>,
}

impl Made {
    /// Remembers what is there, if a pattern protects anything. Where not all of it was found, what
    /// is new cannot be told from what was there, and nothing is moved.
    pub(in crate::launch) fn after(files: &Files, cover: &Cover) -> Option<Self> {
        if cover.gaps.are_of_search() {
            return None;
        }
        let protects = |one: &&Sought| one.keep() == Keep::Protected;
        let sought: Arc<[Sought]> = files.sought.iter().filter(protects).cloned().collect();
        let known = cover.present.iter().map(|one| one.path.clone()).collect();
        (!sought.is_empty()).then(|| Self { files: Files { sought, ..files.clone() }, known })
    }

    /// Moves away what was made since; where it cannot be told what was, the protection is lost.
    pub(in crate::launch) fn quarantine(&self, enforcement: &mut [Enforced]) -> Vec<Quarantined> {
        let (found, gap) = match search_for(&self.files, &self.files.sought) {
            Ok(searched) => (searched.found, searched.gap),
            Err(failure) => (BTreeMap::new(), Some(failure.message)),
        };
        if let Some(gap) = gap {
            for line in enforcement.iter_mut().filter(|one| one.guarantee == Guarantee::Protected) {
                line.kept = Kept::Lost;
                line.note = Some(format!("what was made could not be looked for: {gap}"));
            }
        }
        let is_new = |path: &&PathBuf| {
            let is_in = |folder: &PathBuf| path.starts_with(folder);
            !self.known.iter().any(is_in) && self.files.write.iter().any(is_in)
        };
        found.keys().filter(is_new).filter_map(|path| absent::quarantine(path)).collect()
    }
}
