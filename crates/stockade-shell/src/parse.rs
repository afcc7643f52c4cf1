//! From the text of a line to its tree, or to what in it is not understood.
//!
//! A parser of bash finds where commands, words and redirections begin and end; the text of each
//! of them is read here, byte by byte, so that quotes and expansions are what bash makes of them.
//! Each `$(…)` is parsed on its own, since the parser forgives errors inside of one. In the end
//! every byte of the line has been read as part of something, or the line is not understood.

mod claims;
mod closers;
mod compounds;
mod decode;
mod expansions;
mod extent;
mod front;
mod heredocs;
mod joins;
mod parameters;
mod reader;
mod redirects;
mod simple;
mod statements;
mod substitutions;
mod survey;

use super::ast::{Script, Span};
use front::Front;

/// Longer lines are not parsed.
const LINE_BYTES_MAX: usize = 1 << 20;

/// What a line is made of, and why it may not be all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedLine {
    /// What was found.
    pub script: Script,
    /// If there is any, the line is not understood and the tree may lack commands.
    pub faults: Vec<Fault>,
}

/// A part of a line that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands.
    pub span: Span,
    /// What sort.
    pub kind: FaultKind,
    /// What a person reads.
    pub text: String,
}

/// Why a part of a line is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// It is no bash, or a form that is refused as if it were none.
    Syntax,
    /// It is more than is read.
    TooLong,
    /// It is nested deeper than is followed.
    TooDeep,
    /// Something is there that the tree does not hold.
    Hidden,
}

/// Reads a line.
pub(super) fn parse(line: &str) -> ParsedLine {
    let whole = Span { start: 0, end: line.len() };
    if line.len() > LINE_BYTES_MAX {
        return refused(whole, FaultKind::TooLong, "the line is longer than 1 MiB");
    }
    if let Some(at) = line.find('\0') {
        let span = Span { start: at, end: at.saturating_add(1) };
        return refused(span, FaultKind::Hidden, "a zero byte ends the text for some programs");
    }
    let mut front = Front::new(line.len());
    for span in joins::hidden(line) {
        front.fault(span, FaultKind::Hidden, "a line continuation inside an operator");
    }
    let script = front.line(line);
    ParsedLine { script, faults: front.into_faults() }
}

fn refused(span: Span, kind: FaultKind, text: &str) -> ParsedLine {
    ParsedLine {
        script: Script::default(),
        faults: vec![Fault { span, kind, text: text.to_owned() }],
    }
}
