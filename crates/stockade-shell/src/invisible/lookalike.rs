//! Names of commands that look like other names.

use super::joined::LineChars;
use super::{class, confusable};

/// A name that is taken for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookalike {
    /// The ASCII name that it resembles; letters that are like none in ASCII stay as they are.
    pub resembles: String,
    /// In what way.
    pub kind: LookalikeKind,
}

/// Why a name is taken for another; the first that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LookalikeKind {
    /// There are characters in it that are not seen.
    Hidden,
    /// Each of its characters, or a whole word of it, looks like ASCII and is not.
    Confusable,
    /// A word of it has Latin letters beside those of a script that shares their shapes.
    MixedScript,
}

impl LookalikeKind {
    /// The short name, for reports and rules.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Confusable => "confusable",
            Self::MixedScript => "mixed-script",
        }
    }
}

/// The ASCII name that a command's name or path resembles without being it.
///
/// Judged word by word (`сборка.sh` is two, of one script each), so that names in other languages
/// are no finding unless they look like ASCII throughout. ASCII that looks like other ASCII (`1s`)
/// is not found: which names there are is for the knowledge base to say.
///
/// ```
/// use stockade_shell::invisible::lookalike;
///
/// assert_eq!(lookalike("s\u{455}h").map(|found| found.resembles), Some("ssh".to_owned()));
/// assert_eq!(lookalike("übersetze.sh"), None);
/// ```
pub fn lookalike(name: &str) -> Option<Lookalike> {
    if class::is_plain(name) {
        return None;
    }
    let mut seen = String::with_capacity(name.len());
    let mut kind = None;
    for (_, c, hidden) in LineChars::new(name) {
        if hidden.is_some() {
            kind = Some(LookalikeKind::Hidden);
        } else {
            seen.push(c);
        }
    }
    let mut resembles = String::with_capacity(seen.len());
    let words = seen.split_inclusive(|c: char| !c.is_alphanumeric());
    for word in words {
        let (word, end) = split_end(word);
        let (like, likeness) = read(word);
        resembles.push_str(&like);
        kind = strongest(kind, likeness);
        if let Some(end) = end {
            let ascii = confusable::ascii_of(end);
            kind = strongest(kind, ascii.map(|_| LookalikeKind::Confusable));
            resembles.push(ascii.unwrap_or(end));
        }
    }
    kind.map(|kind| Lookalike { resembles, kind })
}

/// The first in the order of kinds.
fn strongest(one: Option<LookalikeKind>, other: Option<LookalikeKind>) -> Option<LookalikeKind> {
    one.into_iter().chain(other).min()
}

/// A word and the character that ends it, if that is none of a word.
fn split_end(word: &str) -> (&str, Option<char>) {
    match word.char_indices().next_back() {
        Some((at, end)) if !end.is_alphanumeric() => {
            (word.get(..at).unwrap_or_default(), Some(end))
        }
        _ => (word, None),
    }
}

/// What a word of letters and digits looks like.
fn read(word: &str) -> (String, Option<LookalikeKind>) {
    if word.is_ascii() {
        return (word.to_owned(), None);
    }
    let ascii = |c: char| if c.is_ascii() { Some(c) } else { confusable::ascii_of(c) };
    if let Some(whole) = word.chars().map(ascii).collect::<Option<String>>() {
        return (whole, Some(LookalikeKind::Confusable));
    }
    let latin = word.chars().any(is_latin);
    if !latin || !word.chars().any(shares_shapes) {
        return (word.to_owned(), None);
    }
    let near = |c: char| if c.is_ascii() { c } else { confusable::near_ascii_of(c).unwrap_or(c) };
    (word.chars().map(near).collect(), Some(LookalikeKind::MixedScript))
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}')
}

/// Letters of the scripts that grew from the same root as Latin or were cut to look like it, and
/// any other that looks like a letter of ASCII. A name of Latin and Chinese is no trick.
fn shares_shapes(c: char) -> bool {
    let script = matches!(c,
        '\u{370}'..='\u{52f}' | '\u{531}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}'
        | '\u{13a0}'..='\u{13ff}' | '\u{1400}'..='\u{167f}' | '\u{1c80}'..='\u{1cbf}'
        | '\u{1d26}'..='\u{1d2b}' | '\u{1f00}'..='\u{1fff}' | '\u{2c80}'..='\u{2cff}'
        | '\u{2de0}'..='\u{2dff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{a640}'..='\u{a69f}'
        | '\u{ab70}'..='\u{abbf}' | '\u{10280}'..='\u{1034f}' | '\u{10400}'..='\u{1052f}'
        | '\u{118a0}'..='\u{118ff}');
    script || (!c.is_ascii() && !is_latin(c) && confusable::ascii_of(c).is_some())
}
