//! Brace expansion, `{a,b}` and `{1..3}`, as bash does it before everything else.

use super::expand::Atom;

/// More words than this are not made of one: `{1..99999}` is not worth its memory.
const WORDS_MAX: usize = 256;

/// The words that braces make of one; `None` if they are too many.
pub(super) fn expand(word: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    if !word.contains(&Atom::plain('{')) {
        return Some(vec![word.to_vec()]);
    }
    let mut budget = WORDS_MAX;
    let words = words(word, &mut budget, 0)?;
    (words.len() <= WORDS_MAX).then_some(words)
}

/// Braces in braces before it counts as too much.
const DEPTH_MAX: usize = 16;

fn words(word: &[Atom], budget: &mut usize, depth: usize) -> Option<Vec<Vec<Atom>>> {
    if depth > DEPTH_MAX {
        return None;
    }
    let Some(found) = first(word) else { return Some(vec![word.to_vec()]) };
    let before = word.get(..found.open)?;
    let inside = word.get(found.open.checked_add(1)?..found.close)?;
    let after = word.get(found.close.checked_add(1)?..)?;
    let deeper = depth.saturating_add(1);
    let mut middles = Vec::new();
    match &found.kind {
        Kind::List => {
            for part in parts(inside) {
                middles.extend(words(part, budget, deeper)?);
            }
        }
        Kind::Sequence(texts) => {
            middles.extend(texts.iter().map(|text| text.chars().map(Atom::plain).collect()));
        }
    }
    let endings = words(after, budget, deeper)?;
    let mut made = Vec::new();
    for middle in &middles {
        for ending in &endings {
            *budget = budget.checked_sub(1)?;
            made.push([before, middle, ending].concat());
        }
    }
    Some(made)
}

/// One brace that expands.
struct Brace {
    open: usize,
    close: usize,
    kind: Kind,
}

enum Kind {
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
            return Some(Brace { open, close, kind: Kind::List });
        }
        if let Some(texts) = sequence(inside) {
            return Some(Brace { open, close, kind: Kind::Sequence(texts) });
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
