//! Patterns of texts, file names and paths: the one matcher behind rules, searches, the catalog of
//! programs and the globs of a shell.
//!
//! A text is lexed into signs, by the rules of its [`Dialect`], and the signs are compiled into
//! tokens, which are the same for all dialects. A letter is a character, or one byte of a text
//! that is not UTF-8.

mod path;
mod set;
mod sign;

use super::expand::{Bit, Field};
pub use path::{MatchState, PathGlob, PathPart};
pub use set::PatternSet;
pub use sign::Sign;
use sign::{Classes, exception, has_special, lex, tokens};

/// Which letters of a text are special.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Words of rules: `*` is any run of letters.
    Stars,
    /// Words in the catalog of programs: `*`, and `?` for one letter.
    Words,
    /// One name of a path, as in gitignore: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a letter
    /// that is not special. `!(a|b)` is any text but these, as in bash.
    Name,
    /// What `find -name` takes: as [`Dialect::Name`], but a class may be any letter, because it
    /// depends on the locale, and there is no `!(a|b)`.
    Find,
}

/// When two letters are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Only if they are identical.
    Exact,
    /// Also if they differ in the case of an ASCII letter.
    Ascii,
    /// Also if their lowercase forms are the same.
    Unicode,
}

/// A character by its number, or a byte that is in no character, behind all of them.
type Letter = u32;

const NOT_UTF8: Letter = 0x11_0000;

/// One token of a compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum GlobToken {
    Letter(Letter),
    One,
    Star,
    Class { negated: bool, ranges: Vec<(Letter, Letter)> },
}

impl GlobToken {
    fn takes(&self, letter: Letter, case: Case) -> bool {
        match self {
            Self::Letter(wanted) => is_same(*wanted, letter, case),
            Self::One => true,
            Self::Star => false,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
            }
        }
    }
}

/// A compiled pattern of one text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The letters that every match begins with; all of them if there is nothing else.
    prefix: Box<[u8]>,
    /// Between the prefix and the suffix.
    middle: Box<[GlobToken]>,
    /// The letters that every match ends with.
    suffix: Box<[u8]>,
    /// Texts that do not match although the rest of the pattern takes them.
    except: Box<[Pattern]>,
}

impl Pattern {
    /// Compiles a text. A class without an end is plain text.
    pub fn new(text: impl AsRef<[u8]>, dialect: Dialect) -> Self {
        let text = text.as_ref();
        let exception = if dialect == Dialect::Name { exception(text) } else { None };
        let Some((before, others, behind)) = exception else {
            if !has_special(text, dialect) {
                return Self::plain(text.into());
            }
            let classes =
                if dialect == Dialect::Find { Classes::AnyLetter } else { Classes::AsWritten };
            return Self::compiled(&lex(text, dialect), classes);
        };
        let around = |inner: &[u8]| Self::new([before, inner, behind].concat(), dialect);
        let except: Box<[Self]> = others.split(|byte| *byte == b'|').map(around).collect();
        let base = around(b"*");
        if base.is_literal() { base } else { Self { except, ..base } }
    }

    /// Matches one text only.
    fn plain(text: Box<[u8]>) -> Self {
        Self { prefix: text, middle: [].into(), suffix: [].into(), except: [].into() }
    }

    /// Compiles signs in which only stars are special.
    pub fn of(signs: &[Sign]) -> Self {
        Self::compiled(signs, Classes::AsWritten)
    }

    fn compiled(signs: &[Sign], classes: Classes) -> Self {
        let tokens = tokens(signs, classes);
        let letter = |token: &GlobToken| match token {
            GlobToken::Letter(letter) => Some(*letter),
            GlobToken::One | GlobToken::Star | GlobToken::Class { .. } => None,
        };
        let leading = tokens.iter().map_while(letter).count();
        let (first, rest) = tokens.split_at(leading);
        let trailing = rest.iter().rev().map_while(letter).count();
        let (middle, last) = rest.split_at(rest.len().saturating_sub(trailing));
        let bytes = |tokens: &[GlobToken]| {
            let mut text = Vec::with_capacity(tokens.len());
            tokens.iter().filter_map(letter).for_each(|letter| encode(letter, &mut text));
            text.into_boxed_slice()
        };
        Self { prefix: bytes(first), middle: middle.into(), suffix: bytes(last), except: [].into() }
    }

    /// The patterns of a path that a shell expands, one for each name of it; none if a part of the
    /// path is only known at run time. A class may be any letter.
    pub fn of_field(field: &Field) -> Option<Vec<Self>> {
        let mut signs = Vec::new();
        for bit in &field.bits {
            match bit {
                Bit::Text(text) => signs.extend(text.chars().map(Sign::from)),
                Bit::Glob(special) => signs.push(Sign::Special(*special)),
                Bit::Number | Bit::Unknown => return None,
            }
        }
        let names = signs.split(|sign| *sign == Sign::from('/'));
        Some(names.map(|name| Self::compiled(name, Classes::AnyLetter)).collect())
    }

    /// The text that this matches, if it is the only one.
    pub fn literal(&self) -> Option<&str> {
        std::str::from_utf8(&self.prefix).ok().filter(|_| self.is_literal())
    }

    /// Whether only one text matches.
    pub fn is_literal(&self) -> bool {
        self.middle.is_empty()
    }

    /// Whether every text matches.
    pub fn is_any(&self) -> bool {
        self.prefix.is_empty()
            && self.suffix.is_empty()
            && self.except.is_empty()
            && *self.middle == [GlobToken::Star]
    }

    /// The letters that every match begins with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Whether the first and the last byte match: most texts of a search fail here.
    fn may_match(&self, text: &[u8]) -> bool {
        let is_same = |own: Option<&u8>, other| own.is_none() || own == other;
        is_same(self.prefix.first(), text.first()) && is_same(self.suffix.last(), text.last())
    }

    /// Whether a text matches to the letter.
    pub fn matches(&self, text: impl AsRef<[u8]>) -> bool {
        self.matches_as(text, Case::Exact)
    }

    /// Whether a text matches, with this notion of the same letter.
    pub fn matches_as(&self, text: impl AsRef<[u8]>, case: Case) -> bool {
        let text = text.as_ref();
        let matches = match case {
            Case::Exact if self.is_literal() => text == &*self.prefix,
            Case::Exact => {
                let rest = text.strip_prefix(&*self.prefix);
                let middle = rest.and_then(|rest| rest.strip_suffix(&*self.suffix));
                middle.is_some_and(|middle| matches_tokens(&self.middle, middle, case))
            }
            Case::Ascii => self
                .without_ends(text)
                .is_some_and(|middle| matches_tokens(&self.middle, middle, case)),
            // Lowercase forms differ in length.
            Case::Unicode => matches_tokens(&self.tokens(), text, case),
        };
        matches && !self.except.iter().any(|other| other.matches_as(text, case))
    }

    /// The text between the prefix and the suffix, in whatever case those are written.
    fn without_ends<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let (first, rest) = text.split_at_checked(self.prefix.len())?;
        let (middle, last) = rest.split_at_checked(rest.len().checked_sub(self.suffix.len())?)?;
        let is_same =
            first.eq_ignore_ascii_case(&self.prefix) && last.eq_ignore_ascii_case(&self.suffix);
        is_same.then_some(middle)
    }

    /// Whether every text that the other matches is matched by this. Some are missed.
    pub fn covers(&self, other: &Self) -> bool {
        self.matches(other.sample())
    }

    /// A text that this matches and that stands for all of them: each star is a byte that is in no
    /// text, so that only a star can take it.
    pub fn sample(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for token in self.tokens() {
            match token {
                GlobToken::Letter(letter) => encode(letter, &mut text),
                GlobToken::One | GlobToken::Star | GlobToken::Class { .. } => text.push(0xff),
            }
        }
        text
    }

    fn tokens(&self) -> Vec<GlobToken> {
        let letters = |text| letters(text).map(GlobToken::Letter);
        let middle = self.middle.iter().cloned();
        letters(&self.prefix).chain(middle).chain(letters(&self.suffix)).collect()
    }
}

fn matches_tokens(tokens: &[GlobToken], text: &[u8], case: Case) -> bool {
    let takes = |token: &GlobToken, text: &[u8]| {
        let (letter, length) = decode(text);
        token.takes(letter, case).then_some(length)
    };
    let is_star = |token: &GlobToken| *token == GlobToken::Star;
    match tokens {
        [] => text.is_empty(),
        [GlobToken::Star] => true,
        _ => walk(tokens, text, is_star, takes, |token, text| next(token, text, case)),
    }
}

fn is_same(one: Letter, other: Letter, case: Case) -> bool {
    let lower = |letter: Letter| char::from_u32(letter).map(char::to_lowercase);
    one == other
        || match (case, char::from_u32(one), char::from_u32(other)) {
            (Case::Ascii, Some(one), Some(other)) => one.eq_ignore_ascii_case(&other),
            (Case::Unicode, Some(_), Some(_)) => {
                lower(one).into_iter().flatten().eq(lower(other).into_iter().flatten())
            }
            (Case::Exact, _, _) | (_, None, _) | (_, _, None) => false,
        }
}

/// The first letter of a text that is not empty, and how many bytes it has.
fn decode(text: &[u8]) -> (Letter, usize) {
    let Some(first) = text.first() else { return (NOT_UTF8, 1) };
    let length = match first {
        ..0x80 => return (Letter::from(*first), 1),
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
        0x80..0xc0 => 1,
    };
    let character = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let letter = character.and_then(|text| text.chars().next()).map(Letter::from);
    letter.map_or((NOT_UTF8.saturating_add(Letter::from(*first)), 1), |letter| (letter, length))
}

/// Appends a letter to a text.
fn encode(letter: Letter, text: &mut Vec<u8>) {
    match char::from_u32(letter) {
        Some(letter) => text.extend(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.extend(u8::try_from(letter.saturating_sub(NOT_UTF8))),
    }
}

fn letters(mut text: &[u8]) -> impl Iterator<Item = Letter> {
    std::iter::from_fn(move || {
        let (letter, length) = decode(text);
        text = text.get(length..)?;
        Some(letter)
    })
}

/// How far the next place is at which a token can match.
fn next(token: Option<&GlobToken>, text: &[u8], case: Case) -> usize {
    let length = decode(text).1;
    let ascii = match token {
        Some(GlobToken::Letter(letter)) if case != Case::Unicode => u8::try_from(*letter).ok(),
        Some(_) | None => None,
    };
    let Some(wanted) = ascii.filter(u8::is_ascii) else { return length };
    let rest = text.get(length..).unwrap_or_default();
    let found = match case {
        Case::Exact => rest.iter().position(|byte| *byte == wanted),
        Case::Ascii | Case::Unicode => rest.iter().position(|b| b.eq_ignore_ascii_case(&wanted)),
    };
    length.saturating_add(found.unwrap_or(rest.len()))
}

/// Whether a pattern takes a whole text. The walk goes back to the last star only, so its time is
/// bounded by the product of the lengths. `takes` is how much of the text a sign takes, and `next`
/// how much more a star takes, so that the sign behind it can match.
fn walk<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    takes: impl Fn(&P, &[T]) -> Option<usize>,
    next: impl Fn(Option<&P>, &[T]) -> usize,
) -> bool {
    let (mut signs, mut rest) = (pattern, text);
    let mut star: Option<(&[P], &[T])> = None;
    while !rest.is_empty() {
        match signs {
            [sign, behind @ ..] if is_star(sign) => {
                star = Some((behind, rest));
                signs = behind;
                continue;
            }
            [sign, behind @ ..] => {
                if let Some(after) = takes(sign, rest).and_then(|length| rest.get(length..)) {
                    (signs, rest) = (behind, after);
                    continue;
                }
            }
            [] => {}
        }
        let Some((behind, from)) = star else { return false };
        let after = from.get(next(behind.first(), from)..).unwrap_or_default();
        star = Some((behind, after));
        (signs, rest) = (behind, after);
    }
    signs.iter().all(is_star)
}

#[cfg(test)]
mod tests;
