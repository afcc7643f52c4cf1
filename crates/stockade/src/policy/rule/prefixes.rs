//! Things by the text that they begin with, found without looking at those that begin otherwise.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Values under keys that are looked up by what they are a beginning of.
#[derive(Debug, Clone)]
pub(super) struct Prefixes<T> {
    keys: BTreeMap<Vec<u8>, Vec<T>>,
}

impl<T> Default for Prefixes<T> {
    fn default() -> Self {
        Self { keys: BTreeMap::new() }
    }
}

impl<T> Prefixes<T> {
    /// Adds a value under a key.
    pub(super) fn insert(&mut self, key: &[u8], value: T) {
        self.keys.entry(key.to_vec()).or_default().push(value);
    }

    /// The values whose keys this text begins with.
    pub(super) fn beginning<'p>(&'p self, text: &'p [u8]) -> impl Iterator<Item = &'p T> {
        let mut bound = Some(text);
        std::iter::from_fn(move || {
            while let Some(most) = bound {
                let range = (Bound::Unbounded, Bound::Included(most));
                let (key, values) = self.keys.range::<[u8], _>(range).next_back()?;
                if most.starts_with(key) {
                    // What is left to find is shorter than this key, and begins it too.
                    bound = key.len().checked_sub(1).and_then(|length| most.get(..length));
                    return Some(values);
                }
                let shared = key.iter().zip(most).take_while(|(one, other)| one == other).count();
                bound = most.get(..shared);
            }
            None
        })
        .flatten()
    }

    /// The values whose keys begin with this text.
    pub(super) fn continuing<'p>(&'p self, text: &'p [u8]) -> impl Iterator<Item = &'p T> {
        let from = (Bound::Included(text), Bound::Unbounded);
        self.keys
            .range::<[u8], _>(from)
            .take_while(move |(key, _)| key.starts_with(text))
            .flat_map(|(_, values)| values)
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Prefixes;

    #[test]
    fn all_beginnings_are_found_and_nothing_else() {
        let mut prefixes = Prefixes::default();
        for key in ["", "a", "ab", "abd", "b", "abc", "abcde", "ac"] {
            prefixes.insert(key.as_bytes(), key);
        }
        let beginning = |text: &str| -> Vec<&str> {
            let mut found: Vec<&str> = prefixes.beginning(text.as_bytes()).copied().collect();
            found.sort_unstable();
            found
        };
        assert_eq!(beginning("abcd"), ["", "a", "ab", "abc"]);
        assert_eq!(beginning("zz"), [""]);
        assert_eq!(beginning(""), [""]);
        let continuing: Vec<&str> = prefixes.continuing(b"ab").copied().collect();
        assert_eq!(continuing, ["ab", "abc", "abcde", "abd"]);
    }
}
