//! What was found in one file, kept until it is told.

use std::io;
use std::time::Instant;

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::output::InFile;
use super::sink::End;
use crate::call::file::Show;

/// The most bytes that are kept of one file. One with more is searched again when it is told.
const BYTES_MAX: usize = 64 << 10;

/// The lines that were found in a file.
#[derive(Debug)]
pub(super) struct MatchRecord {
    show: Show,
    until: Instant,
    lines: Vec<(RecordKind, Option<u64>)>,
    /// The text of all lines, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Where the first zero byte is.
    zero_at: Option<u64>,
    /// There was more than is kept, or something went wrong.
    is_partial: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    Matched,
    Context,
    Gap,
}

impl MatchRecord {
    pub(super) fn new(show: Show, until: Instant) -> Self {
        Self {
            show,
            until,
            lines: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
            zero_at: None,
            is_partial: false,
        }
    }

    /// A record of a search that did not come to its end.
    pub(super) fn partial(until: Instant) -> Self {
        Self { is_partial: true, ..Self::new(Show::Files, until) }
    }

    /// Tells what was found, and how the search ended; nothing if the file has to be searched again.
    pub(super) fn tell(self, mut answer: InFile<'_, '_>) -> Option<End> {
        if self.is_partial {
            return None;
        }
        let mut start = 0;
        for ((kind, number), end) in self.lines.into_iter().zip(self.ends) {
            if answer.is_full() {
                break;
            }
            let line = self.text.get(start..end).unwrap_or_default();
            start = end;
            match kind {
                RecordKind::Matched => answer.matched(number, line),
                RecordKind::Context => answer.context(number, line),
                RecordKind::Gap => answer.gap(),
            }
        }
        let has_some = answer.close();
        Some(match self.zero_at {
            Some(_) if has_some => End::BinaryLater,
            Some(_) => End::Binary,
            None => End::Done,
        })
    }

    fn add(&mut self, kind: RecordKind, number: Option<u64>, line: &[u8]) -> bool {
        self.lines.push((kind, number));
        if self.show == Show::Content {
            self.text.extend_from_slice(line);
        }
        self.ends.push(self.text.len());
        let is_large = self.text.len() > BYTES_MAX || self.lines.len() > BYTES_MAX;
        let is_late = Instant::now() >= self.until;
        self.is_partial |= is_large || is_late;
        !self.is_partial && self.show != Show::Files
    }
}

impl Sink for MatchRecord {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut number = found.line_number();
        for line in found.lines() {
            if !self.add(RecordKind::Matched, number, line) {
                return Ok(false);
            }
            number = number.map(|number| number.saturating_add(1));
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(RecordKind::Context, context.line_number(), context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.add(RecordKind::Gap, None, b""))
    }

    fn binary_data(&mut self, _: &Searcher, at: u64) -> io::Result<bool> {
        self.zero_at = Some(at);
        Ok(true)
    }
}
