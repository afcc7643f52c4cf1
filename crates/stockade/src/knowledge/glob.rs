//! Patterns of the data files: `*` is any run of bytes, `?` is one byte.

use super::wild;

/// A pattern.
#[derive(Debug, Clone)]
pub(super) struct Glob(String);

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    pub(super) fn all(patterns: &[String]) -> Vec<Self> {
        patterns.iter().map(|pattern| Self::new(pattern)).collect()
    }

    /// Whether a dangerous word matches: upper and lower case are the same.
    pub(super) fn covers(&self, text: &[u8]) -> bool {
        matches(self.0.as_bytes(), text, |pattern, byte| pattern.eq_ignore_ascii_case(&byte))
    }

    /// Whether an exempt word matches: to the letter, and never over a line end.
    pub(super) fn fits(&self, text: &[u8]) -> bool {
        fits(&self.0, text)
    }
}

/// Whether a text matches a pattern to the letter, and has no line end.
pub(super) fn fits(pattern: &str, text: &[u8]) -> bool {
    !text.contains(&b'\n') && matches(pattern.as_bytes(), text, |pattern, byte| pattern == byte)
}

fn matches(pattern: &[u8], text: &[u8], same: impl Fn(u8, u8) -> bool) -> bool {
    let takes = |wanted: &u8, byte: &u8| *wanted == b'?' || same(*wanted, *byte);
    wild::fits(pattern, text, |sign| *sign == b'*', takes)
}
