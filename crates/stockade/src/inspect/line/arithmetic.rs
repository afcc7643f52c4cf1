//! Arithmetic in a line: it evaluates what is in variables, runs what stands in a subscript there,
//! and sets variables too.

use super::{CODE_UNKNOWN, Walker};
use crate::shell::evaluated::{
    NUMBER, holds_number, is_number, is_plain_expression, is_plain_reference, word_text,
};
use crate::shell::state::{Attribute, State};
use crate::shell::tree::{Piece, Span, Word};

pub(super) const EVALUATED: &str =
    "arithmetic evaluates what is in a variable, and what that holds is not known before the run";
pub(super) const NAMED: &str =
    "the shell evaluates this as the name of a variable, and it is not known before the run";

/// What assigns, after a name.
const ASSIGNING: [&str; 12] =
    ["++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="];

/// What a variable is given: text with marks for numbers, if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Given<'g> {
    /// In place of what it held.
    Text(Option<&'g str>),
    /// Behind what it held, or added to it.
    More(Option<&'g str>),
}

impl Walker<'_> {
    /// `(( … ))` and `$(( … ))`
    pub(super) fn arithmetic(&mut self, words: &[Word], span: Span, state: &mut State) {
        for word in words {
            self.word(word, state);
        }
        if words.iter().any(|word| is_evaluated(word, state)) {
            self.evaluates(span, EVALUATED);
        }
        for word in words {
            assign(&text_of(word), state);
        }
    }

    /// Text of which a builtin makes arithmetic.
    pub(super) fn expression(&mut self, text: Option<&str>, span: Span, state: &mut State) {
        if !text.is_some_and(|text| is_plain_expression(text, state)) {
            self.evaluates(span, EVALUATED);
        }
        match text {
            Some(text) => assign(&text.replace(NUMBER, &HOLE.to_string()), state),
            None => state.forget(),
        }
    }

    /// A value for a variable, which is evaluated where that is an integer or a name for another.
    pub(super) fn given(&mut self, name: &str, given: Given<'_>, span: Span, state: &State) {
        let (Given::Text(text) | Given::More(text)) = given;
        self.prompt(name, text, span, state);
        let is_plain = |text: &str| is_plain_expression(text, state);
        if state.is(name, Attribute::Integer) {
            // What is there is evaluated once more where something is added to it.
            let is_held = matches!(given, Given::More(_)) && !holds_number(name, state);
            if is_held || !text.is_some_and(is_plain) {
                self.evaluates(span, EVALUATED);
            }
        }
        if state.is(name, Attribute::Reference)
            && !text.is_some_and(|text| !text.contains('[') && is_plain(text))
        {
            self.evaluates(span, NAMED);
        }
    }

    /// Prompts are expanded each time that they are shown, that of `set -x` before each command.
    fn prompt(&mut self, name: &str, text: Option<&str>, span: Span, state: &State) {
        let code = match (name, text) {
            ("PROMPT_COMMAND", Some(text)) => text.to_owned(),
            ("PS0" | "PS1" | "PS2" | "PS4", Some(text)) => {
                format!(": \"{}\"", text.replace('"', "\\\""))
            }
            ("PROMPT_COMMAND" | "PS0" | "PS1" | "PS2" | "PS4", None) => {
                self.dynamic(span, CODE_UNKNOWN);
                return;
            }
            _ => return,
        };
        if name == "PROMPT_COMMAND" || code.contains(['$', '`']) {
            self.dynamic(span, "the shell runs the commands in its prompts");
            self.code(&code, None, span, &mut state.clone());
        }
    }

    /// The subscript in `a[…]=b`.
    pub(super) fn subscript(&mut self, name: &str, word: &Word, state: &mut State) {
        self.word(word, state);
        if !state.is(name, Attribute::Keyed) && is_evaluated(word, state) {
            self.evaluates(word.span, EVALUATED);
        }
        assign(&text_of(word), state);
    }

    /// The name of a variable in a word: `-v NAME`.
    pub(super) fn named(&mut self, word: &Word, span: Span, state: &State) {
        if !word_text(word, state).is_some_and(|text| is_plain_reference(&text, state)) {
            self.evaluates(span, NAMED);
        }
    }
}

/// Whether something in a word of arithmetic may be more than a number.
pub(super) fn is_evaluated(word: &Word, state: &State) -> bool {
    !word_text(word, state).is_some_and(|text| is_plain_expression(&text, state))
}

/// Sets a variable to what is known of a value.
pub(super) fn set_to(name: &str, text: Option<String>, state: &mut State) {
    match text {
        Some(text) if text.contains(NUMBER) && is_number(&text) => state.set_number(name),
        Some(text) if text.contains(NUMBER) => state.set(name, None),
        text => state.set(name, text),
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
