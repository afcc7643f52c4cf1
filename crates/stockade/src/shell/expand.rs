//! From one word of a line to the words that a program gets, as far as the shell's state says.

use super::braces;
use super::state::{Lookup, State};
use super::tree::{Operation, Piece, Span, Word};

/// One word that a program gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// What it is made of.
    pub bits: Vec<Bit>,
    /// Whether it is one word whatever its unknown parts are.
    pub single: bool,
    /// Whether its text rests on a variable not being set.
    pub assumed: bool,
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
    /// One word, of which nothing is known.
    Unknown,
}

impl Atom {
    pub(super) fn plain(c: char) -> Self {
        Self::Char { c, quoted: false }
    }
}

impl Field {
    /// A field of known text.
    pub fn of(text: impl Into<String>, span: Span) -> Self {
        Self { bits: vec![Bit::Text(text.into())], single: true, assumed: false, span }
    }

    /// A field of which nothing is known.
    pub fn unknown(span: Span) -> Self {
        Self { bits: vec![Bit::Unknown], single: true, assumed: false, span }
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
                Bit::Glob(_) | Bit::Unknown => return None,
            }
        }
        Some(text)
    }

    /// Whether it is a pattern whose text is known.
    pub fn is_pattern(&self) -> bool {
        !self.bits.contains(&Bit::Unknown)
            && self.bits.iter().any(|bit| matches!(bit, Bit::Glob(_)))
    }

    /// The text with patterns as they are written, and `…` for what is not known.
    pub fn shown(&self) -> String {
        let mut text = String::new();
        for bit in &self.bits {
            match bit {
                Bit::Text(part) => text.push_str(part),
                Bit::Glob(c) => text.push(*c),
                Bit::Unknown => text.push('…'),
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
        Use::Value => Some(vec![atoms]),
        Use::Argument => braces::expand(&atoms),
    };
    let Some(alternatives) = alternatives else {
        return vec![Field { single: false, ..Field::unknown(word.span) }];
    };
    let mut fields = Vec::new();
    for atoms in alternatives {
        let atoms = with_home(atoms, state);
        let mut maker = Maker { state, purpose, span: word.span, made: Vec::new(), open: None };
        maker.make(&atoms);
        fields.append(&mut maker.made);
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
    for piece in &word.pieces {
        match piece {
            Piece::Text { text, quoted: true } if text.is_empty() => atoms.push(Atom::Quotes),
            Piece::Text { text, quoted } => {
                atoms.extend(text.chars().map(|c| Atom::Char { c, quoted: *quoted }));
            }
            Piece::Variable { name, quoted } => {
                atoms.push(Atom::Hole { value: variable(name, state), quoted: *quoted });
            }
            Piece::Parameter { name, operation, quoted } => {
                atoms
                    .push(Atom::Hole { value: parameter(name, operation, state), quoted: *quoted });
            }
            Piece::Command { quoted, .. } => {
                atoms.push(Atom::Hole { value: Hole::Unknown, quoted: *quoted });
            }
            Piece::Arithmetic(_) => atoms.push(Atom::Hole { value: Hole::Unknown, quoted: true }),
            // The number varies, and no program can tell one descriptor's name from another's.
            Piece::Process { .. } => {
                atoms.push(Atom::Hole { value: Hole::Text("/dev/fd/63".to_owned()), quoted: true });
            }
            Piece::Array(_) | Piece::Opaque => {
                atoms.push(Atom::Hole { value: Hole::Unknown, quoted: false });
            }
        }
    }
    atoms
}

fn variable(name: &str, state: &State) -> Hole {
    match name {
        "@" | "*" => match state.positional() {
            Some(fields) => Hole::Fields(fields.to_vec()),
            None => Hole::Unknown,
        },
        "#" => match state.positional() {
            Some(fields) if fields.iter().all(|field| field.single) => {
                Hole::Text(fields.len().to_string())
            }
            Some(_) | None => Hole::Unknown,
        },
        _ => match name.parse::<usize>() {
            Ok(number) => argument(number, state),
            Err(_) => match state.lookup(name) {
                Lookup::Known(text) => Hole::Text(text.to_owned()),
                Lookup::Unknown | Lookup::Unassigned => Hole::Unknown,
            },
        },
    }
}

/// `$1`: a word of the function's call.
fn argument(number: usize, state: &State) -> Hole {
    let Some(at) = number.checked_sub(1) else { return Hole::Unknown };
    let Some(fields) = state.positional() else { return Hole::Unknown };
    let before = fields.get(..at).unwrap_or(fields);
    if !before.iter().all(|field| field.single) {
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
        (
            Operation::Default(_)
            | Operation::Assign(_)
            | Operation::Alternative(_)
            | Operation::Error(_)
            | Operation::Other(_),
            _,
        ) => Hole::Unknown,
    }
}

/// The home folder for a `~` that stands first.
fn with_home(atoms: Vec<Atom>, state: &State) -> Vec<Atom> {
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
    let value = match state.lookup(variable) {
        Lookup::Known(text) => Hole::Text(text.to_owned()),
        Lookup::Unknown | Lookup::Unassigned => Hole::Unknown,
    };
    let rest = atoms.into_iter().skip(end);
    [Atom::Hole { value, quoted: true }].into_iter().chain(rest).collect()
}

/// Makes fields of atoms.
struct Maker<'s> {
    state: &'s State,
    purpose: Use,
    span: Span,
    made: Vec<Field>,
    open: Option<Field>,
}

impl Maker<'_> {
    fn make(&mut self, atoms: &[Atom]) {
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
    }

    fn hole(&mut self, value: &Hole, quoted: bool) {
        match value {
            Hole::Text(text) => self.text(text, quoted),
            Hole::Assumed(text) => {
                self.field().assumed = true;
                self.text(text, quoted);
                if let Some(last) = self.made.last_mut().filter(|_| self.open.is_none()) {
                    last.assumed = true;
                }
            }
            Hole::Unknown => {
                let splits = !quoted && self.purpose == Use::Argument;
                let field = self.field();
                field.bits.push(Bit::Unknown);
                field.single &= !splits;
            }
            Hole::Fields(fields) => {
                for (at, field) in fields.iter().enumerate() {
                    if at > 0 {
                        self.close();
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
            Some(Bit::Glob(_) | Bit::Unknown) | None => field.bits.push(Bit::Text(c.to_string())),
        }
    }

    fn field(&mut self) -> &mut Field {
        let span = self.span;
        self.open.get_or_insert_with(|| Field {
            bits: Vec::new(),
            single: true,
            assumed: false,
            span,
        })
    }

    fn close(&mut self) {
        self.made.extend(self.open.take());
    }
}
