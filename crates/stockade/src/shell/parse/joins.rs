//! Line continuations between the characters of one operator: bash joins them, readers overlook them.

use crate::shell::tree::Span;

/// Where `\` and a newline separate what bash reads as one operator.
pub(super) fn hidden(line: &str) -> Vec<Span> {
    let joins = |(at, _): (usize, &str)| {
        let before = line.get(..at)?.chars().next_back()?;
        let mut rest = line.get(at..)?;
        while let Some(more) = rest.strip_prefix("\\\n") {
            rest = more;
        }
        let after = rest.chars().next()?;
        let joined = match before {
            '$' => !after.is_whitespace(),
            '<' | '>' | '&' | '|' | ';' | '(' | ')' => "<>&|;()".contains(after),
            '{' | '!' | '=' | '?' | '*' | '+' | '@' => after == '(',
            _ => false,
        };
        joined.then_some(Span { start: at, end: at.saturating_add(2) })
    };
    line.match_indices("\\\n").filter_map(joins).collect()
}
