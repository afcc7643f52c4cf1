//! Here-documents: where their text ends is checked line by line.

use std::ops::Range;

use shuck_ast::Heredoc;

use super::FaultKind;
use super::claims::Claims;
use super::reader::{Reader, Setting};
use super::statements::Converter;
use crate::ast::{Piece, Word};

/// The texts of the here-documents, which stand apart from their statements.
#[derive(Debug, Default)]
pub(super) struct HereDocuments {
    /// From the first byte of a text to the end of the line that closes it.
    ranges: Vec<Range<usize>>,
    /// Where the operator of one stands whose text does not end.
    open: Option<Range<usize>>,
}

impl HereDocuments {
    /// Adds all texts to what has been read.
    pub(super) fn claim(&mut self, claims: &mut Claims) {
        for range in self.ranges.drain(..) {
            claims.add(range.start, range.end);
        }
    }

    /// The operator of one whose text does not end.
    pub(super) fn unfinished(&self) -> Option<Range<usize>> {
        self.open.clone()
    }
}

impl Converter<'_, '_> {
    /// Reads the text of a here-document. Its delimiter stands in a range of the text.
    pub(super) fn document(&mut self, found: &Heredoc, name: Range<usize>, tabs: bool) -> Word {
        let Some(delimiter) = self.delimiter(name.clone()) else {
            let span = self.text.span(name.start, name.end);
            self.front.fault(span, FaultKind::Hidden, "the delimiter is no plain text");
            return Word { pieces: vec![Piece::Opaque], span };
        };
        let start = found.body.span.start.offset();
        let text = self.text.whole;
        let begins_a_line = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        let body = text.get(start..).unwrap_or_default();
        let end = (begins_a_line == Some(&b'\n') && start > name.end)
            .then(|| delimiter.line_in(body, tabs))
            .flatten();
        let Some(lines) = end else {
            self.documents.open.get_or_insert(name.clone());
            return Word {
                pieces: vec![Piece::Opaque],
                span: self.text.span(name.start, name.end),
            };
        };
        let close = start.saturating_add(lines.start);
        self.documents.ranges.push(start..start.saturating_add(lines.end));
        if delimiter.is_literal {
            let body = text.get(start..close).unwrap_or_default();
            let text = if tabs { without_tabs(body) } else { body.to_owned() };
            let pieces = vec![Piece::Text { text, quoted: true }];
            return Word { pieces, span: self.text.span(start, close) };
        }
        let setting = if tabs { Setting::HereTabs } else { Setting::Here };
        Reader::new(self.front, self.text, start, close).word(setting)
    }

    /// The delimiter without its quotes, and whether it had any.
    fn delimiter(&mut self, name: Range<usize>) -> Option<Delimiter> {
        let raw = self.text.whole.get(name.clone())?;
        let blank = raw.len().saturating_sub(raw.trim_start_matches([' ', '\t']).len());
        let start = name.start.saturating_add(blank);
        let word = Reader::new(self.front, self.text, start, name.end).word(Setting::Plain);
        let mut delimiter = Delimiter { text: String::new(), is_literal: false };
        for piece in word.pieces {
            let Piece::Text { text, quoted } = piece else { return None };
            delimiter.text.push_str(&text);
            delimiter.is_literal |= quoted;
        }
        Some(delimiter)
    }
}

/// What the last line of a here-document is.
#[derive(Debug)]
struct Delimiter {
    text: String,
    /// With any quote in the delimiter, the text is not expanded.
    is_literal: bool,
}

impl Delimiter {
    /// The line that closes a text, without its newline.
    fn line_in(&self, body: &str, tabs: bool) -> Option<Range<usize>> {
        let mut at = 0_usize;
        let mut joined = false;
        for line in body.split_inclusive('\n') {
            let whole = line.strip_suffix('\n').unwrap_or(line);
            let bare = if tabs { whole.trim_start_matches('\t') } else { whole };
            if !joined && bare == self.text {
                return Some(at..at.saturating_add(whole.len()));
            }
            // Before expansion, a backslash joins a line with the next one.
            let slashes = whole.len().saturating_sub(whole.trim_end_matches('\\').len());
            joined = !self.is_literal && slashes.checked_rem(2) == Some(1);
            at = at.saturating_add(line.len());
        }
        None
    }
}

fn without_tabs(body: &str) -> String {
    body.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
}
