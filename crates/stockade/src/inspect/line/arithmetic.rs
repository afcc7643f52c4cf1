//! Arithmetic in a line: it evaluates the content of variables, runs substitutions in subscripts,
//! and assigns variables.

use super::{CODE_UNKNOWN, Walker};
use crate::shell::ast::{Piece, Span, Word};
use crate::shell::evaluated::{
    NUMBER, holds_number, is_number, is_plain_expression, is_plain_reference, word_text,
};
use crate::shell::parse;
use crate::shell::state::{Attribute, State};

pub(super) const EVALUATED: &str =
    "arithmetic evaluates what is in a variable, and what that holds is not known before the run";
pub(super) const NAMED: &str =
    "the shell evaluates this as the name of a variable, and it is not known before the run";

/// Variables that hold a command which other programs give to a shell.
const COMMANDS: [&str; 18] = [
    "EDITOR",
    "FCEDIT",
    "GH_EDITOR",
    "GH_PAGER",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "HGEDITOR",
    "KUBE_EDITOR",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "VISUAL",
];

/// What assigns, after a name.
const ASSIGNING: [&str; 12] =
    ["++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="];

/// The value that a variable gets: text with marks for numbers, if known.
#[derive(Debug, Clone, Copy)]
pub(super) enum AssignedValue<'g> {
    /// Replaces the old value.
    Text(Option<&'g str>),
    /// Appends to the old value, or adds to it.
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
            self.assign(&text_of(word), span, state);
        }
    }

    /// Text that a builtin evaluates as arithmetic.
    pub(super) fn expression(&mut self, text: Option<&str>, span: Span, state: &mut State) {
        if !text.is_some_and(|text| is_plain_expression(text, state)) {
            self.evaluates(span, EVALUATED);
        }
        match text {
            Some(text) => self.assign(&text.replace(NUMBER, &HOLE.to_string()), span, state),
            None => state.forget(),
        }
    }

    /// Assigns a value, which is evaluated if the variable is an integer or a name reference.
    pub(super) fn given(
        &mut self,
        name: &str,
        given: AssignedValue<'_>,
        span: Span,
        state: &State,
    ) {
        let (AssignedValue::Text(text) | AssignedValue::More(text)) = given;
        self.prompt(name, text, span, state);
        let is_plain = |text: &str| is_plain_expression(text, state);
        if state.is(name, Attribute::Integer) {
            // Adding evaluates the old value once more.
            let is_held = matches!(given, AssignedValue::More(_)) && !holds_number(name, state);
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

    /// Prompts are expanded each time that they are shown, that of `set -x` before each command, and
    /// other variables are commands for a shell.
    pub(super) fn prompt(&mut self, name: &str, text: Option<&str>, span: Span, state: &State) {
        let code = match (name, text) {
            ("PROMPT_COMMAND", Some(text)) => text.to_owned(),
            ("PS0" | "PS1" | "PS2" | "PS4", Some(text)) => {
                format!(": \"{}\"", text.replace('"', "\\\""))
            }
            (name, Some(text)) if COMMANDS.contains(&name) => {
                // `LESSOPEN='|cmd %s'`. What is no command says nothing.
                let text = text.trim_start_matches(['|', '-']);
                if parse(text).faults.is_empty() {
                    self.code(text, None, span, &mut state.clone());
                }
                return;
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
        self.assign(&text_of(word), word.span, state);
    }

    /// The name of a variable in a word: `-v NAME`.
    pub(super) fn named(&mut self, word: &Word, span: Span, state: &State) {
        if !word_text(word, state).is_some_and(|text| is_plain_reference(&text, state)) {
            self.evaluates(span, NAMED);
        }
    }
}

/// Whether a word of arithmetic may contain more than a number.
pub(super) fn is_evaluated(word: &Word, state: &State) -> bool {
    !word_text(word, state).is_some_and(|text| is_plain_expression(&text, state))
}

/// Sets a variable to the known part of a value.
pub(super) fn set_to(name: &str, text: Option<String>, state: &mut State) {
    match text {
        Some(text) if text.contains(NUMBER) && is_number(&text) => state.set_number(name),
        Some(text) if text.contains(NUMBER) => state.set(name, None),
        text => state.set(name, text),
    }
}

/// The text of a word, with a mark for each part that is not text.
fn text_of(word: &Word) -> String {
    let text = |piece: &Piece| {
        if let Piece::Text { text, .. } = piece { text.clone() } else { HOLE.to_string() }
    };
    word.pieces.iter().map(text).collect()
}

const HOLE: char = '\0';

impl Walker<'_> {
    /// Sets the variables that arithmetic assigns to: they are numbers then.
    fn assign(&mut self, text: &str, span: Span, state: &mut State) {
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
                self.alter_if_hazard(name, span, state);
            }
            rest = after;
        }
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
