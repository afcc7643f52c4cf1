//! Protected names that may be created anywhere: looked for again when the tree is dead, and renamed
//! aside in their own folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::masks::PathMasks;
use super::patterns::search_for;
use crate::confine::{Files, Keep, Origin, PathPattern};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::launch::absent::{Absent, Appearance, Maker, Writable};

/// What was there before the run.
#[derive(Debug)]
pub(in crate::launch) struct CreatedPaths {
    files: Files,
    known: BTreeSet<PathBuf>,
    writable: Vec<Writable>,
}

impl CreatedPaths {
    /// Remembers what is there, if a pattern protects anything. Where not all of it was found, what
    /// is new cannot be told from what was there, and nothing is renamed.
    pub(in crate::launch) fn after(
        files: &Files,
        cover: &PathMasks,
        writable: &[Writable],
    ) -> Option<Self> {
        if cover.gaps.are_of_search() {
            return None;
        }
        let protects = |one: &&PathPattern| one.keep() == Keep::Protected;
        let sought: Arc<[PathPattern]> = files.sought.iter().filter(protects).cloned().collect();
        if sought.is_empty() {
            return None;
        }
        let known = cover.present.iter().map(|one| one.path.clone()).collect();
        let files = Files { sought, ..files.clone() };
        Some(Self { files, known, writable: writable.to_vec() })
    }

    /// Renames aside what was created since; where that cannot be found out, the protection is lost.
    pub(in crate::launch) fn settle(
        &self,
        enforcement: &mut [Enforced],
        maker: Maker,
    ) -> Vec<Appearance> {
        let (found, gap) = match search_for(&self.files, &self.files.sought, None) {
            Ok(searched) => (searched.found, searched.gap),
            Err(failure) => (BTreeMap::new(), Some(failure.message().to_owned())),
        };
        if let Some(gap) = gap {
            for line in enforcement.iter_mut().filter(|one| one.guarantee == Guarantee::Protected) {
                line.kept = Kept::Lost;
                line.note = Some(format!("what was made could not be looked for: {gap}"));
            }
        }
        // The search went by paths. Somebody may have swapped a folder since, so each path counts only
        // as it is found again beneath a folder that the sandbox can write.
        let is_new =
            |path: &PathBuf| !self.known.iter().any(|known: &PathBuf| path.starts_with(known));
        let new = found.iter().filter(|(path, _)| is_new(path));
        let found = new.filter_map(|(path, at)| {
            let origin = self.files.sought.get(*at).map_or(Origin::Project, PathPattern::origin);
            Absent::found(path, origin, &self.writable)
        });
        found.filter_map(|one| one.settle(maker)).collect()
    }
}
