//! The words of a line: the commands in them, and their expansions.

use super::Walker;
use super::arithmetic::{AssignedValue, EVALUATED, is_evaluated};
use crate::shell::ast::{Operation, Piece, Script, Span, Word};
use crate::shell::evaluated::word_text;
use crate::shell::expand::{self, Bit, Field, Use};
use crate::shell::printed::{printed_by_all, substituted};
use crate::shell::state::{Attribute, Lookup, State};

/// The most bytes that the variables in the words of one command may expand to.
const FIELDS_MAX: usize = 1 << 20;

impl Walker<'_> {
    /// Inspects the commands in a word: substitutions, nested in anything.
    pub(super) fn word(&mut self, word: &Word, state: &mut State) {
        for piece in &word.pieces {
            match piece {
                Piece::Text { .. } | Piece::Variable { .. } => {}
                Piece::Parameter { name, operation, .. } => {
                    self.operation(name, operation, word.span, state);
                }
                Piece::Command { script, .. } => {
                    self.rewritten(script, word.span);
                    if let [Piece::Command { .. }] = word.pieces.as_slice()
                        && let Some(text) = substituted(script, state)
                    {
                        self.note_text(word.span, text);
                    }
                    self.within("$(…)", |walker| {
                        walker.script(script, &mut state.clone());
                        None
                    });
                }
                Piece::Process { script } => {
                    self.rewritten(script, word.span);
                    self.within("<(…)", |walker| {
                        walker.script(script, &mut state.clone());
                        None
                    });
                    self.substituted = printed_by_all(script, state);
                }
                Piece::Arithmetic(words) => self.arithmetic(words, word.span, state),
                Piece::Array(words) => self.array(words, state),
                Piece::Opaque => self.evaluates(word.span, "this part is not known before the run"),
            }
        }
    }

    pub(super) fn operation(
        &mut self,
        name: &str,
        operation: &Operation,
        span: Span,
        state: &mut State,
    ) {
        match operation {
            Operation::Default(word) | Operation::Alternative(word) | Operation::Error(word) => {
                self.word(word, state);
            }
            Operation::Assign(word) => {
                self.word(word, state);
                let value = word_text(word, state);
                self.given(name, AssignedValue::Text(value.as_deref()), span, state);
                let field = Field { span: word.span, ..expand::value(word, state) };
                self.note_variable_words(name, &[field], None, state);
                state.set(name, None);
                self.alter_if_hazard(name, span, state);
            }
            Operation::Length(subscript) => {
                self.expressions(name, subscript.as_slice(), span, state);
            }
            Operation::Other { expressions, words, .. } => {
                for word in words {
                    self.word(word, state);
                }
                self.expressions(name, expressions, span, state);
                self.expanded_again(name, span, state);
                // `${a[b]:=c}`
                let text = self.source.slice(span);
                if text.contains("]=") || text.contains("]:=") {
                    self.alter_if_hazard(name, span, state);
                }
            }
        }
    }

    /// Subscripts, offsets and lengths of a variable; subscripts of associative arrays are text.
    fn expressions(&mut self, name: &str, words: &[Word], span: Span, state: &mut State) {
        for word in words {
            self.word(word, state);
        }
        let is_keyed = match words {
            [word] => state.is(name, Attribute::Keyed) && !begins_with(word, ':'),
            _ => false,
        };
        if !is_keyed && words.iter().any(|word| is_evaluated(word, state)) {
            self.evaluates(span, EVALUATED);
        }
    }

    /// Bash before 5.3 parses a substitution, prints it and runs the result, in which commands
    /// after a here-document may have become words of one another.
    fn rewritten(&mut self, script: &Script, span: Span) {
        if script.statements.len() > 1 && self.source.slice(span).contains("<<") {
            self.evaluates(span, "what bash makes of a here-document before other commands here");
        }
    }

    /// `([a]=b c)`: subscripts are arithmetic.
    fn array(&mut self, words: &[Word], state: &mut State) {
        for word in words {
            self.word(word, state);
            if begins_with(word, '[') && is_evaluated(&subscript_of(word), state) {
                self.evaluates(word.span, EVALUATED);
            }
        }
    }

    /// `${x@P}` and `${!x}`: the value of the variable is expanded once more.
    fn expanded_again(&mut self, name: &str, span: Span, state: &State) {
        let mut text = self.source.slice(span);
        for list in ["[@]", "[*]", "@", "*"] {
            text = text.replace(&format!("${{!{name}{list}}}"), "");
        }
        let is_plain = |text: &str| !text.contains(['$', '`', '[']);
        let may_run = match state.lookup(name) {
            Lookup::Known(value) => !is_plain(value),
            Lookup::Unknown => true,
            Lookup::Number | Lookup::Unassigned => false,
        };
        if may_run && (text.contains("@P}") || text.contains("${!")) {
            self.evaluates(span, "what is in this variable is expanded, and may be a command");
        }
    }
}

fn begins_with(word: &Word, c: char) -> bool {
    matches!(word.pieces.first(), Some(Piece::Text { text, .. }) if text.starts_with(c))
}

/// The subscript of an element in parentheses, with everything that may belong to it.
fn subscript_of(element: &Word) -> Word {
    let mut subscript = element.clone();
    let ends = |piece: &Piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains("]=") || text.contains("]+="));
    if let Some(last) = subscript.pieces.iter().rposition(ends) {
        subscript.pieces.truncate(last.saturating_add(1));
        if let Some(Piece::Text { text, .. }) = subscript.pieces.last_mut()
            && let Some(end) = text.rfind("]=").max(text.rfind("]+="))
        {
            text.truncate(end);
        }
    }
    subscript
}

/// The fields of words, in order.
pub(super) fn fields(words: &[Word], state: &State) -> Vec<Field> {
    let mut room = FIELDS_MAX;
    let mut fields = Vec::new();
    for word in words {
        let made = match room {
            0 => vec![Field { single: false, ..Field::unknown(word.span) }],
            _ => expand::expand(word, state, Use::Argument),
        };
        let is_text = word.pieces.iter().all(|piece| matches!(piece, Piece::Text { .. }));
        let bytes = made.iter().flat_map(|field| &field.bits).map(|bit| match bit {
            Bit::Text(text) if !is_text => text.len(),
            Bit::Text(_) | Bit::Glob(_) | Bit::Number | Bit::Unknown => 1,
        });
        room = room.saturating_sub(bytes.sum());
        fields.extend(made);
    }
    fields
}
