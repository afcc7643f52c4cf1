//! The words of a line: the commands in them, and what they become.

use super::Walker;
use crate::shell::expand::{self, Field, Use};
use crate::shell::state::{Lookup, State};
use crate::shell::tree::{Operation, Piece, Span, Word};

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
                    self.within("$(…)", |walker| {
                        walker.script(script, &mut state.clone());
                        None
                    });
                }
                Piece::Process { script } => {
                    self.within("<(…)", |walker| {
                        walker.script(script, &mut state.clone());
                        None
                    });
                }
                Piece::Arithmetic(words) => self.arithmetic(words, word.span, state),
                Piece::Array(words) => words.iter().for_each(|word| self.word(word, state)),
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
            }
        }
    }

    /// Arithmetic evaluates what is in variables, and that may hold a command in a subscript.
    pub(super) fn arithmetic(&mut self, words: &[Word], span: Span, state: &mut State) {
        for word in words {
            self.word(word, state);
        }
        if words.iter().any(|word| is_evaluated(word, state)) {
            self.dynamic(span, EVALUATED);
        }
    }
}

pub(super) const EVALUATED: &str =
    "arithmetic evaluates what is in a variable, and what that holds is not known before the run";

/// Whether the value of a variable in arithmetic may be more than a number.
pub(super) fn is_evaluated(word: &Word, state: &State) -> bool {
    let names = word.pieces.iter().flat_map(|piece| match piece {
        Piece::Text { text, .. } if text.contains("$(") || text.contains('`') => {
            vec![String::from("_")]
        }
        Piece::Text { text, .. } => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            text.split(|c| !is_name(c)).map(str::to_owned).collect()
        }
        Piece::Variable { name, .. } => vec![name.clone()],
        Piece::Parameter { name, .. } => vec![name.clone()],
        Piece::Command { .. } => vec![String::from("_")],
        Piece::Process { .. } | Piece::Arithmetic(_) | Piece::Array(_) | Piece::Opaque => {
            Vec::new()
        }
    });
    let names =
        names.filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let mut names = names;
    names.any(|name| match state.lookup(&name) {
        Lookup::Known(text) => !is_number(text),
        Lookup::Unknown => true,
        Lookup::Number | Lookup::Unassigned => false,
    })
}

/// The fields of words, in order.
pub(super) fn fields(words: &[Word], state: &State) -> Vec<Field> {
    words.iter().flat_map(|word| expand::expand(word, state, Use::Argument)).collect()
}
