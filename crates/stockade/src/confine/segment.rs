//! One segment of a path in gitignore's form: `*`, `?`, `[…]`, and `\` before what is meant as it is.
//! `!(a|b)`, as in bash, means any text but these.

use crate::knowledge::wild;

/// A segment that is not plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    items: Vec<Item>,
    /// What is not meant although the items take it.
    except: Vec<Parsed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Letter(char),
    One,
    Any,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// What a segment of a pattern is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// Text alone, with its backslashes taken off.
    Plain(String),
    /// Anything else.
    Wild(Segment),
}

impl Parsed {
    /// Whether a name is meant.
    pub(crate) fn fits(&self, name: &str) -> bool {
        match self {
            Self::Plain(text) => text == name,
            Self::Wild(segment) => segment.matches(name),
        }
    }
}

impl Segment {
    /// Reads one segment. A class without an end is plain text, as in gitignore's matcher nothing
    /// else could be meant.
    pub(crate) fn parse(text: &str) -> Parsed {
        if let Some((before, others, behind)) = negation(text) {
            let except =
                others.split('|').map(|one| Self::parse(&format!("{before}{one}{behind}")));
            let except = except.collect();
            return match Self::parse(&format!("{before}*{behind}")) {
                Parsed::Wild(Self { items, .. }) => Parsed::Wild(Self { items, except }),
                Parsed::Plain(text) => Parsed::Plain(text),
            };
        }
        let mut items = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            items.push(match letter {
                '\\' => Item::Letter(letters.next().unwrap_or('\\')),
                '?' => Item::One,
                '*' if items.last() == Some(&Item::Any) => continue,
                '*' => Item::Any,
                '[' => match class(letters.as_str()) {
                    Some((item, rest)) => {
                        letters = rest.chars();
                        item
                    }
                    None => Item::Letter('['),
                },
                _ => Item::Letter(letter),
            });
        }
        let plain: Option<String> = items.iter().map(Item::letter).collect();
        plain.map_or(Parsed::Wild(Self { items, except: Vec::new() }), Parsed::Plain)
    }

    /// The text that every match begins with.
    pub(crate) fn prefix(&self) -> String {
        self.items.iter().map_while(Item::letter).collect()
    }

    /// The text that every match ends with, from its last letter on.
    pub(crate) fn reversed_suffix(&self) -> String {
        self.items.iter().rev().map_while(Item::letter).collect()
    }

    /// Whether a name matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let letters: Vec<char> = name.chars().collect();
        let takes = |item: &Item, letter: &char| item.takes(*letter);
        wild::fits(&self.items, &letters, |item| *item == Item::Any, takes)
            && !self.except.iter().any(|other| other.fits(name))
    }
}

impl Item {
    fn letter(&self) -> Option<char> {
        match self {
            Self::Letter(letter) => Some(*letter),
            Self::One | Self::Any | Self::Class { .. } => None,
        }
    }

    fn takes(&self, letter: char) -> bool {
        match self {
            Self::Letter(wanted) => *wanted == letter,
            Self::One => true,
            Self::Any => false,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
            }
        }
    }
}

/// The parts of a segment with `!(a|b)` in it: what stands before it, in it and behind it.
fn negation(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("!(")?;
    let (others, behind) = rest.split_once(')')?;
    Some((before, others, behind))
}

/// Reads a class behind its `[`, and says what is left behind its `]`.
fn class(text: &str) -> Option<(Item, &str)> {
    let (negated, text) = match text.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut ranges = Vec::new();
    let mut letters = text.chars();
    loop {
        let from = match letters.next()? {
            ']' if !ranges.is_empty() => break,
            '\\' => letters.next()?,
            letter => letter,
        };
        let mut ahead = letters.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                letters = ahead;
                to
            }
            _ => from,
        };
        ranges.push((from, to));
    }
    Some((Item::Class { negated, ranges }, letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::{Parsed, Segment};

    #[test]
    fn a_segment_matches_as_in_gitignore() {
        for (pattern, name, expected) in [
            ("*.rs", "main.rs", true),
            ("*.rs", ".rs", true),
            ("*.rs", "main.rsx", false),
            ("?.c", "a.c", true),
            ("?.c", "ab.c", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]x]", "]", true),
            ("a[", "a[", true),
            (r"\*", "*", true),
            (r"\*", "x", false),
            ("a**b", "axxb", true),
            ("{a,b}", "a", false),
            ("[a-]", "-", true),
            (".env.!(example|*.dist)", ".env.local", true),
            (".env.!(example|*.dist)", ".env.example", false),
            (".env.!(example|*.dist)", ".env.x.dist", false),
            (".env.!(example|*.dist)", ".env.example2", true),
            (".env.!(example|*.dist)", ".env", false),
            ("a!(b", "a!(b", true),
        ] {
            let found = match Segment::parse(pattern) {
                Parsed::Plain(text) => text == name,
                Parsed::Wild(segment) => segment.matches(name),
            };
            assert_eq!(found, expected, "{pattern} {name}");
        }
    }
}
