//! Shows where in a shell line something is: the line with parts of it underlined.
//!
//! ```text
//! 1 | cd / && rm -rf *
//!   | ----    ^^^^^^^^ deletes all that is in /
//!   | |
//!   | from here on, the folder is /
//! ```
//!
//! Ours and not `annotate-snippets`, the renderer of rustc, which is six thousand lines: that one
//! shows every bidi control as the same `�`, lets zero-width characters and look-alike spaces
//! through, and cuts long lines without saying how much is left out. Here the line is shown by the
//! same code that finds what is hidden in it; the width of what is left comes from `unicode-width`.

mod excerpt;
mod underline;
#[cfg(test)]
mod tests;

use anstyle::Style;
use stockade::shell::ast::Span;

use crate::print::{BAD, FAINT, escape};
use excerpt::Excerpt;

/// A part of a line and what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// In bytes of the whole text. What lies outside of it, or begins within a character, is moved
    /// to where it can be shown.
    pub(crate) span: Span,
    /// On one line; escaped here.
    pub(crate) text: String,
    pub(crate) weight: Weight,
}

/// How much a label matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Helps to understand: underlined with `-`.
    Secondary,
    /// What it is about: underlined with `^`.
    Primary,
}

impl Weight {
    fn mark(self) -> char {
        match self {
            Self::Primary => '^',
            Self::Secondary => '-',
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Primary => BAD,
            Self::Secondary => FAINT,
        }
    }
}

/// A physical line of the text, and the labels that begin in it.
struct Row<'a> {
    number: usize,
    start: usize,
    text: &'a str,
    labels: Vec<PlacedLabel>,
}

/// A label within a physical line.
struct PlacedLabel {
    /// In bytes of the physical line.
    span: Span,
    text: String,
    weight: Weight,
}

/// The lines of a script that have labels, each with its underlines; no newline at the end.
///
/// A script without any is shown from its beginning. Lines and bytes that are not shown are counted.
pub(crate) fn render(line: &str, labels: &[Label]) -> String {
    let mut rows = rows(line);
    let last = rows.len();
    for label in labels {
        place(line, label, &mut rows);
    }
    let gutter = last.to_string().len();
    let labelled = rows.iter().any(|row| !row.labels.is_empty());
    let wanted =
        |row: &Row| if labelled { !row.labels.is_empty() } else { row.number <= LINES_BARE };
    let mut out = Vec::new();
    let mut left = OmittedLines::default();
    for row in &rows {
        if wanted(row) {
            left.tell(row.start, gutter, &mut out);
            draw(row, gutter, &mut out);
        } else {
            left.add(row);
        }
    }
    left.tell(line.len(), gutter, &mut out);
    out.join("\n")
}

/// How many lines are shown of a script in which nothing is marked.
const LINES_BARE: usize = 10;

/// Lines that are not shown: how many, and where the first begins.
#[derive(Default)]
struct OmittedLines {
    lines: usize,
    from: usize,
}

impl OmittedLines {
    fn add(&mut self, row: &Row<'_>) {
        self.from = if self.lines == 0 { row.start } else { self.from };
        self.lines = self.lines.saturating_add(1);
    }

    fn tell(&mut self, to: usize, gutter: usize, out: &mut Vec<String>) {
        let Self { lines, from } = std::mem::take(self);
        if lines == 0 {
            return;
        }
        let what = if lines == 1 { "line" } else { "lines" };
        let bytes = to.saturating_sub(from);
        out.push(format!("{FAINT}{:gutter$} … {lines} {what}, {bytes} bytes{FAINT:#}", ""));
    }
}

fn rows(line: &str) -> Vec<Row<'_>> {
    let mut start: usize = 0;
    let mut rows = Vec::new();
    // A newline at the end begins no line.
    for (index, text) in line.strip_suffix('\n').unwrap_or(line).split('\n').enumerate() {
        rows.push(Row { number: index.saturating_add(1), start, text, labels: Vec::new() });
        start = start.saturating_add(text.len()).saturating_add(1);
    }
    rows
}

/// Puts a label on the physical line where it begins; how far it reaches is said in words.
fn place(line: &str, label: &Label, rows: &mut [Row<'_>]) {
    let start = line.floor_char_boundary(label.span.start);
    let end = line.ceil_char_boundary(label.span.end).max(start);
    let number_at = |at: usize| rows.partition_point(|row| row.start <= at);
    // The last byte counts: a span that ends with a newline does not reach the next line.
    let (first, last) = (number_at(start), number_at(end.saturating_sub(1).max(start)));
    let mut text = escape(&label.text).replace('\n', "\\u{a}");
    if last > first {
        text = format!("{text} (to line {last})");
    }
    let Some(row) = rows.get_mut(first.saturating_sub(1)) else { return };
    let within = |at: usize| at.saturating_sub(row.start).min(row.text.len());
    let span = Span { start: within(start), end: within(end) };
    row.labels.push(PlacedLabel { span, text, weight: label.weight });
}

fn draw(row: &Row<'_>, gutter: usize, out: &mut Vec<String>) {
    let spans: Vec<Span> = row.labels.iter().map(|placed| placed.span).collect();
    let excerpt = Excerpt::new(row.text, &spans);
    let number = row.number;
    out.push(
        format!("{FAINT}{number:>gutter$} |{FAINT:#} {}", excerpt.text()).trim_end().to_owned(),
    );
    for line in underline::lines(&row.labels, &excerpt) {
        out.push(format!("{FAINT}{:gutter$} |{FAINT:#} {line}", "").trim_end().to_owned());
    }
}
