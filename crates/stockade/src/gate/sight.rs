//! Which files a search may look at: those that a call of its own could read without a question.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use super::twins::Twins;
use crate::files::Sight;
use crate::policy::Decision;
use crate::policy::rule::{Facts, Part, PathFacts, Rules};

/// The rules and the hidden paths of one call.
#[derive(Debug)]
pub(super) struct RuledSight {
    pub(super) rules: Rules,
    /// The call without what it reads and writes.
    pub(super) facts: Facts,
    pub(super) hide: Vec<PathBuf>,
    pub(super) root: PathBuf,
    /// What is said of another name of a file from which on it is not shown.
    pub(super) bar: Decision,
    /// Looked for when a file with several names is met, and not before.
    pub(super) twins: OnceCell<Twins>,
}

impl Sight for RuledSight {
    fn sees(&self, path: &Path) -> bool {
        self.of(path) == Decision::Allow
    }

    fn hides_twin(&self, stat: &Stat) -> bool {
        let hides_none = self.rules.all().is_empty() && self.hide.is_empty();
        if stat.st_nlink < 2 || hides_none {
            return false;
        }
        let look = || Twins::look(&self.root, &self.hide, |path| self.of(path) < self.bar);
        self.twins.get_or_init(look).may_hold(stat)
    }
}

impl RuledSight {
    fn of(&self, path: &Path) -> Decision {
        if self.hide.iter().any(|hidden| path.starts_with(hidden)) {
            return Decision::Deny;
        }
        if self.rules.all().is_empty() {
            return Decision::Allow;
        }
        let read = PathFacts { free: true, ..PathFacts::new(path) };
        let facts = Facts { reads: vec![read], ..self.facts.clone() };
        match self.rules.decide(&facts) {
            None => Decision::Allow,
            // The question about the tool was put before the search.
            Some(found) if found.decision == Decision::Ask && found.part == Part::Tool => {
                Decision::Allow
            }
            Some(found) => found.decision,
        }
    }
}
