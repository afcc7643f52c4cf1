//! One physical line, made visible, with what is far from every label left out and counted.

use stockade::shell::ast::Span;
use stockade::shell::invisible::{VisiblePiece, is_hidden, pieces};
use unicode_width::UnicodeWidthStr as _;

/// A line that fits is shown whole.
const COLUMNS_MAX: usize = 100;
/// Characters before and after the ends of a label, and after its beginning, that say where it is.
const AROUND: usize = 24;
const AFTER_START: usize = 48;
/// A tab, at whatever column: a reader sees that there is one, and columns can be counted.
const TAB: &str = "    ";

/// What is shown of a line.
pub(super) struct Excerpt {
    text: String,
    /// Bytes of the line and of what is shown for them, where each piece begins, in order; the
    /// last is the end of both.
    places: Vec<(usize, usize)>,
}

impl Excerpt {
    pub(super) fn new(line: &str, spans: &[Span]) -> Self {
        let mut windows = windows(line, spans).into_iter().peekable();
        let mut excerpt = Self { text: String::new(), places: Vec::new() };
        let mut part: Vec<VisiblePiece<'_>> = Vec::new();
        let mut left_from = None;
        for piece in pieces(line) {
            while windows.next_if(|window| window.end <= piece.start).is_some() {}
            if windows.peek().is_some_and(|window| window.contains(&piece.start)) {
                excerpt.leave_out(left_from.take(), piece.start);
                part.push(piece);
            } else {
                excerpt.show(&mut part, false);
                left_from = left_from.or(Some(piece.start));
            }
        }
        excerpt.show(&mut part, true);
        excerpt.leave_out(left_from, line.len());
        excerpt.places.push((line.len(), excerpt.text.len()));
        excerpt
    }

    /// Adds pieces that stand together. What joined them to those that are left out joins nothing
    /// now, and would be hidden: it is shown too.
    fn show(&mut self, part: &mut Vec<VisiblePiece<'_>>, ends_line: bool) {
        let joins = |piece: &&mut VisiblePiece<'_>| piece.text.chars().all(is_hidden);
        let escape = |piece: &mut VisiblePiece<'_>| {
            piece.text = piece.text.chars().flat_map(char::escape_unicode).collect();
        };
        if part.first().is_some_and(|first| first.start > 0) {
            part.iter_mut().take_while(joins).for_each(escape);
        }
        if !ends_line {
            part.iter_mut().rev().take_while(joins).for_each(escape);
        }
        for piece in part.drain(..) {
            self.places.push((piece.start, self.text.len()));
            self.text.push_str(if piece.text == "\t" { TAB } else { &piece.text });
        }
    }

    fn leave_out(&mut self, from: Option<usize>, to: usize) {
        let Some(from) = from else { return };
        self.places.push((from, self.text.len()));
        let bytes = to.saturating_sub(from);
        self.text.extend(["…[", &bytes.to_string(), " bytes]…"]);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The columns of a part of the line: all of every piece that it touches, and one at least.
    pub(super) fn columns(&self, span: Span) -> (usize, usize) {
        let before = self.places.partition_point(|(at, _)| *at <= span.start).saturating_sub(1);
        let behind = self.places.partition_point(|(at, _)| *at < span.end);
        let from = self.column(before);
        (from, self.column(behind).max(from.saturating_add(1)))
    }

    fn column(&self, place: usize) -> usize {
        let end = self.places.get(place).map_or(self.text.len(), |(_, shown)| *shown);
        self.text.get(..end).unwrap_or_default().width()
    }
}

fn fits(line: &str) -> bool {
    let mut columns: usize = 0;
    pieces(line).all(|piece| {
        let width = if piece.text == "\t" { TAB.len() } else { piece.text.width() };
        columns = columns.saturating_add(width);
        columns <= COLUMNS_MAX
    })
}

/// The parts of a line that are shown, in order and apart from each other.
fn windows(line: &str, spans: &[Span]) -> Vec<std::ops::Range<usize>> {
    let mut wanted: Vec<_> = spans
        .iter()
        .flat_map(|span| {
            let behind = forward(line, span.end, AROUND);
            let start =
                back(line, span.start, AROUND)..forward(line, span.start, AFTER_START).min(behind);
            [start, back(line, span.end, AROUND).max(span.start)..behind]
        })
        .collect();
    if fits(line) {
        wanted.push(0..line.len());
    } else if wanted.is_empty() {
        wanted.push(0..forward(line, 0, COLUMNS_MAX));
    }
    wanted.sort_by_key(|window| window.start);
    let mut apart: Vec<std::ops::Range<usize>> = Vec::new();
    for window in wanted {
        match apart.last_mut() {
            // What says that bytes are left out takes as many columns as these.
            Some(last) if window.start <= last.end.saturating_add(AROUND) => {
                last.end = last.end.max(window.end);
            }
            _ => apart.push(window),
        }
    }
    apart
}

fn back(line: &str, from: usize, chars: usize) -> usize {
    let text = line.get(..from).unwrap_or_default();
    let start = text.char_indices().rev().take(chars).last();
    start.map_or(from, |(at, _)| at)
}

fn forward(line: &str, from: usize, chars: usize) -> usize {
    let text = line.get(from..).unwrap_or_default();
    text.char_indices().nth(chars).map_or(line.len(), |(at, _)| from.saturating_add(at))
}
