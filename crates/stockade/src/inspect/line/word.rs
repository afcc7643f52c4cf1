//! The words of a line: the commands in them, and what they become.

use super::Walker;
use super::arithmetic::{EVALUATED, is_evaluated};
use crate::shell::expand::{self, Bit, Field, Use};
use crate::shell::state::{Lookup, State};
use crate::shell::tree::{Operation, Piece, Script, Span, Word};

/// What the variables in the words of one command may become, in bytes.
const FIELDS_MAX: usize = 1 << 20;

impl Walker<'_> {
    /// Looks at the commands in a word: substitutions, in whatever they are nested.
    pub(super) fn word(&mut self, word: &Word, state: &mut State) {
        for piece in &word.pieces {
            match piece {
                Piece::Text { .. } | Piece::Variable { .. } => {}
                Piece::Parameter { name, operation, .. } => {
                    self.operation(name, operation, word.span, state);
                }
                Piece::Command { script, .. } => {
                    self.rewritten(script, word.span);
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
                }
                Piece::Arithmetic(words) => self.arithmetic(words, word.span, state),
                Piece::Array(words) => self.array(words, state),
                Piece::Opaque => self.dynamic(word.span, "this part is not known before the run"),
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
                state.set(name, None);
            }
            Operation::Other(words) => {
                for word in words {
                    self.word(word, state);
                }
                if words.iter().any(|word| is_evaluated(word, state)) {
                    self.dynamic(span, EVALUATED);
                }
                self.expanded_again(name, span, state);
            }
        }
    }

    /// Bash before 5.3 reads a substitution, writes it out again and runs that, in which commands
    /// after a here-document may have become words of one another.
    fn rewritten(&mut self, script: &Script, span: Span) {
        if script.statements.len() > 1 && self.source.slice(span).contains("<<") {
            self.dynamic(span, "what bash makes of a here-document before other commands here");
        }
    }

    /// `([a]=b c)`: subscripts are arithmetic.
    fn array(&mut self, words: &[Word], state: &mut State) {
        for word in words {
            self.word(word, state);
            let is_subscript = |text: &str| text.starts_with('[');
            let first = word.pieces.first();
            if matches!(first, Some(Piece::Text { text, quoted: false }) if is_subscript(text))
                && is_evaluated(word, state)
            {
                self.dynamic(word.span, EVALUATED);
            }
        }
    }

    /// `${x@P}` and `${!x}`: what is in the variable is expanded once more.
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
            self.dynamic(span, "what is in this variable is expanded, and may be a command");
        }
    }
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
            Bit::Text(_) | Bit::Glob(_) | Bit::Unknown => 1,
        });
        room = room.saturating_sub(bytes.sum());
        fields.extend(made);
    }
    fields
}
