//! Values that `${…}` changes: `${x%y}`, `${x#y}`, `${x/y/z}`, `${x,,}`, `${x:1:2}`.

use super::ast::{Piece, Word};

/// Characters of a value that a pattern with signs is tried on.
const VALUE_MAX: usize = 512;
/// Signs and characters of such a pattern.
const PATTERN_MAX: usize = 32;

/// One part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Letter(char),
    /// `?`
    One,
    /// `*`
    Any,
}

/// The value after the change; `None` where that is not simple enough to be told.
pub(super) fn apply(value: &str, expressions: &[Word], words: &[Word]) -> Option<String> {
    match (expressions, words) {
        ([], [operand]) => changed(value, &letters(operand)?),
        ([slice], []) => sliced(value, &letters(slice)?),
        _ => None,
    }
}

/// The characters of a word, each with whether it is quoted.
fn letters(word: &Word) -> Option<Vec<(char, bool)>> {
    let mut letters = Vec::new();
    for piece in &word.pieces {
        let Piece::Text { text, quoted } = piece else { return None };
        letters.extend(text.chars().map(|letter| (letter, *quoted)));
    }
    Some(letters)
}

fn changed(value: &str, operand: &[(char, bool)]) -> Option<String> {
    let (&(operator, false), rest) = operand.split_first()? else { return None };
    let doubled = rest.split_first().filter(|(second, _)| **second == (operator, false));
    let (is_double, rest) = match doubled {
        Some((_, rest)) => (true, rest),
        None => (false, rest),
    };
    match operator {
        '%' | '#' => trimmed(value, &parts(rest)?, operator, is_double),
        ',' | '^' if rest.is_empty() => {
            let change = |letter: char| match operator {
                ',' => letter.to_ascii_lowercase(),
                _ => letter.to_ascii_uppercase(),
            };
            let is_meant = |at: usize| is_double || at == 0;
            let letters = value.chars().enumerate();
            Some(letters.map(|(at, one)| if is_meant(at) { change(one) } else { one }).collect())
        }
        '/' => replaced(value, rest, is_double),
        _ => None,
    }
}

/// The value without what a pattern meets at its start or its end, the longest or the shortest.
fn trimmed(value: &str, pattern: &[Part], operator: char, longest: bool) -> Option<String> {
    let at_end = operator == '%';
    if let Some(text) = literal(pattern) {
        let rest =
            if at_end { value.strip_suffix(text.as_str()) } else { value.strip_prefix(&*text) };
        return Some(rest.unwrap_or(value).to_owned());
    }
    if value.len() > VALUE_MAX || pattern.len() > PATTERN_MAX {
        return None;
    }
    let cuts = value.char_indices().map(|(at, _)| at).chain([value.len()]);
    let mut cuts: Vec<usize> = cuts.collect();
    // The first cut that fits is taken.
    if at_end != longest {
        cuts.reverse();
    }
    for cut in cuts {
        let (before, behind) = value.split_at_checked(cut)?;
        let (kept, gone) = if at_end { (before, behind) } else { (behind, before) };
        if meets(pattern, gone) {
            return Some(kept.to_owned());
        }
    }
    Some(value.to_owned())
}

/// `/x/y`, `//x/y`, `/#x/y`, `/%x/y` with text for a pattern.
fn replaced(value: &str, operand: &[(char, bool)], everywhere: bool) -> Option<String> {
    let (anchor, operand) = match operand.split_first() {
        Some((&(sign @ ('#' | '%'), false), rest)) if !everywhere => (Some(sign), rest),
        _ => (None, operand),
    };
    let mut sides = operand.splitn(2, |letter| *letter == ('/', false));
    let pattern = literal(&parts(sides.next()?)?)?;
    let text: String = sides.next().unwrap_or_default().iter().map(|(letter, _)| letter).collect();
    // A `&` may stand for what was met, and `~` for a home.
    if text.contains(['&', '~']) {
        return None;
    }
    Some(match anchor {
        _ if pattern.is_empty() && anchor.is_none() => value.to_owned(),
        Some('#') => match value.strip_prefix(&*pattern) {
            Some(rest) => format!("{text}{rest}"),
            None => value.to_owned(),
        },
        Some(_) => match value.strip_suffix(&*pattern) {
            Some(rest) => format!("{rest}{text}"),
            None => value.to_owned(),
        },
        None if everywhere => value.replace(&*pattern, &text),
        None => value.replacen(&*pattern, &text, 1),
    })
}

/// `:1`, `:1:2`, `: -2`
fn sliced(value: &str, operand: &[(char, bool)]) -> Option<String> {
    let text: String = operand.iter().map(|(letter, _)| letter).collect();
    let mut numbers = text.strip_prefix(':')?.split(':');
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let (offset, length) = (number(numbers.next()?)?, numbers.next().map(number));
    if numbers.next().is_some() {
        return None;
    }
    let letters: Vec<char> = value.chars().collect();
    let count = i64::try_from(letters.len()).ok()?;
    let from = if offset < 0 { count.checked_add(offset)? } else { offset.min(count) };
    let to = match length {
        None => count,
        Some(length) => match length? {
            length if length < 0 => count.checked_add(length)?,
            length => from.checked_add(length)?.min(count),
        },
    };
    let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
    // Out of its bounds it is empty, or an error.
    Some(letters.get(range).unwrap_or_default().iter().collect())
}

/// The parts of a pattern; `None` where it has classes, escapes or extended patterns.
fn parts(letters: &[(char, bool)]) -> Option<Vec<Part>> {
    let part = |letter: &(char, bool)| match letter {
        ('*', false) => Some(Part::Any),
        ('?', false) => Some(Part::One),
        ('[' | '(' | '\\' | '~', false) => None,
        (letter, _) => Some(Part::Letter(*letter)),
    };
    letters.iter().map(part).collect()
}

/// The text of a pattern that has no signs.
fn literal(pattern: &[Part]) -> Option<String> {
    let letter = |part: &Part| match part {
        Part::Letter(letter) => Some(*letter),
        Part::One | Part::Any => None,
    };
    pattern.iter().map(letter).collect()
}

/// Whether a pattern meets the whole of a text.
fn meets(pattern: &[Part], text: &str) -> bool {
    let mut pattern_at = 0_usize;
    let letters: Vec<char> = text.chars().collect();
    let mut at = 0_usize;
    // Where the last star stands, and what it has met so far.
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = letters.get(at) {
        match pattern.get(pattern_at) {
            Some(Part::Any) => {
                star = Some((pattern_at, at));
                pattern_at = pattern_at.saturating_add(1);
            }
            Some(part) if *part == Part::One || *part == Part::Letter(*letter) => {
                pattern_at = pattern_at.saturating_add(1);
                at = at.saturating_add(1);
            }
            Some(_) | None => {
                let Some((place, met)) = star else { return false };
                star = Some((place, met.saturating_add(1)));
                pattern_at = place.saturating_add(1);
                at = met.saturating_add(1);
            }
        }
    }
    let rest = pattern.get(pattern_at..).unwrap_or_default();
    rest.iter().all(|part| *part == Part::Any)
}

#[cfg(test)]
mod tests {
    use crate::ast::StatementKind;
    use crate::expand::value;
    use crate::parse;
    use crate::state::State;

    fn of(text: &str, known: &str) -> Option<String> {
        let mut state = State::new(std::path::Path::new("/p"), []);
        state.set("x", Some(known.to_owned()));
        let script = parse(text).script;
        let statement = script.statements.first()?;
        let StatementKind::Simple(simple) = &statement.kind else { return None };
        value(simple.words.first()?, &state).likely()
    }

    #[test]
    fn values_are_changed_as_bash_changes_them() {
        let table = [
            ("${x%/}", "/a/", "/a"),
            ("${x%/*}", "/a/b/c", "/a/b"),
            ("${x%%/*}", "a/b/c", "a"),
            ("${x##*/}", "/a/b/c", "c"),
            ("${x#*/}", "a/b/c", "b/c"),
            ("${x#?}", "abc", "bc"),
            ("${x%\"*\"}", "a*", "a"),
            ("${x/b/c}", "abab", "acab"),
            ("${x//b/c}", "abab", "acac"),
            ("${x/#a/c}", "aba", "cba"),
            ("${x/%a/c}", "aba", "abc"),
            ("${x//b}", "abab", "aa"),
            ("${x,,}", "ABC", "abc"),
            ("${x^}", "abc", "Abc"),
            ("${x:0:4}", ".gitabc", ".git"),
            ("${x:1}", "abc", "bc"),
            ("${x: -2}", "abc", "bc"),
            ("${x:0:-1}", "abc", "ab"),
        ];
        for (text, known, expected) in table {
            assert_eq!(of(text, known).as_deref(), Some(expected), "{text} of {known}");
        }
        for text in ["${x%[a]}", "${!x%a}", "${x%$y}", "${x:y}", "${x/a/&}", "${x@Q}"] {
            assert_eq!(of(text, "aa"), None, "{text}");
        }
    }
}
