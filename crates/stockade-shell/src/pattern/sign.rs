//! Reads the signs of a pattern, by its dialect, and compiles them.

use super::{Dialect, GlobToken, Letter, letters};

/// One sign of a pattern before it is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A letter, which means something in a class only.
    Letter(Letter),
    /// A letter that stands for itself everywhere.
    Escaped(Letter),
    /// `*`, `?` or `[`.
    Special(char),
}

impl Sign {
    /// Any run of letters.
    pub const STAR: Self = Self::Special('*');

    /// The character that it is, if it is not special.
    pub fn character(self) -> Option<char> {
        match self {
            Self::Letter(letter) | Self::Escaped(letter) => char::from_u32(letter),
            Self::Special(_) => None,
        }
    }

    fn letter(self) -> Letter {
        match self {
            Self::Letter(letter) | Self::Escaped(letter) => letter,
            Self::Special(special) => special.into(),
        }
    }

    fn is(self, wanted: char) -> bool {
        self == Self::Letter(wanted.into()) || self == Self::Special(wanted)
    }
}

impl From<char> for Sign {
    fn from(letter: char) -> Self {
        Self::Letter(letter.into())
    }
}

/// What a class in a pattern takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Classes {
    /// The letters that are written in it.
    AsWritten,
    /// Any letter, because a locale or an option decides.
    AnyLetter,
}

/// The special letters of a dialect, and whether `\` takes away the meaning of the next letter.
fn special_letters(dialect: Dialect) -> (&'static [char], bool) {
    match dialect {
        Dialect::Stars => (&['*'], false),
        Dialect::Words => (&['*', '?'], false),
        Dialect::Name | Dialect::Find => (&['*', '?', '['], true),
    }
}

/// Whether a text has letters that do not stand for themselves.
pub(super) fn has_special(text: &[u8], dialect: Dialect) -> bool {
    let (special, escapes) = special_letters(dialect);
    text.iter().any(|byte| special.contains(&char::from(*byte)) || escapes && *byte == b'\\')
}

/// The signs of a text.
pub(super) fn lex(text: &[u8], dialect: Dialect) -> Vec<Sign> {
    let (special, escapes) = special_letters(dialect);
    let mut signs = Vec::with_capacity(text.len());
    let mut letters = letters(text);
    while let Some(letter) = letters.next() {
        let sign = match char::from_u32(letter) {
            Some('\\') if escapes => letters.next().map_or(Sign::from('\\'), Sign::Escaped),
            Some(one) if special.contains(&one) => Sign::Special(one),
            _ => Sign::Letter(letter),
        };
        signs.push(sign);
    }
    signs
}

/// Compiles signs.
pub(super) fn tokens(mut signs: &[Sign], classes: Classes) -> Vec<GlobToken> {
    let mut tokens = Vec::new();
    while let [sign, rest @ ..] = signs {
        signs = rest;
        let token = match sign {
            Sign::Special('*') if tokens.last() == Some(&GlobToken::Star) => continue,
            Sign::Special('*') => GlobToken::Star,
            Sign::Special('?') => GlobToken::One,
            Sign::Special('[') => {
                let class = match classes {
                    Classes::AsWritten => class(rest),
                    Classes::AnyLetter => any_letter(rest),
                };
                match class {
                    Some((token, behind)) => {
                        signs = behind;
                        token
                    }
                    None => GlobToken::Letter('['.into()),
                }
            }
            Sign::Letter(_) | Sign::Escaped(_) | Sign::Special(_) => {
                GlobToken::Letter(sign.letter())
            }
        };
        tokens.push(token);
    }
    tokens
}

/// Reads a class behind its `[`, with what stands behind its `]`.
fn class(signs: &[Sign]) -> Option<(GlobToken, &[Sign])> {
    let (negated, mut rest) = match signs {
        [first, rest @ ..] if first.is('!') || first.is('^') => (true, rest),
        _ => (false, signs),
    };
    let mut ranges = Vec::new();
    loop {
        let [from, behind @ ..] = rest else { return None };
        if from.is(']') && !ranges.is_empty() {
            return Some((GlobToken::Class { negated, ranges }, behind));
        }
        let (to, behind) = match behind {
            [dash, to, behind @ ..] if dash.is('-') && !to.is(']') => (to, behind),
            _ => (from, behind),
        };
        ranges.push((from.letter(), to.letter()));
        rest = behind;
    }
}

/// The same for a class of which only the end matters: `]` may stand first, and `[:alpha:]` within.
fn any_letter(signs: &[Sign]) -> Option<(GlobToken, &[Sign])> {
    let mut rest = match signs {
        [first, rest @ ..] if first.is('!') || first.is('^') => rest,
        _ => signs,
    };
    rest = rest.strip_prefix(&[Sign::from(']')]).unwrap_or(rest);
    loop {
        let [sign, behind @ ..] = rest else { return None };
        if sign.is(']') {
            return Some((GlobToken::One, behind));
        }
        rest = named_class(rest).unwrap_or(behind);
    }
}

/// What stands behind `[:alpha:]`, `[.x.]` or `[=x=]`.
fn named_class(signs: &[Sign]) -> Option<&[Sign]> {
    let [open, mark, inner @ ..] = signs else { return None };
    let marked = open.is('[') && [':', '.', '='].iter().any(|kind| mark.is(*kind));
    let closes =
        |pair: &[Sign]| pair.first() == Some(mark) && pair.last().is_some_and(|last| last.is(']'));
    let end = inner.windows(2).position(closes).filter(|_| marked)?;
    inner.get(end.saturating_add(2)..)
}

/// The parts of a text with `!(a|b)` in it: before it, in it and behind it.
pub(super) fn exception(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let open = text.windows(2).position(|pair| pair == b"!(")?;
    let (before, rest) = text.split_at_checked(open)?;
    let rest = rest.strip_prefix(b"!(")?;
    let close = rest.iter().position(|byte| *byte == b')')?;
    let (others, behind) = rest.split_at_checked(close)?;
    Some((before, others, behind.strip_prefix(b")")?))
}
