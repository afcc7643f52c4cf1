//! Lists of patterns in the data files.

use crate::pattern::{Case, Dialect, Pattern};

/// Compiles a list.
pub(super) fn all(patterns: &[String]) -> Vec<Pattern> {
    patterns.iter().map(|pattern| Pattern::new(pattern, Dialect::Words)).collect()
}

/// Whether a dangerous word matches any of them: upper and lower case are the same.
pub(super) fn cover(patterns: &[Pattern], word: &[u8]) -> bool {
    patterns.iter().any(|pattern| pattern.matches_as(word, Case::Ascii))
}

/// Whether an exempt word matches any of them: to the letter, and not over a line end.
pub(super) fn fit(patterns: &[Pattern], word: &[u8]) -> bool {
    !word.contains(&b'\n') && patterns.iter().any(|pattern| pattern.matches(word))
}
