//! Patterns of paths, made of patterns of names.

use std::fmt;

use super::{Dialect, Pattern, Sign, walk};

/// One part of a pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathPart {
    /// `**`: any number of names, also none.
    Deep,
    /// One name.
    Name(Pattern),
}

impl PathPart {
    /// Reads one part of a path; `**` is [`PathPart::Deep`].
    pub fn new(text: &str) -> Self {
        if text == "**" { Self::Deep } else { Self::Name(Pattern::new(text, Dialect::Name)) }
    }

    /// A name that is not a pattern.
    pub fn literally(name: &str) -> Self {
        Self::Name(Pattern::of(&name.chars().map(Sign::from).collect::<Vec<_>>()))
    }

    /// The name, if only one matches.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Deep => None,
            Self::Name(name) => name.literal(),
        }
    }
}

/// A pattern of paths, matched as a whole or name by name on the way down.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PathGlob {
    /// The parts, and a [`PathPart::Deep`] behind them.
    with_deep: Vec<PathPart>,
    /// Names of folders in which it matches nothing, on the way down.
    outside: &'static [Pattern],
}

/// How much of a [`PathGlob`] the way to a folder has matched: one bit for each part that may come
/// next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchState(u64);

impl PathGlob {
    /// The most parts of a pattern that can be matched name by name.
    pub const STEPS_MAX: usize = 63;

    /// A pattern of these parts.
    pub fn new(mut parts: Vec<PathPart>) -> Self {
        parts.push(PathPart::Deep);
        Self { with_deep: parts, outside: &[] }
    }

    /// The same pattern, which is matched name by name outside of folders with these names only.
    #[must_use]
    pub fn outside(self, folders: &'static [Pattern]) -> Self {
        Self { outside: folders, ..self }
    }

    /// Its parts.
    pub fn parts(&self) -> &[PathPart] {
        self.with_deep.split_last().map_or(&[], |(_, parts)| parts)
    }

    /// Whether it matches a path of these names.
    pub fn matches<S: AsRef<str>>(&self, names: &[S]) -> bool {
        matches_names(self.parts(), names)
    }

    /// Whether it matches a folder on the way to a path of these names.
    pub fn matches_above<S: AsRef<str>>(&self, names: &[S]) -> bool {
        names.split_last().is_some_and(|(_, above)| matches_names(&self.with_deep, above))
    }

    /// Whether it begins with a way to these names and goes on. Where that way ends in `**`, nobody
    /// has said that there is such a thing beneath.
    pub fn leads_beneath<S: AsRef<str>>(&self, names: &[S]) -> bool {
        let parts = self.parts();
        (0..parts.len()).any(|length| {
            let (way, _) = parts.split_at(length);
            way.last() != Some(&PathPart::Deep) && matches_names(way, names)
        })
    }

    /// Before the first name.
    pub fn start(&self) -> MatchState {
        self.closed(1)
    }

    /// One name further down.
    pub fn step(&self, MatchState(state): MatchState, name: &str) -> MatchState {
        if self.outside.iter().any(|folder| folder.matches(name)) {
            return MatchState(0);
        }
        let mut next = 0_u64;
        for (at, part) in self.awaited_parts(MatchState(state)) {
            next |= match part {
                PathPart::Deep => 1 << at,
                PathPart::Name(wanted) if wanted.matches(name) => 2 << at,
                PathPart::Name(_) => 0,
            };
        }
        self.closed(next)
    }

    /// One name further down, for a name that matches none of those that could come next.
    pub fn pass(&self, state: MatchState) -> MatchState {
        let deep = self.awaited_parts(state).filter(|(_, part)| **part == PathPart::Deep);
        self.closed(deep.fold(0, |next, (at, _)| next | 1 << at))
    }

    /// The names that could come next, and those of folders in which nothing is matched.
    pub fn awaited(&self, state: MatchState) -> impl Iterator<Item = &Pattern> {
        let names = self.awaited_parts(state).filter_map(|(_, part)| match part {
            PathPart::Deep => None,
            PathPart::Name(name) => Some(name),
        });
        names.chain(self.outside)
    }

    /// What is left of the pattern, for each way in which the names so far can be matched.
    pub fn rests(&self, state: MatchState) -> impl Iterator<Item = Self> {
        let rest = |(at, _)| Self::new(self.parts().get(at..).unwrap_or_default().to_vec());
        self.awaited_parts(state).map(rest)
    }

    /// Whether all of it was matched.
    pub fn is_met(&self, MatchState(state): MatchState) -> bool {
        state >> self.parts().len() & 1 == 1
    }

    /// Whether it can be matched at any depth from here.
    pub fn is_deep(&self, state: MatchState) -> bool {
        self.awaited_parts(state).any(|(_, part)| *part == PathPart::Deep)
    }

    fn awaited_parts(
        &self,
        MatchState(state): MatchState,
    ) -> impl Iterator<Item = (usize, &PathPart)> {
        self.parts().iter().enumerate().filter(move |(at, _)| state >> at & 1 == 1)
    }

    /// With what `**` leads to without a name.
    fn closed(&self, mut state: u64) -> MatchState {
        for (at, part) in self.parts().iter().enumerate() {
            if *part == PathPart::Deep && state >> at & 1 == 1 {
                state |= 2 << at;
            }
        }
        MatchState(state)
    }
}

impl MatchState {
    /// As a number, to be stored.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// A state that was stored.
    pub fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether nothing further down can be matched.
    pub fn is_dead(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for PathGlob {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = out.debug_list();
        list.entries(self.parts());
        if !self.outside.is_empty() {
            list.entry(&self.outside);
        }
        list.finish()
    }
}

fn matches_names<S: AsRef<str>>(parts: &[PathPart], names: &[S]) -> bool {
    let is_deep = |part: &PathPart| *part == PathPart::Deep;
    let takes = |part: &PathPart, names: &[S]| match (part, names) {
        (PathPart::Name(wanted), [name, ..]) if wanted.matches(name.as_ref()) => Some(1),
        (PathPart::Name(_) | PathPart::Deep, _) => None,
    };
    walk(parts, names, is_deep, takes, |_, _| 1)
}
