//! What a searcher finds in one file, taken for as long as it is wanted.

use std::io;
use std::time::Instant;

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::output::InFile;

/// How the search of a file ended.
#[derive(Debug)]
pub(super) enum End {
    /// All was searched that was wanted.
    Done,
    /// It is no text.
    Binary,
    /// It turned out to be no text after some of it was searched.
    BinaryLater,
    /// It does not fit into memory.
    Large,
    /// The time was up.
    Late,
    /// The system refused.
    Unread(io::Error),
}

/// Takes the lines of one file.
#[derive(Debug)]
pub(super) struct MatchSink<'f, 'a> {
    until: Instant,
    answer: InFile<'f, 'a>,
    /// Where the first zero byte is.
    zero_at: Option<u64>,
}

impl<'f, 'a> MatchSink<'f, 'a> {
    pub(super) fn new(until: Instant, answer: InFile<'f, 'a>) -> Self {
        Self { until, answer, zero_at: None }
    }

    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// How it ended after the searcher came to its end.
    pub(super) fn end(mut self) -> End {
        if self.is_late() && !self.answer.is_full() {
            return End::Late;
        }
        let has_some = self.answer.close();
        match self.zero_at {
            Some(_) if has_some => End::BinaryLater,
            Some(_) => End::Binary,
            None => End::Done,
        }
    }

    fn goes_on(&self) -> bool {
        !self.answer.is_full() && !self.is_late()
    }
}

impl Sink for MatchSink<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut number = found.line_number();
        for line in found.lines() {
            self.answer.matched(number, line);
            number = number.map(|number| number.saturating_add(1));
            if !self.goes_on() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.answer.context(context.line_number(), context.bytes());
        Ok(self.goes_on())
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.answer.gap();
        Ok(self.goes_on())
    }

    fn binary_data(&mut self, _: &Searcher, at: u64) -> io::Result<bool> {
        self.zero_at = Some(at);
        Ok(true)
    }
}
