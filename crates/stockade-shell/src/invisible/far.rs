//! Text that is there to be seen, and is where nobody looks.
//!
//! Length alone is no finding: agents write files with long here-documents, line by line. What is
//! found is text behind a void, and operators at the end of a single line that fills a screen.

use super::{HIDDEN_MAX, HiddenKind, HiddenText, Span};

/// The columns of a usual terminal. Less is alignment in tables and code.
const BLANKS_MIN: usize = 80;
/// The same at the beginning of a line: code is indented to 80 columns and more, at times.
const INDENT_MIN: usize = 120;
/// Nearly the rows of a usual terminal. No file has so many empty lines on purpose.
const EMPTY_LINES_MIN: usize = 20;
/// A little more than all the characters of a usual terminal, 80 by 24: who reads the line to there
/// has scrolled. Data in one line (base64, a key) has no operators.
const COLUMNS_MAX: usize = 2000;
const TAB_COLUMNS: usize = 8;

/// What is out of sight: voids, then ends of lines, each in order, up to one more than are listed.
pub(super) fn out_of_sight(line: &str) -> impl Iterator<Item = HiddenText> {
    let far = gaps(line).map(|gap| HiddenText {
        span: gap.span,
        kind: HiddenKind::FarText,
        text: format!("{}, with text out of sight after them", gap.text()),
    });
    let most = HIDDEN_MAX.saturating_add(1);
    far.take(most).chain(long_lines(line).take(most))
}

/// A void with text after it.
pub(super) struct Gap {
    pub(super) span: Span,
    count: usize,
    lines: bool,
}

impl Gap {
    /// What it is, in words.
    pub(super) fn text(&self) -> String {
        let what = if self.lines { "empty lines" } else { "columns of blanks" };
        format!("{} {what}", self.count)
    }

    /// Whether the text after it begins a line.
    pub(super) fn ends_line(&self) -> bool {
        self.lines
    }
}

/// Each line without its newline, and where it begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at: usize = 0;
    text.split('\n').map(move |line| {
        let start = at;
        at = at.saturating_add(line.len()).saturating_add(1);
        (start, line)
    })
}

/// Every void in the text: between lines and within one.
pub(super) fn gaps(text: &str) -> Gaps<'_> {
    // A void needs this many bytes at least, if all of them are tabs.
    let text = if text.len() > BLANKS_MIN / TAB_COLUMNS { text } else { "" };
    Gaps { bytes: text.as_bytes(), at: 0, empty: 0, empty_from: 0, line: Some(0), queued: None }
}

/// One pass over the bytes: a text of newlines alone must not cost more than another.
pub(super) struct Gaps<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The empty lines above this one, and where the first begins.
    empty: usize,
    empty_from: usize,
    /// Where this line begins, as long as it is blank.
    line: Option<usize>,
    queued: Option<Gap>,
}

impl Iterator for Gaps<'_> {
    type Item = Gap;

    fn next(&mut self) -> Option<Gap> {
        if let Some(gap) = self.queued.take() {
            return Some(gap);
        }
        while let Some(byte) = self.bytes.get(self.at) {
            let found = match byte {
                b'\n' => {
                    self.line_ends();
                    None
                }
                b' ' | b'\t' => self.blanks(),
                _ => self.text(),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

impl Gaps<'_> {
    fn line_ends(&mut self) {
        self.at = self.at.saturating_add(1);
        if let Some(start) = self.line.replace(self.at) {
            self.empty_from = if self.empty == 0 { start } else { self.empty_from };
            self.empty = self.empty.saturating_add(1);
        }
    }

    fn text(&mut self) -> Option<Gap> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| !is_blank(**byte) && **byte != b'\n').count();
        self.at = self.at.saturating_add(length);
        self.text_begins()
    }

    /// The empty lines above, at the first text after them.
    fn text_begins(&mut self) -> Option<Gap> {
        let end = self.line.take()?;
        let count = std::mem::take(&mut self.empty);
        let span = Span { start: self.empty_from, end };
        (count >= EMPTY_LINES_MIN).then_some(Gap { span, count, lines: true })
    }

    fn blanks(&mut self) -> Option<Gap> {
        let start = self.at;
        let mut columns: usize = 0;
        let rest = self.bytes.get(start..).unwrap_or_default();
        for byte in rest.iter().take_while(|byte| is_blank(**byte)) {
            self.at = self.at.saturating_add(1);
            columns = columns.saturating_add(if *byte == b'\t' { TAB_COLUMNS } else { 1 });
        }
        let before_text = self.bytes.get(self.at).is_some_and(|byte| *byte != b'\n');
        let least = if self.line == Some(start) { INDENT_MIN } else { BLANKS_MIN };
        if columns < least || !before_text {
            return None;
        }
        let gap = Gap { span: Span { start, end: self.at }, count: columns, lines: false };
        let Some(above) = self.text_begins() else { return Some(gap) };
        self.queued = Some(gap);
        Some(above)
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn long_lines(text: &str) -> impl Iterator<Item = HiddenText> {
    let long = text.len() > COLUMNS_MAX;
    lines(if long { text } else { "" }).filter_map(|(start, line)| {
        if line.len() <= COLUMNS_MAX {
            return None;
        }
        let (cut, _) = line.char_indices().nth(COLUMNS_MAX)?;
        let tail = line.get(cut..).filter(|tail| has_operator(tail))?;
        let end = start.saturating_add(line.len());
        let text = format!("{} bytes with shell operators beyond column {COLUMNS_MAX}", tail.len());
        let span = Span { start: start.saturating_add(cut), end };
        Some(HiddenText { span, kind: HiddenKind::LongLine, text })
    })
}

fn has_operator(text: &str) -> bool {
    text.contains([';', '|', '&', '<', '>', '`']) || text.contains("$(")
}
