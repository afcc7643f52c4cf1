//! Files that the policy keeps from being read: whether a path is one, and what a line is told that writes
//! to one.

use std::path::{Path, PathBuf};

use super::act::writes;
use super::examine::Examiner;
use super::facts::{Shown, home_place, is_absent};
use crate::call::ToolCall;
use crate::confine::Files;
use crate::inspect::{Found, View};
use crate::policy::rule::{Facts, PathFacts};
use crate::tier::Tier;

/// What may not be read, for the calls in one folder.
pub(super) struct Unreadable<'e> {
    pub(super) examiner: &'e Examiner,
    pub(super) files: &'e Files,
    facts: Facts,
}

impl<'e> Unreadable<'e> {
    pub(super) fn new(examiner: &'e Examiner, files: &'e Files, view: &View<'_>) -> Self {
        let mut facts = Facts::new("Read", view.cwd_path());
        facts.home = home_place(view, examiner.home());
        Self { examiner, files, facts }
    }

    /// Whether a path may not be read.
    pub(super) fn has(&self, path: &Path) -> bool {
        if self.files.hide.iter().any(|hidden| path.starts_with(hidden)) {
            return true;
        }
        self.examiner.policy().rules.denies_read(&PathFacts::new(path), &self.facts)
    }
}

impl Examiner {
    /// What a line is told, should it fail, that writes or deletes files which its sandbox hides: rules
    /// about reading let it pass, but the cover of such a file can neither be written nor removed.
    pub(super) fn hints(
        &self,
        call: &ToolCall,
        commands: &[Found],
        view: &View<'_>,
        files: &Files,
    ) -> Vec<String> {
        let has_rules = !self.policy().rules.all().is_empty();
        if self.policy().tier < Tier::Jail || !has_rules || !writes(commands) {
            return Vec::new();
        }
        let unreadable = Unreadable::new(self, files, view);
        let written = Shown::new(call.tool.name(), commands, view, self.home()).facts.writes;
        let mut hidden: Vec<PathBuf> = written
            .into_iter()
            .filter(|path| !is_absent(path))
            .filter_map(|path| path.real)
            .filter(|real| real.starts_with(&files.root) && unreadable.has(real))
            .collect();
        hidden.sort_unstable();
        hidden.dedup();
        let hint = |path: PathBuf| {
            format!(
                "{path:?} is hidden in the sandbox, so no command can change or delete it there; use the \
                 agent's own tool that writes files, or ask the person"
            )
        };
        hidden.into_iter().map(hint).collect()
    }
}
