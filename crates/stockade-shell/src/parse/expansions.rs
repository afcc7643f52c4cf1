//! What a dollar begins, apart from commands and braces.

use super::extent::{Extent, Trouble};
use super::reader::{Pieces, Reader, Setting};
use super::{FaultKind, decode};
use crate::ast::{Piece, Word};

impl Reader<'_, '_> {
    /// Reads from a dollar on.
    pub(super) fn dollar(&mut self, setting: Setting, pieces: &mut Pieces) {
        let start = self.at;
        let quoted = setting.is_quoted();
        match self.peek(1) {
            Some(b'(') => {
                let inner = start.saturating_add(3);
                match self.arithmetic_end(inner) {
                    Some(close) => self.arithmetic(inner, close, 2, pieces),
                    None => self.command(quoted, pieces),
                }
            }
            Some(b'[') => self.brackets(pieces),
            Some(b'{') => self.braces(setting, pieces),
            Some(b'\'') if !quoted => self.ansi_quotes(pieces),
            // The text may be replaced by a translation, which only bash's own catalogues hold.
            Some(b'"') if !quoted => {
                self.step(1);
                self.double_quotes(pieces);
            }
            Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                self.step(1);
                let name = self.identifier().to_owned();
                pieces.list.push(Piece::Variable { name, quoted });
            }
            Some(c) if c.is_ascii_digit() || b"@*#?-$!".contains(&c) => {
                self.step(2);
                let name = self.slice(start.saturating_add(1), self.at).to_owned();
                pieces.list.push(Piece::Variable { name, quoted });
            }
            Some(_) | None => {
                self.step(1);
                pieces.text("$", quoted);
            }
        }
    }

    /// The name that begins here.
    pub(super) fn identifier(&mut self) -> &str {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_') {
            self.step(1);
        }
        self.slice(start, self.at)
    }

    /// What may be read, to look for an end.
    pub(super) fn extent(&self) -> Extent<'_> {
        Extent::new(self.text.whole, self.end)
    }

    /// Where `$((` ends, if what follows is arithmetic and not a subshell in a command.
    fn arithmetic_end(&self, inner: usize) -> Option<usize> {
        if self.peek(2) != Some(b'(') {
            return None;
        }
        Some(self.extent().arithmetic(inner).ok()??.saturating_sub(1))
    }

    /// Reads an expression up to where it is closed by so many bytes.
    fn arithmetic(&mut self, inner: usize, close: usize, closing: usize, pieces: &mut Pieces) {
        self.at = inner;
        let word = self.expression(close);
        self.step(closing);
        pieces.list.push(Piece::Arithmetic(vec![word]));
    }

    /// Reads an expression from here up to a byte.
    pub(super) fn expression(&mut self, close: usize) -> Word {
        let end = std::mem::replace(&mut self.end, close);
        let span = self.span_from(self.at);
        let word = self.nested(span, |reader| reader.word(Setting::Arithmetic));
        self.end = end;
        self.at = close;
        word.unwrap_or_else(|| Word { pieces: vec![Piece::Opaque], span })
    }

    /// `$[…]`
    fn brackets(&mut self, pieces: &mut Pieces) {
        let start = self.at;
        let inner = start.saturating_add(2);
        match self.extent().pair(inner, (b'[', b']')) {
            Ok(after) => self.arithmetic(inner, after.saturating_sub(1), 1, pieces),
            Err(Trouble::Unclosed | Trouble::TooDeep) => self.unclosed(start, pieces),
        }
    }

    fn ansi_quotes(&mut self, pieces: &mut Pieces) {
        let start = self.at;
        let open = start.saturating_add(2);
        let Ok(after) = self.extent().escaped_until(open, b'\'') else {
            return self.unclosed(start, pieces);
        };
        self.at = after;
        match decode::ansi(self.slice(open, after.saturating_sub(1))) {
            Some(text) => pieces.text(&text, true),
            None => {
                pieces.list.push(Piece::Opaque);
                self.fault(start, FaultKind::Hidden, "the quote holds bytes that are no text");
            }
        }
    }

    /// Gives up the rest of the part.
    pub(super) fn unclosed(&mut self, start: usize, pieces: &mut Pieces) {
        self.at = self.end;
        pieces.list.push(Piece::Opaque);
        self.fault(start, FaultKind::Syntax, "it is not closed");
    }
}
