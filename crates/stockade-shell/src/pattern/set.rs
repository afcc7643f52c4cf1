//! Many patterns at once.

use std::collections::HashMap;

use super::Pattern;

/// Patterns that are matched together: literal ones by a hash, most others by their first and last
/// letters alone.
#[derive(Debug, Clone, Default)]
pub struct PatternSet {
    literal: HashMap<Box<[u8]>, Vec<usize>>,
    /// The lengths of the literal ones, one bit each, from 63 on in one.
    lengths: u64,
    rest: Vec<(Pattern, usize)>,
}

impl PatternSet {
    /// The patterns with their places, from 0 on.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p Pattern>) -> Self {
        let mut set = Self::default();
        for (place, pattern) in patterns.into_iter().enumerate() {
            if pattern.is_literal() {
                set.lengths |= length_bit(&pattern.prefix);
                set.literal.entry(pattern.prefix.clone()).or_default().push(place);
            } else {
                set.rest.push((pattern.clone(), place));
            }
        }
        set
    }

    /// Whether any of them matches.
    pub fn matches(&self, text: impl AsRef<[u8]>) -> bool {
        self.matching(text.as_ref()).next().is_some()
    }

    /// The places of those that match.
    pub fn matching(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let may_be_literal = self.lengths & length_bit(text) != 0;
        let literal = if may_be_literal { self.literal.get(text) } else { None };
        let rest = self
            .rest
            .iter()
            .filter(move |(pattern, _)| pattern.may_match(text) && pattern.matches(text));
        literal.into_iter().flatten().copied().chain(rest.map(|(_, place)| *place))
    }
}

fn length_bit(text: &[u8]) -> u64 {
    1 << text.len().min(63)
}
