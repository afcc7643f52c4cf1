//! Redirections, read from their own text.

use shuck_ast::{Redirect as Found, RedirectTarget};

use super::FaultKind;
use super::reader::{Reader, Setting};
use super::statements::Converter;
use crate::ast::{Piece, Redirect, RedirectKind, Span, Word};

/// The operators, longer ones before those that begin them.
const OPERATORS: [(&str, RedirectKind); 12] = [
    ("&>>", RedirectKind::Write),
    ("&>", RedirectKind::Write),
    ("<<<", RedirectKind::HereString),
    ("<<-", RedirectKind::HereDocument),
    ("<<", RedirectKind::HereDocument),
    ("<>", RedirectKind::ReadWrite),
    ("<&", RedirectKind::Copy),
    (">&", RedirectKind::Copy),
    (">>", RedirectKind::Write),
    (">|", RedirectKind::Write),
    ("<", RedirectKind::Read),
    (">", RedirectKind::Write),
];

impl Converter<'_, '_> {
    /// All redirections of a statement.
    pub(super) fn redirects(&mut self, found: &[Found]) -> Vec<Redirect> {
        let mut redirects = Vec::with_capacity(found.len());
        let mut last = None;
        for redirect in found {
            let start = redirect.span.start.offset();
            // `&>>` is two for the parser, both from the same place.
            if last != Some(start) {
                redirects.push(self.redirect(redirect));
            }
            last = Some(start);
        }
        redirects
    }

    fn redirect(&mut self, found: &Found) -> Redirect {
        let start = found.span.start.offset();
        let end = found.span.end.offset();
        if let Some(variable) = found.fd_var_span {
            self.claims.add(variable.start.offset().saturating_sub(1), start);
        }
        self.claims.add(start, end);
        let raw = self.text.whole.get(start..end).unwrap_or_default();
        let operator = raw.trim_start_matches(|c: char| c.is_ascii_digit());
        let known = OPERATORS.into_iter().find(|(text, _)| operator.starts_with(text));
        let span = self.text.span(start, end);
        let Some((text, mut kind)) = known else {
            self.front.fault(span, FaultKind::Hidden, "it is no redirection that is known");
            return Redirect { kind: RedirectKind::Write, target: opaque(span), span };
        };
        let skipped = raw.len().saturating_sub(operator.len()).saturating_add(text.len());
        let target = start.saturating_add(skipped);
        if text.starts_with("<<") && self.is_of_another_descriptor(start) {
            // Nothing reads it as input.
            kind = RedirectKind::Copy;
        }
        if let (RedirectTarget::Heredoc(document), "<<" | "<<-") = (&found.target, text) {
            let body = self.document(document, target..end, text == "<<-");
            return Redirect { kind, target: body, span };
        }
        let target = self.target(target, end);
        if text == ">&" && !is_descriptor(&target) {
            kind = RedirectKind::Write;
        }
        Redirect { kind, target, span }
    }

    /// Whether a part is the number of a descriptor before `<<`, which the parser takes for a word.
    pub(super) fn is_number(&self, start: usize, end: usize) -> bool {
        let part = self.text.whole.get(start..end).unwrap_or_default();
        let after = self.text.whole.get(end..).unwrap_or_default();
        !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()) && after.starts_with("<<")
    }

    /// Whether a number that is not nought stands before an operator.
    fn is_of_another_descriptor(&self, operator: usize) -> bool {
        let before = self.text.whole.get(..operator).unwrap_or_default();
        let rest = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_word = rest.chars().next_back().is_some_and(|c| !" \t\n;&|()<>`".contains(c));
        let number = before.get(rest.len()..).unwrap_or_default();
        !is_word && number.bytes().any(|c| c != b'0')
    }

    /// The word after the operator.
    fn target(&mut self, start: usize, end: usize) -> Word {
        let mut reader = Reader::new(self.front, self.text, start, end);
        loop {
            match (reader.peek(0), reader.peek(1)) {
                (Some(b' ' | b'\t'), _) => reader.step(1),
                (Some(b'\\'), Some(b'\n')) => reader.step(2),
                _ => break,
            }
        }
        let word = reader.word(Setting::Plain);
        if word.pieces.is_empty() {
            self.front.fault(word.span, FaultKind::Syntax, "the redirection has no target");
        }
        word
    }
}

/// `1`, `-` and `1-`.
fn is_descriptor(target: &Word) -> bool {
    match target.pieces.as_slice() {
        [Piece::Text { text, .. }] => {
            let digits = text.strip_suffix('-').unwrap_or(text);
            !text.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
        }
        _ => false,
    }
}

fn opaque(span: Span) -> Word {
    Word { pieces: vec![Piece::Opaque], span }
}
