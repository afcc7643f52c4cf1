//! All rules of a policy, compiled once: deny, then ask, then allow, and the first list that
//! matches decides.

use std::sync::Arc;

use super::cover::Cover;
use super::facts::{Facts, PathFacts};
use super::list::{Hit, List};
use super::{Rule, Source};
use crate::confine::Origin;
use crate::{By, Decision, Ruling};

/// The rules of a policy. Two are equal if the same rules are written in them.
#[derive(Clone, Default)]
pub struct Rules {
    all: Arc<[Rule]>,
    notes: Vec<Note>,
    /// None where there are no rules.
    lists: Option<Arc<Lists>>,
}

/// What a person should know about a rule that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The rule as it is written.
    pub rule: String,
    /// Where.
    pub source: Option<Source>,
    /// What about it.
    pub message: String,
    /// Whether it is not among the rules at all.
    pub left_out: bool,
}

/// The rule that decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// What it decides: the name of its list.
    pub decision: Decision,
    /// The rule as it is written.
    pub rule: String,
    /// The name by which `rules.drop` removes it.
    pub name: Option<String>,
    /// Where it is written, as `file:line`, or that it is shipped.
    pub source: Option<String>,
    /// Why it is there.
    pub reason: Option<String>,
    /// What would be accepted.
    pub instead: Option<String>,
    /// Who wrote it.
    pub origin: Origin,
    /// What of the call it matched; for an allowed call, the first part that needed a rule.
    pub part: Part,
}

/// A part of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The tool itself.
    Tool,
    /// A field of the input.
    Parameter(String),
    /// One of [`Facts::commands`].
    Command(usize),
    /// One of [`Facts::reads`].
    Read(usize),
    /// One of [`Facts::writes`].
    Write(usize),
    /// One of [`Facts::hosts`].
    Host(usize),
    /// One of [`Facts::findings`].
    Finding(usize),
}

struct Lists {
    deny: List,
    ask: List,
    allow: List,
}

impl Rules {
    /// Sorts rules by what they are about. Their order changes which of several is named, and
    /// never what is decided.
    pub fn compile(mut rules: Vec<Rule>) -> Self {
        // A rule that a person wrote is named before a shipped one that says the same.
        rules.sort_by_key(|rule| rule.origin() == Origin::Shipped);
        let note = |rule: &Rule| {
            Some(Note {
                rule: rule.text().to_owned(),
                source: rule.source().cloned(),
                message: rule.note()?.to_owned(),
                left_out: false,
            })
        };
        let notes = rules.iter().filter_map(note).collect();
        let [deny, ask, allow] = [Decision::Deny, Decision::Ask, Decision::Allow]
            .map(|decision| List::of(decision, &rules));
        let lists = (!rules.is_empty()).then(|| Arc::new(Lists { deny, ask, allow }));
        Self { all: rules.into(), notes, lists }
    }

    /// These rules and more of them.
    #[must_use]
    pub fn and(&self, more: Vec<Rule>) -> Self {
        if more.is_empty() {
            return self.clone();
        }
        let left_out = self.notes.iter().filter(|note| note.left_out).cloned();
        let mut all = Self::compile(self.all.iter().cloned().chain(more).collect());
        all.notes.extend(left_out);
        all
    }

    /// The same rules without those of this name; nothing if there is none.
    pub fn without(&self, name: &str) -> Option<Self> {
        let is_other = |rule: &&Rule| rule.name() != Some(name);
        let kept: Vec<Rule> = self.all.iter().filter(is_other).cloned().collect();
        if kept.len() == self.all.len() {
            return None;
        }
        let left_out = self.notes.iter().filter(|note| note.left_out).cloned();
        let mut rules = Self::compile(kept);
        rules.notes.extend(left_out);
        Some(rules)
    }

    /// The same rules, with a note on others that were read and are not used.
    #[must_use]
    pub fn ignoring(mut self, ignored: &[Rule], why: &str) -> Self {
        self.notes.extend(ignored.iter().map(|rule| Note {
            rule: rule.text().to_owned(),
            source: rule.source().cloned(),
            message: why.to_owned(),
            left_out: true,
        }));
        self
    }

    /// The same rules, with notes on others that could not be read.
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<Note>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// What the rules say about a call, or nothing if none says anything.
    pub fn decide(&self, facts: &Facts) -> Option<Match> {
        self.deciding(facts).and_then(|hit| self.found(hit))
    }

    /// Whether a rule denies reading a path, in a call with these facts.
    pub fn denies_read(&self, path: &PathFacts, facts: &Facts) -> bool {
        self.lists.as_deref().is_some_and(|lists| lists.deny.refused_read(path, facts).is_some())
    }

    /// The rule that decides, by its place.
    pub(super) fn deciding(&self, facts: &Facts) -> Option<Hit> {
        let lists = self.lists.as_deref()?;
        // A rule about something that the call does says more than one about every call.
        let asked = || lists.ask.refusing_part(facts).or_else(|| lists.ask.refusing(facts));
        let refused = lists.deny.refusing(facts).or_else(asked);
        refused.or_else(|| {
            Cover { allow: &lists.allow, refuse: [&lists.deny, &lists.ask], facts }.of_call()
        })
    }

    fn found(&self, (at, part): Hit) -> Option<Match> {
        let rule = self.all.get(at)?;
        Some(Match {
            decision: rule.list,
            rule: rule.text.clone(),
            name: rule.name.clone(),
            source: rule.place(),
            reason: rule.reason.clone(),
            instead: rule.instead.clone(),
            origin: rule.origin,
            part,
        })
    }

    /// The rules in the order in which they were read.
    pub fn all(&self) -> &[Rule] {
        &self.all
    }

    /// What a person should know about them.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

impl From<Match> for Ruling {
    fn from(found: Match) -> Self {
        let reason = found.reason.unwrap_or_else(|| format!("the rule {}", found.rule));
        Self {
            decision: found.decision,
            by: By::Rule,
            rule: Some(found.rule),
            source: found.source,
            reason: Some(reason).filter(|_| found.decision != Decision::Allow),
            instead: found.instead,
            argument: None,
            span: None,
        }
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Eq for Rules {}

impl std::hash::Hash for Rules {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.all.hash(state);
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.all.iter()).finish()
    }
}
