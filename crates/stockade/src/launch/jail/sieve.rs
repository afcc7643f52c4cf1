//! Tells the few names that patterns mean from the many that they do not, at the price of one lookup.

use std::collections::HashSet;
use std::sync::Arc;

use crate::confine::{Keep, Origin, Parsed, Segment, Sought, Stand};

/// The patterns that may still be met in a folder, by their place in the list.
pub(super) type Alive = Arc<[(usize, Stand)]>;

/// What the names in one kind of folder are checked against.
pub(super) struct Sieve<'s> {
    sought: &'s [Sought],
    pub(super) alive: Alive,
    plain: HashSet<&'s str>,
    wild: Vec<Wild<'s>>,
    /// For folders whose name fits nothing.
    passed: Option<Alive>,
}

struct Wild<'s> {
    prefix: String,
    suffix: String,
    segment: &'s Segment,
}

/// What a name means.
pub(super) struct Hit {
    /// The pattern that is met, by its place.
    pub(super) met: Option<usize>,
    /// For a folder: what may be met in it.
    pub(super) below: Option<Alive>,
}

impl<'s> Sieve<'s> {
    pub(super) fn new(sought: &'s [Sought], alive: Alive) -> Self {
        let (mut plain, mut wild) = (HashSet::new(), Vec::new());
        let patterns = alive.iter().filter_map(|(at, stand)| Some((sought.get(*at)?, *stand)));
        for name in patterns.flat_map(|(one, stand)| one.awaited(stand)) {
            match name {
                Parsed::Plain(text) => drop(plain.insert(text.as_str())),
                Parsed::Wild(segment) => wild.push(Wild {
                    prefix: segment.prefix(),
                    suffix: segment.reversed_suffix().chars().rev().collect(),
                    segment,
                }),
            }
        }
        let passed = alive.iter().filter_map(|(at, stand)| {
            let stand = sought.get(*at)?.pass(*stand);
            (!stand.is_dead()).then_some((*at, stand))
        });
        let passed: Vec<(usize, Stand)> = passed.collect();
        let passed = match passed.as_slice() {
            [] => None,
            same if *same == *alive => Some(Arc::clone(&alive)),
            other => Some(other.into()),
        };
        Self { sought, alive, plain, wild, passed }
    }

    /// What a name means, which is in small letters.
    pub(super) fn check(&self, name: &str) -> Hit {
        if self.plain.contains(name) || self.wild.iter().any(|wild| wild.fits(name)) {
            self.step(name)
        } else {
            Hit { met: None, below: self.passed.clone() }
        }
    }

    /// Nothing is stricter than hidden, and a rule of the user counts for more than a shipped one.
    fn weight(&self, at: usize) -> Option<(bool, bool)> {
        let one = self.sought.get(at)?;
        Some((one.keep() == Keep::Hidden, one.origin() != Origin::Shipped))
    }

    fn step(&self, name: &str) -> Hit {
        let keep = |at: usize| self.sought.get(at).map(Sought::keep);
        let mut next: Vec<(usize, Stand)> = Vec::new();
        let mut met: Option<usize> = None;
        for (at, stand) in self.alive.iter() {
            let Some(one) = self.sought.get(*at) else { continue };
            let stand = one.step(*stand, name);
            if one.is_met(stand) {
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
        Hit { met, below: (!next.is_empty()).then(|| next.into()) }
    }
}

impl Wild<'_> {
    fn fits(&self, name: &str) -> bool {
        name.starts_with(&self.prefix) && name.ends_with(&self.suffix) && self.segment.matches(name)
    }
}
