//! What is known of a text before the parser sees it: how much work it will be, and what it need not
//! see.

use super::closers::Closers;
use super::extent::Trouble;

/// The parser looks at some texts again for each of certain characters: this many bytes in all take
/// it less than a second.
const WORK_MAX: usize = 200_000_000;
/// Words before a command that nest without brackets, one after the other.
const PREFIXES_MAX: usize = 16;

/// Why a text is not given to the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is nested too deeply.
    TooDeep,
    /// There is too much in it.
    TooLong,
}

/// The text for the parser: the same places and fewer characters with a meaning. The texts of
/// here-documents are read by us alone, so it gets letters instead.
pub(super) fn masked(source: &str) -> Result<String, Refusal> {
    let mut closers = Closers::new(source, 0, source.len());
    // Parentheses that close nothing end patterns of `case`, or are an error for the parser.
    while closers.next().is_some() {}
    if closers.trouble == Some(Trouble::TooDeep) {
        return Err(Refusal::TooDeep);
    }
    let mut masked = source.to_owned();
    for document in closers.extent.documents {
        let text = source.get(document.clone()).unwrap_or_default();
        let letter = |byte: u8| if byte == b'\n' { '\n' } else { 'x' };
        let letters: String = text.bytes().map(letter).collect();
        masked.replace_range(document, &letters);
    }
    let special = masked.bytes().filter(|byte| b"$`({[<\\&!".contains(byte)).count();
    if special.saturating_mul(masked.len()) > WORK_MAX {
        return Err(Refusal::TooLong);
    }
    if prefixes(&masked) > PREFIXES_MAX {
        return Err(Refusal::TooDeep);
    }
    Ok(masked)
}

/// The longest row of words like `time time time`.
fn prefixes(text: &str) -> usize {
    let (mut most, mut row) = (0_usize, 0_usize);
    for word in text.split_ascii_whitespace() {
        let is_prefix = matches!(word, "time" | "coproc" | "!" | "-p" | "--" | "{" | "(");
        row = if is_prefix { row.saturating_add(1) } else { 0 };
        most = most.max(row);
    }
    most
}
