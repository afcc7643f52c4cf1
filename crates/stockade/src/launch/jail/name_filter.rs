//! Tells the few names that patterns mean from the many that they do not, at the price of one lookup.

use std::sync::Arc;

use crate::confine::{Keep, Origin, PathPattern};
use crate::pattern::{MatchState, PatternSet};

/// The patterns that may still be met in a folder, by their place in the list.
pub(super) type LivePatterns = Arc<[(usize, MatchState)]>;

/// What the names in one kind of folder are checked against.
pub(super) struct NameFilter<'s> {
    sought: &'s [PathPattern],
    pub(super) alive: LivePatterns,
    awaited: PatternSet,
    /// For folders whose name fits nothing.
    passed: Option<LivePatterns>,
}

/// What a name means.
pub(super) struct NameMatch {
    /// The pattern that is met, by its place.
    pub(super) met: Option<usize>,
    /// For a folder: what may be met in it.
    pub(super) below: Option<LivePatterns>,
}

impl<'s> NameFilter<'s> {
    pub(super) fn new(sought: &'s [PathPattern], alive: LivePatterns) -> Self {
        let patterns = alive.iter().filter_map(|(at, state)| Some((sought.get(*at)?, *state)));
        let awaited = patterns.flat_map(|(one, state)| one.glob().awaited(state));
        let awaited = PatternSet::new(awaited);
        let passed = alive.iter().filter_map(|(at, stand)| {
            let stand = sought.get(*at)?.glob().pass(*stand);
            (!stand.is_dead()).then_some((*at, stand))
        });
        let passed: Vec<(usize, MatchState)> = passed.collect();
        let passed = match passed.as_slice() {
            [] => None,
            same if *same == *alive => Some(Arc::clone(&alive)),
            other => Some(other.into()),
        };
        Self { sought, alive, awaited, passed }
    }

    /// What a name means, which is in small letters.
    pub(super) fn check(&self, name: &str) -> NameMatch {
        if self.awaited.matches(name) {
            self.step(name)
        } else {
            NameMatch { met: None, below: self.passed.clone() }
        }
    }

    /// Nothing is stricter than hidden, and a rule of the user counts for more than a shipped one.
    fn weight(&self, at: usize) -> Option<(bool, bool)> {
        let one = self.sought.get(at)?;
        Some((one.keep() == Keep::Hidden, one.origin() != Origin::Shipped))
    }

    fn step(&self, name: &str) -> NameMatch {
        let keep = |at: usize| self.sought.get(at).map(PathPattern::keep);
        let mut next: Vec<(usize, MatchState)> = Vec::new();
        let mut met: Option<usize> = None;
        for (at, stand) in self.alive.iter() {
            let Some(one) = self.sought.get(*at) else { continue };
            let stand = one.glob().step(*stand, name);
            if one.glob().is_met(stand) {
                if met.is_none_or(|met| self.weight(*at) > self.weight(met)) {
                    met = Some(*at);
                }
            } else if !stand.is_dead() {
                next.push((*at, stand));
            }
        }
        if let Some(by) = met {
            // In what is hidden nothing is seen; in what is protected something may have to be hidden.
            let is_protected = keep(by) == Some(Keep::Protected);
            next.retain(|(at, _)| is_protected && keep(*at) == Some(Keep::Hidden));
        }
        NameMatch { met, below: (!next.is_empty()).then(|| next.into()) }
    }
}
