//! How the files and lines in which something was found are told.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::call::file::{Grep, Show};
use crate::files::glob::shown;
use crate::files::tool_output::Lines;
use crate::files::{Job, ToolOutput};

/// Longer lines are cut: they are no code that a person wrote.
const LINE_BYTES_MAX: usize = 2000;

/// What is told of all files.
#[derive(Debug)]
pub(super) struct GrepOutput<'a> {
    grep: &'a Grep,
    told_from: &'a Path,
    lines: Lines,
    /// Lines that were not asked for.
    skipped: u64,
    told: u64,
    /// More was found than was asked for.
    more: bool,
    found: bool,
}

impl<'a> GrepOutput<'a> {
    pub(super) fn new(job: &'a Job<'a>, grep: &'a Grep) -> Self {
        let lines = Lines::new(job.output_max);
        let told_from = job.told_from;
        Self { grep, told_from, lines, skipped: 0, told: 0, more: false, found: false }
    }

    /// Whether no more is told, whatever is found.
    pub(super) fn is_full(&self) -> bool {
        self.more || self.lines.left > 0
    }

    /// The part of it that is about one file.
    pub(super) fn about<'f>(&'f mut self, path: &Path) -> InFile<'f, 'a> {
        let name = shown(path, self.told_from).as_os_str().as_bytes().to_owned();
        InFile { answer: self, name, matched: 0, is_begun: false }
    }

    fn has_context(&self) -> bool {
        self.grep.before > 0 || self.grep.after > 0
    }

    fn say(&mut self, line: &[u8]) {
        if self.skipped < self.grep.offset {
            self.skipped = self.skipped.saturating_add(1);
        } else if self.grep.head_limit.is_some_and(|most| self.told >= most) {
            self.more = true;
        } else if self.lines.push(line) {
            self.told = self.told.saturating_add(1);
        }
    }

    pub(super) fn told(self) -> ToolOutput {
        let is_cut = self.lines.left > 0;
        let go_on = self.grep.offset.saturating_add(self.told);
        let remark = if !self.found {
            Some("nothing was found".to_owned())
        } else if self.more || is_cut {
            Some(format!("{} lines; more follow, from offset {go_on}", self.told))
        } else {
            None
        };
        let remarks = remark.into_iter().collect();
        ToolOutput { text: self.lines.captured(), remarks, ..ToolOutput::default() }
    }
}

/// What is told of one file.
#[derive(Debug)]
pub(super) struct InFile<'f, 'a> {
    answer: &'f mut GrepOutput<'a>,
    name: Vec<u8>,
    matched: u64,
    /// Whether a line of it was told.
    is_begun: bool,
}

impl InFile<'_, '_> {
    /// Whether nothing that is in the file would be told.
    pub(super) fn is_full(&self) -> bool {
        self.answer.is_full() || (self.answer.grep.show == Show::Files && self.matched > 0)
    }

    /// A line with a match.
    pub(super) fn matched(&mut self, number: Option<u64>, line: &[u8]) {
        self.answer.found = true;
        match self.answer.grep.show {
            Show::Content => self.line(b":", number, line),
            Show::Files | Show::Count => {}
        }
        self.matched = self.matched.saturating_add(1);
    }

    /// A line near one.
    pub(super) fn context(&mut self, number: Option<u64>, line: &[u8]) {
        self.line(b"-", number, line);
    }

    /// Lines that are left out between two others.
    pub(super) fn gap(&mut self) {
        self.answer.say(b"--");
    }

    /// Tells what is told once for a file. Returns whether anything was found in it.
    pub(super) fn close(&mut self) -> bool {
        let count = || format!(":{}", self.matched).into_bytes();
        match self.answer.grep.show {
            _ if self.matched == 0 => return false,
            Show::Files => self.answer.say(&self.name),
            Show::Count => self.answer.say(&[self.name.clone(), count()].concat()),
            Show::Content => {}
        }
        true
    }

    fn line(&mut self, mark: &[u8], number: Option<u64>, line: &[u8]) {
        if !self.is_begun && self.answer.has_context() && self.answer.told > 0 {
            self.gap();
        }
        self.is_begun = true;
        let number = number.map_or_else(Vec::new, |number| number.to_string().into_bytes());
        let behind: &[u8] = if number.is_empty() { b"" } else { mark };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let cut = cut(line);
        let ellipsis: &[u8] = if cut.len() < line.len() { "…".as_bytes() } else { b"" };
        self.answer.say(&[&self.name, mark, &number, behind, cut, ellipsis].concat());
    }
}

/// As much of a line as is told: no letter is cut in two, or the answer would be no text.
fn cut(line: &[u8]) -> &[u8] {
    let begins = |at: &usize| line.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let first = LINE_BYTES_MAX.saturating_sub(3);
    let end = (first..=LINE_BYTES_MAX).rev().find(begins).unwrap_or(LINE_BYTES_MAX);
    line.get(..end).filter(|_| line.len() > LINE_BYTES_MAX).unwrap_or(line)
}
