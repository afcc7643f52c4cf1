//! `${…}` in all its forms.

use super::FaultKind;
use super::reader::{Pieces, Reader, Setting};
use crate::ast::{Operation, Piece, Word};

impl Reader<'_, '_> {
    /// Reads from `${` on.
    pub(super) fn braces(&mut self, setting: Setting, pieces: &mut Pieces) {
        let start = self.at;
        self.step(2);
        if matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'|')) {
            pieces.list.push(Piece::Opaque);
            self.at = self.end;
            self.fault(start, FaultKind::Hidden, "commands in `${ …; }` are not followed");
            return;
        }
        let span = self.span_from(start);
        match self.nested(span, |reader| reader.parameter(start, setting)).flatten() {
            Some(piece) => pieces.list.push(piece),
            None => self.unclosed(start, pieces),
        }
    }

    /// Reads what stands between the braces, and the closing one.
    fn parameter(&mut self, start: usize, setting: Setting) -> Option<Piece> {
        let quoted = setting.is_quoted();
        let prefix = self.prefix();
        let name = self.name();
        let mut subscript = None;
        if self.peek(0) == Some(b'[') {
            subscript = Some(self.subscript()?);
        }
        if name.is_empty() {
            self.fault(start, FaultKind::Syntax, "there is no variable of that name");
        }
        if self.peek(0) == Some(b'}') && prefix.is_none() && subscript.is_none() {
            self.step(1);
            return Some(Piece::Variable { name, quoted });
        }
        let colon = usize::from(self.peek(0) == Some(b':'));
        let operator = self.peek(colon);
        let first = self.peek(0);
        // `${!x:-y}` gives the value of another variable: that is more than a default.
        let wrap: Option<fn(Word) -> Operation> = match (prefix, operator) {
            (None, Some(b'-')) => Some(Operation::Default),
            (None, Some(b'=')) => Some(Operation::Assign),
            (None, Some(b'+')) => Some(Operation::Alternative),
            (None, Some(b'?')) => Some(Operation::Error),
            _ => None,
        };
        if wrap.is_some() {
            self.step(colon.saturating_add(1));
        }
        // In double quotes, single quotes are text in a word, but quotes in a pattern.
        let operand = match operator {
            Some(b'-' | b'=' | b'+' | b'?') if quoted => self.operand(Setting::QuotedOperand),
            Some(_) | None => self.operand(Setting::Operand),
        };
        if self.peek(0) != Some(b'}') {
            return None;
        }
        self.step(1);
        let operation = match (wrap, subscript) {
            (Some(wrap), None) => wrap(operand),
            (None, subscript) if prefix == Some(b'#') && operand.pieces.is_empty() => {
                Operation::Length(subscript)
            }
            (Some(_), Some(subscript)) => {
                let (expressions, words) = (vec![subscript], vec![operand]);
                Operation::Other { prefixed: prefix.is_some(), expressions, words }
            }
            (None, subscript) => {
                let mut expressions: Vec<Word> = subscript.into_iter().collect();
                let mut words = Vec::new();
                if is_text(first) {
                    words.push(operand);
                } else {
                    expressions.push(operand);
                }
                Operation::Other { prefixed: prefix.is_some(), expressions, words }
            }
        };
        Some(Piece::Parameter { name, operation, quoted })
    }

    /// `!` and `#` before a name; each of them can be a name too.
    fn prefix(&mut self) -> Option<u8> {
        let first = self.peek(0).filter(|c| matches!(c, b'!' | b'#'))?;
        let is_name = match self.peek(1) {
            None | Some(b'}') => true,
            // `${#-x}` and `${#:-x}` are the number of arguments with a default, but `${#-}`
            // is the length of the options.
            Some(b'-' | b'?' | b'#' | b'!') => self.peek(2) != Some(b'}'),
            Some(c) => matches!(c, b':' | b'=' | b'+' | b'%' | b'/' | b'^' | b',' | b'['),
        };
        if is_name {
            return None;
        }
        self.step(1);
        Some(first)
    }

    fn name(&mut self) -> String {
        let start = self.at;
        match self.peek(0) {
            Some(c) if c.is_ascii_digit() => {
                while self.peek(0).is_some_and(|c| c.is_ascii_digit()) {
                    self.step(1);
                }
            }
            Some(c) if b"@*#?-$!".contains(&c) => self.step(1),
            Some(_) | None => return self.identifier().to_owned(),
        }
        self.slice(start, self.at).to_owned()
    }

    /// `[…]` after a name.
    pub(super) fn subscript(&mut self) -> Option<Word> {
        let inner = self.at.saturating_add(1);
        let after = self.extent().pair(inner, (b'[', b']')).ok()?;
        self.at = inner;
        let word = self.expression(after.saturating_sub(1));
        self.step(1);
        Some(word)
    }

    /// What follows the operator, up to the brace.
    fn operand(&mut self, setting: Setting) -> Word {
        let start = self.at;
        let pieces = self.pieces(setting);
        Word { pieces, span: self.text.span(start, self.at) }
    }
}

/// Whether an operator takes patterns or text, or there is none; `${x:…}` takes arithmetic.
fn is_text(operator: Option<u8>) -> bool {
    matches!(operator, Some(b'}' | b'#' | b'%' | b'/' | b'^' | b',' | b'~' | b'@' | b'*'))
}
