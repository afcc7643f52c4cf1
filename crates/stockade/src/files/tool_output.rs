//! What a file tool answers.

use crate::files::Change;
use crate::limits::LimitHit;
use crate::output::CapturedOutput;

/// The answer of a call that was carried out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What was asked for.
    pub text: CapturedOutput,
    /// What is to be said about it: what was left out, and where to go on.
    pub remarks: Vec<String>,
    /// What was changed.
    pub changes: Vec<Change>,
    /// The limit at which it stopped.
    pub limit: Option<LimitHit>,
}

impl ToolOutput {
    /// An answer that is a remark and nothing else.
    pub(super) fn remark(text: impl Into<String>) -> Self {
        Self { remarks: vec![text.into()], ..Self::default() }
    }
}

/// Collects lines up to a number of bytes.
#[derive(Debug)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    most: usize,
    /// Lines that found no room.
    pub(super) left: u64,
    left_bytes: u64,
}

impl Lines {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, left: 0, left_bytes: 0 }
    }

    /// Adds a line, with its end; false if it finds no room.
    pub(super) fn push(&mut self, line: &[u8]) -> bool {
        let long = line.len().saturating_add(1);
        if self.left > 0 || self.bytes.len().saturating_add(long) > self.most {
            self.left = self.left.saturating_add(1);
            let long = u64::try_from(long).unwrap_or(u64::MAX);
            self.left_bytes = self.left_bytes.saturating_add(long);
            return false;
        }
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
        true
    }

    pub(super) fn captured(self) -> CapturedOutput {
        let kept = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        let (seen, dropped) = (kept.saturating_add(self.left_bytes), self.left_bytes);
        CapturedOutput { bytes: self.bytes, seen, dropped }
    }
}
