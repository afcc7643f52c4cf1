//! What is wrong with the text of a rule, where, and what may have been meant.

/// An invalid rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The byte of the text that it is about.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// A likely correction.
    pub suggestion: Option<String>,
}

impl RuleError {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), suggestion: None }
    }

    pub(super) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Moves the error by this many bytes.
    pub(super) fn behind(mut self, bytes: usize) -> Self {
        self.offset = self.offset.saturating_add(bytes);
        self
    }
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} (at byte {})", self.message, self.offset)?;
        match &self.suggestion {
            Some(suggestion) => write!(out, "; {suggestion}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RuleError {}
