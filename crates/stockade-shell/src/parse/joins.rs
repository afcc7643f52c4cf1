//! Line continuations between the characters of one operator: bash joins them, readers overlook them.

use crate::ast::Span;

/// Where `\` and a newline separate what bash reads as one operator.
pub(super) fn hidden(line: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut from = 0_usize;
    while let Some(start) = next(line, from) {
        let mut end = start;
        while line.get(end..).is_some_and(|rest| rest.starts_with("\\\n")) {
            end = end.saturating_add(2);
        }
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(end..).and_then(|text| text.chars().next());
        if before.zip(after).is_some_and(|(before, after)| are_joined(before, after)) {
            found.push(Span { start, end });
        }
        from = end;
    }
    found
}

fn next(line: &str, from: usize) -> Option<usize> {
    Some(from.saturating_add(line.get(from..)?.find("\\\n")?))
}

fn are_joined(before: char, after: char) -> bool {
    match before {
        '$' => !after.is_whitespace(),
        '<' | '>' | '&' | '|' | ';' | '(' | ')' => "<>&|;()".contains(after),
        '{' | '!' | '=' | '?' | '*' | '+' | '@' => after == '(',
        _ => false,
    }
}
