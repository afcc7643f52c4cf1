//! A second look at a line that knows no grammar: quotes, and the marks that begin a command.
//!
//! It shares nothing with the parser. Where it sees more marks than the tree holds commands, or
//! loses its way, the line is not understood.

mod marks;
mod regions;

use super::ast::{Script, Span};
use super::parse::{Fault, FaultKind};
use marks::{Mark, MarkKind, Marks};
use regions::Regions;

/// What the tree of a line does not hold.
pub(super) fn hidden(line: &str, script: &Script) -> Vec<Fault> {
    // Nothing below can find anything in such a line.
    if !line.contains(['(', '`', '<']) && !line.contains("${") {
        return Vec::new();
    }
    let mut marks = Marks::of(line);
    let mut faults = Vec::new();
    if let Some(at) = marks.lost {
        faults.push(fault(at, at.saturating_add(1), "a second reading ends elsewhere"));
    }
    let mut regions = Regions::of(script);
    marks.list.sort_by_key(|mark| mark.at);
    for Mark { at, kind } in marks.list {
        let is_held = match kind {
            MarkKind::Command | MarkKind::Process | MarkKind::Arithmetic => {
                regions.take_inside(at, kind)
            }
            MarkKind::Document | MarkKind::Parentheses => regions.take(at, kind),
            MarkKind::Inline => false,
        };
        if !is_held {
            faults.push(fault(at, at.saturating_add(2), kind.says()));
        }
    }
    faults
}

fn fault(start: usize, end: usize, text: &str) -> Fault {
    Fault { span: Span { start, end }, kind: FaultKind::Hidden, text: text.to_owned() }
}
