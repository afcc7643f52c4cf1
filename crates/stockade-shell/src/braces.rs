//! Brace expansion, `{a,b}` and `{1..3}`, as bash does it before everything else.

use super::expand::{Atom, Hole};

/// More words than this are not made of one: `{1..99999}` is not worth its memory.
const WORDS_MAX: usize = 256;

/// The words that braces make of one. A part that would make too many is left as one that is known
/// in the run alone, so that what stands beside it is still seen.
pub(super) fn expand(word: &[Atom]) -> Vec<Vec<Atom>> {
    if word.contains(&Atom::plain('{')) { words(word, 0) } else { vec![word.to_vec()] }
}

/// Braces in braces before it counts as too much.
const DEPTH_MAX: usize = 16;

fn words(word: &[Atom], depth: usize) -> Vec<Vec<Atom>> {
    let Some(found) = first(word) else { return vec![word.to_vec()] };
    let deeper = depth.saturating_add(1);
    let (before, rest) = word.split_at_checked(found.open).unwrap_or_default();
    let length = found.close.saturating_sub(found.open);
    let (inside, after) = rest.split_at_checked(length).unwrap_or_default();
    let inside = inside.get(1..).unwrap_or_default();
    let after = after.get(1..).unwrap_or_default();
    if depth > DEPTH_MAX {
        return vec![hole(Hole::Unknown)];
    }
    let mut middles = Vec::new();
    match &found.kind {
        BraceKind::List => {
            for part in parts(inside) {
                middles.extend(words(part, deeper));
                if middles.len() > WORDS_MAX {
                    middles.truncate(WORDS_MAX);
                    middles.push(hole(Hole::Unknown));
                    break;
                }
            }
        }
        BraceKind::Sequence(texts) if texts.len() > WORDS_MAX => middles.push(hole(Hole::Number)),
        BraceKind::Sequence(texts) => {
            middles.extend(texts.iter().map(|text| text.chars().map(Atom::plain).collect()));
        }
    }
    let endings = words(after, deeper);
    if middles.len().saturating_mul(endings.len()) > WORDS_MAX {
        middles = vec![hole(Hole::Unknown)];
    }
    let joined = |middle: &Vec<Atom>, ending: &Vec<Atom>| {
        [before, middle.as_slice(), ending.as_slice()].concat()
    };
    let with = |middle| endings.iter().map(move |ending| joined(middle, ending));
    middles.iter().flat_map(with).collect()
}

/// A word, or several, of which nothing is known.
fn hole(value: Hole) -> Vec<Atom> {
    vec![Atom::Hole { value, quoted: false }]
}

/// One brace that expands.
struct Brace {
    open: usize,
    close: usize,
    kind: BraceKind,
}

enum BraceKind {
    List,
    Sequence(Vec<String>),
}

/// The first brace in a word that is one.
fn first(word: &[Atom]) -> Option<Brace> {
    let opens = word.iter().enumerate().filter(|(_, atom)| **atom == Atom::plain('{'));
    for (open, _) in opens.take(WORDS_MAX) {
        let Some(close) = closing(word, open) else { continue };
        let inside = word.get(open.saturating_add(1)..close).unwrap_or_default();
        if parts(inside).len() > 1 {
            return Some(Brace { open, close, kind: BraceKind::List });
        }
        if let Some(texts) = sequence(inside) {
            return Some(Brace { open, close, kind: BraceKind::Sequence(texts) });
        }
    }
    None
}

fn closing(word: &[Atom], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, atom) in word.iter().enumerate().skip(open) {
        match atom {
            Atom::Char { c: '{', quoted: false } => depth = depth.saturating_add(1),
            Atom::Char { c: '}', quoted: false } => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            Atom::Char { .. } | Atom::Quotes | Atom::Hole { .. } => {}
        }
    }
    None
}

/// What stands between the commas of one level.
fn parts(inside: &[Atom]) -> Vec<&[Atom]> {
    let mut depth = 0_usize;
    inside
        .split(|atom| {
            match atom {
                Atom::Char { c: '{', quoted: false } => depth = depth.saturating_add(1),
                Atom::Char { c: '}', quoted: false } => depth = depth.saturating_sub(1),
                Atom::Char { .. } | Atom::Quotes | Atom::Hole { .. } => {}
            }
            depth == 0 && *atom == Atom::plain(',')
        })
        .collect()
}

/// `1..5`, `05..1..2`, `a..e`.
fn sequence(inside: &[Atom]) -> Option<Vec<String>> {
    let mut text = String::new();
    for atom in inside {
        match atom {
            Atom::Char { c, quoted: false } => text.push(*c),
            Atom::Char { .. } | Atom::Quotes | Atom::Hole { .. } => return None,
        }
    }
    let mut ends = text.split("..");
    let (from, to, step) = (ends.next()?, ends.next()?, ends.next());
    if ends.next().is_some() {
        return None;
    }
    let step = match step {
        Some(step) => step.parse::<i64>().ok()?,
        None => 1,
    };
    let step = usize::try_from(step.unsigned_abs()).ok()?.max(1);
    if let (Ok(from_number), Ok(to_number)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let width = if is_padded(from) || is_padded(to) { from.len().max(to.len()) } else { 0 };
        return Some(
            between(from_number, to_number, step).map(|n| format!("{n:0width$}")).collect(),
        );
    }
    let (mut from, mut to) = (from.chars(), to.chars());
    match (from.next(), from.next(), to.next(), to.next()) {
        (Some(first), None, Some(last), None)
            if first.is_ascii_alphabetic() && last.is_ascii_alphabetic() =>
        {
            let letters = between(i64::from(u32::from(first)), i64::from(u32::from(last)), step);
            Some(
                letters
                    .filter_map(|code| Some(char::from_u32(u32::try_from(code).ok()?)?.to_string()))
                    .collect(),
            )
        }
        _ => None,
    }
}

/// One more than is ever used, so that too many is seen as too many.
fn between(from: i64, to: i64, step: usize) -> Box<dyn Iterator<Item = i64>> {
    let most = WORDS_MAX.saturating_add(1);
    if from <= to {
        Box::new((from..=to).step_by(step).take(most))
    } else {
        Box::new((to..=from).rev().step_by(step).take(most))
    }
}

fn is_padded(number: &str) -> bool {
    let digits = number.trim_start_matches('-');
    digits.len() > 1 && digits.starts_with('0')
}
