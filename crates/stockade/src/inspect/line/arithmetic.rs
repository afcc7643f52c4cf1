//! Arithmetic in a line: it evaluates what is in variables, runs what stands in a subscript there,
//! and sets variables too.

use super::Walker;
use crate::shell::expand::{self, Field};
use crate::shell::state::{Attribute, Lookup, State};
use crate::shell::tree::{Operation, Piece, Span, Word};

pub(super) const EVALUATED: &str =
    "arithmetic evaluates what is in a variable, and what that holds is not known before the run";

/// What assigns, after a name.
const ASSIGNING: [&str; 12] =
    ["++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="];

impl Walker<'_> {
    /// `(( … ))` and `$(( … ))`
    pub(super) fn arithmetic(&mut self, words: &[Word], span: Span, state: &mut State) {
        for word in words {
            self.word(word, state);
        }
        if words.iter().any(|word| is_evaluated(word, state)) {
            self.dynamic(span, EVALUATED);
        }
        let text: String = words.iter().map(|word| text_of(word) + " ").collect();
        assign(&text, state);
    }

    /// `let`: every word is arithmetic.
    pub(super) fn let_words(&mut self, words: &[Field], span: Span, state: &mut State) {
        for word in words {
            let text = word.known();
            if text.as_deref().is_none_or(|text| holds_more(text, state)) {
                self.dynamic(span, EVALUATED);
            }
            match text {
                Some(text) => assign(&text, state),
                None => state.forget(),
            }
        }
    }

    /// A value for a variable, which is evaluated where that is an integer.
    pub(super) fn given(&mut self, name: &str, value: Option<&str>, span: Span, state: &State) {
        if state.is(name, Attribute::Integer) && value.is_none_or(|text| holds_more(text, state)) {
            self.dynamic(span, EVALUATED);
        }
    }

    /// The subscript in `a[…]=b`.
    pub(super) fn subscript(&mut self, name: &str, word: &Word, state: &mut State) {
        self.word(word, state);
        if !state.is(name, Attribute::Keyed) && is_evaluated(word, state) {
            self.dynamic(word.span, EVALUATED);
        }
        assign(&text_of(word), state);
    }
}

/// Whether something in a word of arithmetic may be more than a number.
pub(super) fn is_evaluated(word: &Word, state: &State) -> bool {
    let is_more = |text: Option<String>| text.is_none_or(|text| holds_more(&text, state));
    word.pieces.iter().any(|piece| match piece {
        Piece::Text { text, .. } => holds_more(text, state),
        Piece::Variable { name, .. } => match name.as_str() {
            "#" | "?" | "$" | "!" => false,
            name => match state.lookup(name) {
                Lookup::Number | Lookup::Unassigned => false,
                Lookup::Known(text) => holds_more(text, state),
                // An argument of a function, or of the shell.
                Lookup::Unknown => is_more(argument(piece, state)),
            },
        },
        Piece::Parameter { name, operation, .. } => {
            let is_word = |word: &Word| is_evaluated(word, state);
            name_holds_more(name, state)
                || match operation {
                    Operation::Default(word)
                    | Operation::Assign(word)
                    | Operation::Alternative(word) => is_word(word),
                    Operation::Error(_) => false,
                    Operation::Other(words) => words.iter().any(is_word),
                }
        }
        Piece::Command { .. } => true,
        Piece::Process { .. } | Piece::Arithmetic(_) | Piece::Array(_) | Piece::Opaque => false,
    })
}

/// The value of a variable alone, where it is known.
fn argument(piece: &Piece, state: &State) -> Option<String> {
    let word = Word { pieces: vec![piece.clone()], span: Span::default() };
    expand::value(&word, state).known()
}

/// Whether text as arithmetic is more than numbers and variables that hold numbers.
fn holds_more(text: &str, state: &State) -> bool {
    if text.contains("$(") || text.contains('`') {
        return true;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = text.split(|c| !is_name(c)).filter(|name| !name.is_empty());
    let mut names = names.filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()));
    names.any(|name| name_holds_more(name, state))
}

fn name_holds_more(name: &str, state: &State) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match state.lookup(name) {
        Lookup::Known(text) => !is_number(text),
        Lookup::Unknown => true,
        Lookup::Number | Lookup::Unassigned => false,
    }
}

/// The text of a word, with a mark for what is not text.
fn text_of(word: &Word) -> String {
    let text = |piece: &Piece| {
        if let Piece::Text { text, .. } = piece { text.clone() } else { HOLE.to_string() }
    };
    word.pieces.iter().map(text).collect()
}

const HOLE: char = '\0';

/// Sets the variables that arithmetic assigns to: they are numbers then.
fn assign(text: &str, state: &mut State) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == HOLE;
    let mut rest = text;
    let mut before = "";
    while let Some(start) = rest.find(is_name) {
        let (gap, from) = rest.split_at_checked(start).unwrap_or((rest, ""));
        let end = from.find(|c| !is_name(c)).unwrap_or(from.len());
        let (name, after) = from.split_at_checked(end).unwrap_or((from, ""));
        before = if gap.is_empty() { before } else { gap };
        let follows = after.trim_start();
        let has_subscript = follows.starts_with('[');
        let follows = if has_subscript { behind_subscript(follows) } else { follows };
        let is_equal = follows.starts_with('=') && !follows.starts_with("==");
        let is_before = ["++", "--"].iter().any(|sign| before.trim_end().ends_with(sign));
        if is_equal || is_before || ASSIGNING.iter().any(|sign| follows.starts_with(sign)) {
            match name {
                // Which variable it is is not known.
                _ if name.contains(HOLE) => state.forget(),
                _ if has_subscript => state.set(name, None),
                _ if name.starts_with(|c: char| c.is_ascii_digit()) => {}
                _ => state.set_number(name),
            }
        }
        rest = after;
    }
}

fn behind_subscript(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth = depth.saturating_add(1),
            ']' if depth == 1 => {
                return text.get(at.saturating_add(1)..).unwrap_or("").trim_start();
            }
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    ""
}
