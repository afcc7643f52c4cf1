//! Text that bash evaluates: arithmetic, and names of variables with a subscript.
//!
//! Bash runs the commands that stand in a subscript, also where the text comes out of a variable,
//! a file or a pipe. Text counts as plain only if it is known to hold numbers, operators and
//! variables of numbers, or a name. Everything else is known in the run alone.

use super::ast::{Operation, Piece, Span, Word};
use super::expand::{self, Bit, Field};
use super::state::{Attribute, Lookup, State};

/// Stands in text for a number that is known in the run alone. No line holds it by chance: text
/// that does counts as not known.
pub const NUMBER: char = '\u{f8ff}';

/// The text of a word of arithmetic, if it is known but for numbers.
pub fn word_text(word: &Word, state: &State) -> Option<String> {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text { text: part, .. } => text.push_str(&without_mark(part)?),
            Piece::Variable { name, .. } => text.push_str(&variable(name, piece, state)?),
            Piece::Parameter { name, operation, .. } => match operation {
                Operation::Length(_) => text.push(NUMBER),
                Operation::Error(_) => text.push_str(&variable(name, piece, state)?),
                Operation::Default(word) | Operation::Assign(word) => {
                    let value = variable(name, &plain_variable(name), state)?;
                    let other = word_text(word, state)?;
                    text.push_str(&number_of([&value, &other])?);
                }
                Operation::Alternative(word) => {
                    text.push_str(&number_of([&word_text(word, state)?])?);
                }
                Operation::Other { .. } => return None,
            },
            Piece::Arithmetic(_) => text.push(NUMBER),
            Piece::Command { .. } | Piece::Process { .. } | Piece::Array(_) | Piece::Opaque => {
                return None;
            }
        }
    }
    Some(text)
}

/// The text of a word that a builtin gets, if it is known but for numbers.
pub fn field_text(field: &Field) -> Option<String> {
    if field.assumed {
        return None;
    }
    bits_text(&field.bits)
}

/// The same for a part of such a word.
pub fn bits_text(bits: &[Bit]) -> Option<String> {
    let mut text = String::new();
    for bit in bits {
        match bit {
            Bit::Text(part) => text.push_str(&without_mark(part)?),
            Bit::Number => text.push(NUMBER),
            // The subscript of a name without quotes, which names no other file than its like.
            Bit::Glob('[') => text.push('['),
            Bit::Glob(_) | Bit::Unknown => return None,
        }
    }
    Some(text)
}

/// Whether arithmetic of this text evaluates numbers alone.
pub fn is_plain_expression(text: &str, state: &State) -> bool {
    if text.contains(['$', '`', '\\', '\'', '"']) {
        return false;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == NUMBER;
    let mut tokens = text.split(|c| !is_name(c)).filter(|token| !token.is_empty());
    tokens.all(|token| {
        let is_digits = |c: char| c.is_ascii_digit() || c == NUMBER;
        // `0x1f` and `16#ff` are constants.
        token.starts_with(|c: char| c.is_ascii_digit())
            || token.chars().all(is_digits)
            || !token.contains(NUMBER) && holds_number(token, state)
    })
}

/// Whether text that is used as the name of a variable evaluates nothing but numbers.
pub fn is_plain_reference(text: &str, state: &State) -> bool {
    let Some((name, rest)) = text.split_once('[') else {
        // Either a name, or something that bash refuses as one.
        return true;
    };
    let Some(subscript) = rest.strip_suffix(']') else { return false };
    let is_simple =
        |c: char| c.is_ascii_alphanumeric() || c == NUMBER || matches!(c, '_' | '+' | '-' | ' ');
    let is_all = matches!(subscript, "@" | "*");
    let is_key = || {
        let is_text = |c: char| !matches!(c, '$' | '`' | '\\' | '\'' | '"' | '[' | ']');
        state.is(name, Attribute::Keyed) && subscript.chars().all(is_text)
    };
    is_all || is_key() || subscript.chars().all(is_simple) && is_plain_expression(subscript, state)
}

/// Whether a variable holds a number or nothing.
pub fn holds_number(name: &str, state: &State) -> bool {
    match state.lookup(name) {
        Lookup::Known(text) => text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        Lookup::Unknown => false,
        Lookup::Number | Lookup::Unassigned => true,
    }
}

/// Whether text is one number, known or not.
pub fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == NUMBER)
}

fn variable(name: &str, piece: &Piece, state: &State) -> Option<String> {
    match name {
        "#" | "?" | "$" | "!" => Some(NUMBER.to_string()),
        _ => match state.lookup(name) {
            Lookup::Number => Some(NUMBER.to_string()),
            Lookup::Unassigned => Some(String::new()),
            Lookup::Known(text) => without_mark(text),
            // An argument of a function, or of the shell.
            Lookup::Unknown => {
                let word = Word { pieces: vec![piece.clone()], span: Span::default() };
                field_text(&expand::value(&word, state))
            }
        },
    }
}

fn plain_variable(name: &str) -> Piece {
    Piece::Variable { name: name.to_owned(), quoted: true }
}

/// A mark for a number, if each of these is a number or nothing.
fn number_of<const N: usize>(texts: [&String; N]) -> Option<String> {
    let is_it = |text: &&String| text.is_empty() || is_number(text);
    texts.iter().all(is_it).then(|| NUMBER.to_string())
}

fn without_mark(text: &str) -> Option<String> {
    (!text.contains(NUMBER)).then(|| text.to_owned())
}
