//! From one word of a line to the words that a program gets, as far as the shell's state says.

use super::ast::{Operation, Piece, Script, Span, Statement, StatementKind, Word};
use super::braces;
use super::fields::Maker;
use super::modified;
use super::state::{Lookup, State};

/// What a process substitution becomes. The number varies, and no program can tell one
/// descriptor's name from another's.
pub const SUBSTITUTED: &str = "/dev/fd/63";

/// Bytes that the expansions of one word may become and still be known.
const EXPANDED_MAX: usize = 64 << 10;

/// One word that a program gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// What it is made of.
    pub bits: Vec<Bit>,
    /// Whether it is one word whatever its unknown parts are.
    pub single: bool,
    /// Whether its text rests on a variable not being set.
    pub assumed: bool,
    /// Whether it is written as an array: `a=(b c)`.
    pub compound: bool,
    /// The word of the line that it comes from.
    pub span: Span,
}

/// A part of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bit {
    /// This text.
    Text(String),
    /// A character that stands for others: `*`, `?`, `[` up to `]`.
    Glob(char),
    /// A number that is known in the run alone: digits, perhaps with a minus in front.
    Number,
    /// Something that is known in the run alone.
    Unknown,
}

/// What a word is expanded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A word of a command: braces, splitting and patterns.
    Argument,
    /// A value: none of these.
    Value,
}

/// A character or an expansion, before fields are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    Char {
        c: char,
        quoted: bool,
    },
    /// Quotes around nothing: there is a word, though it is empty.
    Quotes,
    /// What an expansion becomes.
    Hole {
        value: Hole,
        quoted: bool,
    },
}

/// What an expansion becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hole {
    Text(String),
    /// Where the variable has no value.
    Assumed(String),
    Fields(Vec<Field>),
    /// A number.
    Number,
    /// One word, of which nothing is known.
    Unknown,
}

impl Hole {
    /// Bytes of known text.
    fn len(&self) -> usize {
        let bit = |bit: &Bit| if let Bit::Text(text) = bit { text.len() } else { 1 };
        match self {
            Self::Text(text) | Self::Assumed(text) => text.len(),
            Self::Fields(fields) => fields.iter().flat_map(|field| &field.bits).map(bit).sum(),
            Self::Number | Self::Unknown => 0,
        }
    }
}

impl Atom {
    pub(super) fn plain(c: char) -> Self {
        Self::Char { c, quoted: false }
    }
}

impl Field {
    /// A field of known text.
    pub fn of(text: impl Into<String>, span: Span) -> Self {
        Self { bits: vec![Bit::Text(text.into())], ..Self::empty(span) }
    }

    /// A field without anything in it.
    pub(super) fn empty(span: Span) -> Self {
        Self { bits: Vec::new(), single: true, assumed: false, compound: false, span }
    }

    /// A field of which nothing is known.
    pub fn unknown(span: Span) -> Self {
        Self { bits: vec![Bit::Unknown], ..Self::empty(span) }
    }

    /// The text that the program gets, where that is known.
    pub fn known(&self) -> Option<String> {
        if self.assumed { None } else { self.likely() }
    }

    /// The same, also where it rests on a variable not being set.
    pub fn likely(&self) -> Option<String> {
        let mut text = String::new();
        for bit in &self.bits {
            match bit {
                Bit::Text(part) => text.push_str(part),
                Bit::Glob(_) | Bit::Number | Bit::Unknown => return None,
            }
        }
        Some(text)
    }

    /// Whether it is a pattern whose text is known.
    pub fn is_pattern(&self) -> bool {
        !self.bits.iter().any(|bit| matches!(bit, Bit::Number | Bit::Unknown))
            && self.bits.iter().any(|bit| matches!(bit, Bit::Glob(_)))
    }

    /// Whether it is one word, whatever its unknown parts are and whatever a pattern meets.
    pub fn is_one(&self) -> bool {
        self.single && !self.bits.iter().any(|bit| matches!(bit, Bit::Glob(_)))
    }

    /// What is known behind the last part that is not, with patterns as they are written.
    pub fn tail(&self) -> Option<String> {
        let last = self.bits.iter().rposition(|bit| matches!(bit, Bit::Number | Bit::Unknown))?;
        let bits = self.bits.get(last.saturating_add(1)..)?.to_vec();
        Some(Self { bits, ..Self::empty(self.span) }.shown())
    }

    /// The text with patterns as they are written, and `…` for what is not known.
    pub fn shown(&self) -> String {
        let mut text = String::new();
        for bit in &self.bits {
            match bit {
                Bit::Text(part) => text.push_str(part),
                Bit::Glob(c) => text.push(*c),
                Bit::Number | Bit::Unknown => text.push('…'),
            }
        }
        text
    }
}

/// The words that a program gets for one of the line.
///
/// Commands in it are not run and not looked at here; what they print is unknown.
pub fn expand(word: &Word, state: &State, purpose: Use) -> Vec<Field> {
    if let Some(field) = plain(word) {
        return vec![field];
    }
    let atoms = atoms(word, state);
    let alternatives = match purpose {
        Use::Value => vec![atoms],
        Use::Argument => braces::expand(&atoms),
    };
    let mut fields = Vec::new();
    for atoms in alternatives {
        let atoms = with_home(atoms, state);
        fields.extend(Maker::new(state, purpose, word.span).make(&atoms));
    }
    if word.pieces.iter().any(|piece| matches!(piece, Piece::Array(_))) {
        for field in &mut fields {
            field.compound = true;
        }
    }
    fields
}

/// A value: one text, if it is known.
pub fn value(word: &Word, state: &State) -> Field {
    let mut fields = expand(word, state, Use::Value).into_iter();
    let first = fields.next().unwrap_or_else(|| Field::of("", word.span));
    match fields.next() {
        None => first,
        Some(_) => Field::unknown(word.span),
    }
}

/// The word if it is text without anything to expand: most are.
fn plain(word: &Word) -> Option<Field> {
    let mut text = String::new();
    for piece in &word.pieces {
        let Piece::Text { text: part, quoted } = piece else { return None };
        if !quoted && part.contains(['{', '~', '*', '?', '[']) {
            return None;
        }
        text.push_str(part);
    }
    (!word.pieces.is_empty()).then(|| Field::of(text, word.span))
}

fn atoms(word: &Word, state: &State) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let mut room = EXPANDED_MAX;
    for piece in &word.pieces {
        if let Some(Atom::Hole { value, .. }) = atoms.last_mut() {
            match room.checked_sub(value.len()) {
                Some(rest) => room = rest,
                None => *value = Hole::Unknown,
            }
        }
        match piece {
            Piece::Text { text, quoted: true } if text.is_empty() => atoms.push(Atom::Quotes),
            Piece::Text { text, quoted } => {
                atoms.extend(text.chars().map(|c| Atom::Char { c, quoted: *quoted }));
            }
            Piece::Variable { name, quoted: true } if name == "*" => {
                atoms.push(Atom::Hole { value: joined(state), quoted: true });
            }
            Piece::Variable { name, quoted } => {
                atoms.push(Atom::Hole { value: variable(name, state), quoted: *quoted });
            }
            Piece::Parameter { name, operation, quoted } => {
                atoms
                    .push(Atom::Hole { value: parameter(name, operation, state), quoted: *quoted });
            }
            Piece::Command { script, quoted } => {
                let value = match state.folders() {
                    [folder] if prints_the_folder(script, state) => {
                        folder.to_str().map_or(Hole::Unknown, |path| Hole::Text(path.to_owned()))
                    }
                    _ => Hole::Unknown,
                };
                atoms.push(Atom::Hole { value, quoted: *quoted });
            }
            Piece::Arithmetic(_) => atoms.push(Atom::Hole { value: Hole::Number, quoted: true }),
            Piece::Process { .. } => {
                atoms.push(Atom::Hole { value: Hole::Text(SUBSTITUTED.to_owned()), quoted: true });
            }
            Piece::Array(_) | Piece::Opaque => {
                atoms.push(Atom::Hole { value: Hole::Unknown, quoted: false });
            }
        }
    }
    atoms
}

/// `$(pwd)`, which is the one substitution that many lines have and that can be known.
fn prints_the_folder(script: &Script, state: &State) -> bool {
    let [Statement { kind: StatementKind::Simple(simple), redirects, .. }] =
        script.statements.as_slice()
    else {
        return false;
    };
    let [word] = simple.words.as_slice() else { return false };
    let is_pwd = plain(word).and_then(|field| field.known()).as_deref() == Some("pwd");
    is_pwd
        && redirects.is_empty()
        && simple.assignments.is_empty()
        && state.function("pwd").is_empty()
        && state.alias("pwd").is_none()
        && state.altered().is_none()
}

fn variable(name: &str, state: &State) -> Hole {
    match name {
        "@" | "*" => match state.positional() {
            Some(fields) => Hole::Fields(fields.to_vec()),
            None => Hole::Unknown,
        },
        "#" => match state.positional() {
            Some(fields) if fields.iter().all(Field::is_one) => {
                Hole::Text(fields.len().to_string())
            }
            Some(_) | None => Hole::Number,
        },
        "?" | "$" | "!" => Hole::Number,
        _ => match name.parse::<usize>() {
            Ok(number) if number > 0 => argument(number, state),
            Ok(_) | Err(_) => match state.lookup(name) {
                Lookup::Known(text) => Hole::Text(text.to_owned()),
                Lookup::Number => Hole::Number,
                Lookup::Unknown | Lookup::Unassigned => Hole::Unknown,
            },
        },
    }
}

/// `"$*"`: all words as one.
fn joined(state: &State) -> Hole {
    let fields = state.positional().filter(|_| state.splits_as_usual());
    let texts = fields.and_then(|fields| fields.iter().map(Field::known).collect());
    texts.map_or(Hole::Unknown, |texts: Vec<String>| Hole::Text(texts.join(" ")))
}

/// `$1`: a word of the function's call.
fn argument(number: usize, state: &State) -> Hole {
    let Some(at) = number.checked_sub(1) else { return Hole::Unknown };
    let Some(fields) = state.positional() else { return Hole::Unknown };
    let before = fields.get(..at).unwrap_or(fields);
    if !before.iter().all(Field::is_one) {
        return Hole::Unknown;
    }
    match fields.get(at) {
        Some(field) => Hole::Fields(vec![field.clone()]),
        None => Hole::Text(String::new()),
    }
}

fn parameter(name: &str, operation: &Operation, state: &State) -> Hole {
    let word_for = |word: &Word| value(word, state);
    match (operation, state.lookup(name)) {
        (Operation::Length(_), _) => Hole::Number,
        (
            Operation::Default(_) | Operation::Assign(_) | Operation::Error(_),
            Lookup::Known(text),
        ) if !text.is_empty() => Hole::Text(text.to_owned()),
        (Operation::Default(word) | Operation::Assign(word), Lookup::Unassigned) => {
            word_for(word).likely().map_or(Hole::Unknown, Hole::Assumed)
        }
        (Operation::Default(word) | Operation::Assign(word), Lookup::Known(_)) => {
            // Known and empty: with a colon the word, without it nothing. The word is the worse.
            word_for(word).likely().map_or(Hole::Unknown, Hole::Assumed)
        }
        (Operation::Alternative(word), Lookup::Known(_)) => {
            word_for(word).likely().map_or(Hole::Unknown, Hole::Assumed)
        }
        // Options of the shell may change what a pattern meets.
        (Operation::Other { prefixed: false, expressions, words }, Lookup::Known(text)) => {
            modified::apply(text, expressions, words).map_or(Hole::Unknown, Hole::Assumed)
        }
        (
            Operation::Default(_)
            | Operation::Assign(_)
            | Operation::Alternative(_)
            | Operation::Error(_)
            | Operation::Other { .. },
            _,
        ) => Hole::Unknown,
    }
}

/// The home folder for a `~` that stands first, or behind what looks like an assignment: `if=~/x`.
fn with_home(mut atoms: Vec<Atom>, state: &State) -> Vec<Atom> {
    let is_name = |atom: &&Atom| match atom {
        Atom::Char { c, quoted: false } => c.is_ascii_alphanumeric() || *c == '_',
        Atom::Char { .. } | Atom::Quotes | Atom::Hole { .. } => false,
    };
    let name = atoms.iter().take_while(is_name).count();
    if name > 0 && atoms.get(name) == Some(&Atom::plain('=')) {
        let value = atoms.split_off(name.saturating_add(1));
        atoms.extend(with_first_home(value, state));
        return atoms;
    }
    with_first_home(atoms, state)
}

fn with_first_home(atoms: Vec<Atom>, state: &State) -> Vec<Atom> {
    if atoms.first() != Some(&Atom::plain('~')) {
        return atoms;
    }
    let is_slash = |atom: &Atom| matches!(atom, Atom::Char { c: '/', quoted: false });
    let end = atoms.iter().position(is_slash).unwrap_or(atoms.len());
    let name: Option<String> = atoms
        .get(1..end)
        .unwrap_or_default()
        .iter()
        .map(|atom| match atom {
            Atom::Char { c, quoted: false } => Some(*c),
            Atom::Char { .. } | Atom::Quotes | Atom::Hole { .. } => None,
        })
        .collect();
    let Some(name) = name else { return atoms };
    let variable = match name.as_str() {
        "" => "HOME",
        "+" => "PWD",
        "-" => "OLDPWD",
        _ => "",
    };
    let is_user = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let value = match state.lookup(variable) {
        // The list of users may name another folder.
        _ if name == "root" => Hole::Assumed("/root".to_owned()),
        _ if name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(is_user) => {
            Hole::Assumed(format!("/home/{name}"))
        }
        Lookup::Known(text) => Hole::Text(text.to_owned()),
        Lookup::Number | Lookup::Unknown | Lookup::Unassigned => Hole::Unknown,
    };
    let rest = atoms.into_iter().skip(end);
    [Atom::Hole { value, quoted: true }].into_iter().chain(rest).collect()
}
