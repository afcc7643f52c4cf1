//! The searcher and the regular expressions of ripgrep, with the bounds that we set them.

use std::fs::File;
use std::time::Instant;

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

use super::bounded::BoundedReader;
use super::output::InFile;
use super::record::MatchRecord;
use super::sink::{End, MatchSink};
use crate::call::file::{Case, Grep, Numbers, Show, Span};
use crate::files::FileError;

/// Memory for a line and the context before it, or for a whole file where a match may span lines.
pub(super) const HEAP_BYTES_MAX: usize = 16 << 20;
/// A longer pattern is none that a person wrote.
const PATTERN_BYTES_MAX: usize = 64 << 10;
/// Memory of a compiled pattern. It also bounds the time that one byte of text can take.
const COMPILED_BYTES_MAX: usize = 4 << 20;
/// Memory of what is learnt about it while it is matched.
const LEARNT_BYTES_MAX: usize = 16 << 20;
/// Lines before or after a match, whatever was asked for.
const CONTEXT_LINES_MAX: u64 = 10_000;

/// A pattern that was compiled, and the buffers to search with.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    matcher: RegexMatcher,
    searcher: Searcher,
    show: Show,
}

impl Engine {
    pub(super) fn new(grep: &Grep) -> Result<Self, FileError> {
        Ok(Self { matcher: matcher(grep)?, searcher: searcher(grep), show: grep.show })
    }

    /// Searches a file that is open, until it ends, the time is up or no more is wanted.
    pub(super) fn search(&mut self, file: &File, until: Instant, answer: InFile<'_, '_>) -> End {
        let mut reader = BoundedReader::new(file, until);
        let mut found = MatchSink::new(until, answer);
        let searched = self.searcher.search_reader(&self.matcher, &mut reader, &mut found);
        match (searched, reader.into_error()) {
            (_, Some(_)) if found.is_late() => End::Late,
            (_, Some(error)) => End::Unread(error),
            // What it could not do although all was read is to find the memory.
            (Err(_), None) => End::Large,
            (Ok(()), None) => found.end(),
        }
    }

    /// Searches a file that is open, and keeps what is found in it.
    pub(super) fn record(&mut self, file: &File, until: Instant) -> MatchRecord {
        let mut reader = BoundedReader::new(file, until);
        let mut record = MatchRecord::new(self.show, until);
        let searched = self.searcher.search_reader(&self.matcher, &mut reader, &mut record);
        let is_whole = searched.is_ok() && reader.into_error().is_none();
        if is_whole { record } else { MatchRecord::partial(until) }
    }
}

fn matcher(grep: &Grep) -> Result<RegexMatcher, FileError> {
    if grep.pattern.len() > PATTERN_BYTES_MAX {
        return Err(FileError::Pattern(format!("it is longer than {PATTERN_BYTES_MAX} bytes")));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(grep.case == Case::Ignored)
        .multi_line(true)
        .dot_matches_new_line(grep.span == Span::Lines)
        .crlf(true)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(LEARNT_BYTES_MAX);
    // Lines end with LF to the searcher, and `$` also stands before the CR of a CR LF.
    builder.line_terminator(match grep.span {
        Span::Line => Some(b'\n'),
        Span::Lines => None,
    });
    builder.build(&grep.pattern).map_err(|error| {
        let is_line_end = matches!(error.kind(), ErrorKind::NotAllowed(_));
        let hint = if is_line_end { "; set multiline to find line ends" } else { "" };
        FileError::Pattern(format!("{error}{hint}"))
    })
}

fn searcher(grep: &Grep) -> Searcher {
    let context = |lines: u64| match grep.show {
        Show::Content => usize::try_from(lines.min(CONTEXT_LINES_MAX)).unwrap_or_default(),
        Show::Files | Show::Count => 0,
    };
    SearcherBuilder::new()
        .line_number(grep.show == Show::Content && grep.numbers == Numbers::Shown)
        .multi_line(grep.span == Span::Lines)
        .before_context(context(grep.before))
        .after_context(context(grep.after))
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_BYTES_MAX))
        // Whoever shortens a file under a map ends the process that reads it.
        .memory_map(MmapChoice::never())
        .build()
}
