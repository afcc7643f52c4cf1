//! Which files a search may look at: those that a call of its own could read without a question.

use std::path::{Path, PathBuf};

use crate::files::Sight;
use crate::policy::Decision;
use crate::policy::rule::{Facts, Part, PathFacts, Rules};

/// The rules and the hidden paths of one search.
#[derive(Debug)]
pub(super) struct RuledSight {
    pub(super) rules: Rules,
    /// The call without what it reads.
    pub(super) facts: Facts,
    pub(super) hide: Vec<PathBuf>,
}

impl Sight for RuledSight {
    fn sees(&self, path: &Path) -> bool {
        if self.hide.iter().any(|hidden| path.starts_with(hidden)) {
            return false;
        }
        if self.rules.all().is_empty() {
            return true;
        }
        let read = PathFacts { free: true, ..PathFacts::new(path) };
        let facts = Facts { reads: vec![read], ..self.facts.clone() };
        match self.rules.decide(&facts) {
            None => true,
            Some(found) => match found.decision {
                Decision::Allow => true,
                // The question about the tool was put before the search.
                Decision::Ask => found.part == Part::Tool,
                Decision::Deny => false,
            },
        }
    }
}
