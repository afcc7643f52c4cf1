//! The lines beneath a line: underlines, and what hangs from them.

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::PlacedLabel;
use super::excerpt::Excerpt;

/// A label with the columns it has.
struct Mark<'a> {
    from: usize,
    to: usize,
    placed: &'a PlacedLabel,
}

impl Mark<'_> {
    fn style(&self) -> Style {
        self.placed.weight.style()
    }

    fn says_something(&self) -> bool {
        !self.placed.text.is_empty()
    }
}

/// The underlines, with the text of the rightmost label beside them if nothing is in its way, and
/// those of the others beneath, from right to left.
pub(super) fn lines(labels: &[PlacedLabel], excerpt: &Excerpt) -> Vec<String> {
    let mut marks: Vec<Mark<'_>> = labels
        .iter()
        .map(|placed| {
            let (from, to) = excerpt.columns(placed.span);
            Mark { from, to, placed }
        })
        .collect();
    if marks.is_empty() {
        return Vec::new();
    }
    // What matters most is drawn last, and told last among those that begin at one column.
    marks.sort_by_key(|mark| mark.placed.weight);
    let mut row = Canvas::default();
    for mark in &marks {
        row.fill(mark.from, mark.to, mark.placed.weight.mark(), mark.style());
    }
    marks.retain(Mark::says_something);
    marks.sort_by_key(|mark| mark.from);
    let end = row.width();
    let beside = marks.pop_if(|mark| mark.to == end);
    if let Some(mark) = &beside {
        row.write(end.saturating_add(1), &mark.placed.text, mark.style());
    }
    let mut out = vec![row.painted()];
    if !marks.is_empty() {
        out.push(hooks(&marks).painted());
    }
    while let Some(mark) = marks.pop() {
        let left = marks.partition_point(|other| other.from < mark.from);
        let mut row = hooks(marks.get(..left).unwrap_or_default());
        row.write(mark.from, &mark.placed.text, mark.style());
        out.push(row.painted());
    }
    out
}

/// The lines from labels down to their texts.
fn hooks(marks: &[Mark<'_>]) -> Canvas {
    let mut row = Canvas::default();
    for mark in marks {
        row.fill(mark.from, mark.from.saturating_add(1), '|', mark.style());
    }
    row
}

/// One line of text, drawn by columns.
#[derive(Default)]
struct Canvas {
    cells: Vec<(char, Style)>,
    /// Text at the end, whose characters may be wide.
    tail: Option<(String, Style)>,
}

impl Canvas {
    fn width(&self) -> usize {
        self.cells.len()
    }

    fn fill(&mut self, from: usize, to: usize, mark: char, style: Style) {
        if self.cells.len() < to {
            self.cells.resize(to, (' ', Style::new()));
        }
        for cell in self.cells.iter_mut().take(to).skip(from) {
            *cell = (mark, style);
        }
    }

    fn write(&mut self, from: usize, text: &str, style: Style) {
        self.cells.resize(from, (' ', Style::new()));
        self.tail = Some((text.to_owned(), style)).filter(|(text, _)| text.width() > 0);
    }

    fn painted(&self) -> String {
        let mut out = Vec::new();
        for run in self.cells.chunk_by(|one, other| one.1 == other.1) {
            let text: String = run.iter().map(|(mark, _)| mark).collect();
            let style = run.first().map_or(Style::new(), |(_, style)| *style);
            out.push(format!("{style}{text}{style:#}"));
        }
        out.extend(self.tail.iter().map(|(text, style)| format!("{style}{text}{style:#}")));
        out.concat()
    }
}
