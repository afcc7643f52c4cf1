//! Accounts for every byte of a text: what no word has claimed can only be glue.

use std::ops::Range;

/// What may stand between words without being one.
const GLUE: [&str; 22] = [
    "!", "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "in", "select", "function", "time", "coproc", "[[", "]]",
];

/// The parts of one text that have been read.
#[derive(Debug, Default)]
pub(super) struct Claims {
    ranges: Vec<Range<usize>>,
    /// Where two parts touch and are one word.
    joints: Vec<usize>,
}

impl Claims {
    /// Notes that a part has been read.
    pub(super) fn add(&mut self, start: usize, end: usize) {
        if start < end {
            self.ranges.push(start..end);
        }
    }

    /// Notes that the parts which touch here have been made one word.
    pub(super) fn join(&mut self, at: usize) {
        self.joints.push(at);
    }

    /// How many parts there are, to ask later for those after them.
    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// From the first to the last byte of the parts that were added after a count was taken.
    pub(super) fn since(&self, count: usize) -> Option<Range<usize>> {
        let new = self.ranges.get(count..)?;
        let start = new.iter().map(|range| range.start).min()?;
        let end = new.iter().map(|range| range.end).max()?;
        Some(start..end)
    }

    /// The parts of a text that nothing accounts for, or that were read twice.
    pub(super) fn unaccounted(mut self, text: &str) -> Vec<Range<usize>> {
        self.ranges.sort_by_key(|range| (range.start, range.end));
        let mut found = Vec::new();
        let mut at = 0;
        for range in self.ranges {
            let is_torn = is_torn(text, at, range.start) && !self.joints.contains(&range.start);
            if range.start < at || range.end > text.len() || is_torn {
                found.push(range.clone());
            } else {
                glue(text, at..range.start, &mut found);
            }
            at = at.max(range.end);
        }
        glue(text, at..text.len(), &mut found);
        found
    }
}

/// Whether two parts touch that bash would read as one: without an operator, only blanks separate,
/// and `<(` is no operator.
fn is_torn(text: &str, end: usize, start: usize) -> bool {
    if end != start || end == 0 {
        return false;
    }
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let is_operator = |byte: u8| b"<>&|".contains(&byte);
    let is_process = matches!(byte(start), b'<' | b'>') && byte(start.saturating_add(1)) == b'(';
    is_process || !(is_operator(byte(start)) || is_operator(byte(end.saturating_sub(1))))
}

/// Collects what is neither blank, comment, operator nor keyword.
fn glue(text: &str, gap: Range<usize>, found: &mut Vec<Range<usize>>) {
    let Some(mut rest) = text.get(gap.clone()) else {
        found.push(gap);
        return;
    };
    while let Some(first) = rest.chars().next() {
        let at = gap.end.saturating_sub(rest.len());
        let length = match first {
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => 1,
            '\\' if rest.starts_with("\\\n") => 2,
            '#' if starts_a_word(text, at) => rest.find('\n').unwrap_or(rest.len()),
            _ => {
                let ends = |c: char| c.is_ascii_whitespace() || ";&|()\\".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len()).max(first.len_utf8());
                let word = rest.get(..length).unwrap_or(rest);
                let is_option_of_time = word == "-p" || word == "--";
                let is_glue = is_option_of_time || GLUE.contains(&word);
                if !is_glue || !starts_a_word(text, at) {
                    found.push(at..at.saturating_add(length));
                }
                length
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Whether a comment or a keyword can begin there.
fn starts_a_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    before.is_none_or(|c| " \t\n;&|()".contains(c))
}
