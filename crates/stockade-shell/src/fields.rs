//! Where one word ends and the next begins, once everything in it is expanded.

use super::ast::Span;
use super::expand::{Atom, Bit, Field, Hole, Use};
use super::state::State;

/// Makes fields of atoms.
pub(super) struct Maker<'s> {
    state: &'s State,
    purpose: Use,
    span: Span,
    made: Vec<Field>,
    open: Option<Field>,
}

impl<'s> Maker<'s> {
    pub(super) fn new(state: &'s State, purpose: Use, span: Span) -> Self {
        Self { state, purpose, span, made: Vec::new(), open: None }
    }

    pub(super) fn make(mut self, atoms: &[Atom]) -> Vec<Field> {
        // A bracket that nothing closes is no pattern: `[` is a program.
        let is_closing = |atom: &Atom| *atom == Atom::plain(']');
        let last_closing = atoms.iter().rposition(is_closing);
        for (at, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Quotes => {
                    self.field();
                }
                Atom::Char { c, quoted } => {
                    let closed = *c != '[' || last_closing.is_some_and(|closing| closing > at);
                    self.char(*c, *quoted || !closed);
                }
                Atom::Hole { value, quoted } => self.hole(value, *quoted),
            }
        }
        self.close();
        self.made
    }

    fn hole(&mut self, value: &Hole, quoted: bool) {
        match value {
            Hole::Text(text) => self.text(text, quoted),
            Hole::Assumed(text) => {
                self.field().assumed = true;
                let before = self.made.len();
                self.text(text, quoted);
                for field in self.made.iter_mut().skip(before).chain(&mut self.open) {
                    field.assumed = true;
                }
            }
            // The variable of a number may have been unset, and `IFS` may hold a digit.
            Hole::Number | Hole::Unknown => {
                let splits = !quoted && self.purpose == Use::Argument;
                let field = self.field();
                let is_number = *value == Hole::Number;
                field.bits.push(if is_number { Bit::Number } else { Bit::Unknown });
                field.single &= !splits;
            }
            Hole::Fields(fields) => {
                for (at, field) in fields.iter().enumerate() {
                    if at > 0 {
                        self.close();
                    }
                    if let Some(text) = field.likely().filter(|_| !quoted) {
                        self.hole(&assumed(text, field.assumed), quoted);
                        continue;
                    }
                    let open = self.field();
                    open.bits.extend(field.bits.iter().cloned());
                    open.single &= field.single && (quoted || field.known().is_some());
                    open.assumed |= field.assumed;
                }
            }
        }
    }

    /// The value of a variable; without quotes it is split, and patterns in it count.
    fn text(&mut self, text: &str, quoted: bool) {
        if quoted || self.purpose == Use::Value {
            self.field();
            for c in text.chars() {
                self.char(c, true);
            }
            return;
        }
        if !self.state.splits_as_usual() {
            let field = self.field();
            field.bits.push(Bit::Unknown);
            field.single = false;
            return;
        }
        for c in text.chars() {
            if c == ' ' || c == '\t' || c == '\n' {
                self.close();
            } else {
                self.char(c, false);
            }
        }
    }

    fn char(&mut self, c: char, quoted: bool) {
        let is_pattern = !quoted && self.purpose == Use::Argument && matches!(c, '*' | '?' | '[');
        let field = self.field();
        match field.bits.last_mut() {
            _ if is_pattern => field.bits.push(Bit::Glob(c)),
            Some(Bit::Text(text)) => text.push(c),
            Some(Bit::Glob(_) | Bit::Number | Bit::Unknown) | None => {
                field.bits.push(Bit::Text(c.to_string()));
            }
        }
    }

    fn field(&mut self) -> &mut Field {
        let span = self.span;
        self.open.get_or_insert_with(|| Field::empty(span))
    }

    fn close(&mut self) {
        self.made.extend(self.open.take());
    }
}

/// What a word that was given before becomes without quotes: it is split like any value.
fn assumed(text: String, is_assumed: bool) -> Hole {
    if is_assumed { Hole::Assumed(text) } else { Hole::Text(text) }
}
