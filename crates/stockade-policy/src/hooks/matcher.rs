//! Which tools a hook is for, as the reference writes it: all, a list of names, or a pattern.

use regex_lite::{Regex, RegexBuilder};

/// A longer pattern is a mistake.
const PATTERN_BYTES_MAX: usize = 1024;
/// What a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The `match` of a hook. Two are equal if they are written alike.
#[derive(Debug, Clone)]
pub struct Matcher {
    text: String,
    kind: MatcherKind,
}

#[derive(Debug, Clone)]
enum MatcherKind {
    All,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    /// Every tool.
    pub fn all() -> Self {
        Self { text: "*".to_owned(), kind: MatcherKind::All }
    }

    /// Reads a matcher: nothing and `*` are every tool; letters, digits, `_`, `-`, spaces, `,` and
    /// `|` make a list of exact names; anything else is a regular expression that may match
    /// anywhere in the name.
    pub fn parse(text: &str) -> Result<Self, BadMatcher> {
        let trimmed = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_- ,|".contains(c);
        let kind = if trimmed.is_empty() || trimmed == "*" {
            MatcherKind::All
        } else if trimmed.chars().all(plain) {
            let names = trimmed.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            let names: Vec<String> = names.map(str::to_owned).collect();
            if names.is_empty() { MatcherKind::All } else { MatcherKind::Names(names) }
        } else {
            MatcherKind::Pattern(compile(trimmed)?)
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// Whether it is for the tool of this name.
    pub fn is_for(&self, tool: &str) -> bool {
        match &self.kind {
            MatcherKind::All => true,
            MatcherKind::Names(names) => names.iter().any(|name| name == tool),
            MatcherKind::Pattern(pattern) => pattern.is_match(tool),
        }
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Matcher {}

impl std::hash::Hash for Matcher {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

fn compile(text: &str) -> Result<Regex, BadMatcher> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(BadMatcher::TooLong);
    }
    RegexBuilder::new(text)
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| BadMatcher::Pattern { text: text.to_owned(), why: error.to_string() })
}

/// Why a text is no matcher.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadMatcher {
    /// It is longer than any pattern that a person writes.
    #[error("a pattern has at most 1024 bytes")]
    TooLong,
    /// It is no regular expression, or one with parts that are not in every engine.
    #[error(
        "{text:?} is neither a list of names nor a regular expression without look-around and \
         back-references: {why}"
    )]
    Pattern {
        /// As it is written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}
