//! The lines of a file in which something was found, and how they are told.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use regex::bytes::Regex;

use crate::call::file::{Grep, Numbers, Show};
use crate::files::glob::shown;
use crate::files::told::Lines;
use crate::files::{Job, Told};

/// Longer lines are cut: they are no code that a person wrote.
const LINE_BYTES_MAX: usize = 2000;

/// A file's lines, and which of them match.
pub(super) struct Searched<'b> {
    lines: Vec<&'b [u8]>,
    /// Numbers of lines, from 0, each once and in order.
    matched: Vec<usize>,
}

impl<'b> Searched<'b> {
    /// Each line by itself.
    pub(super) fn by_line(bytes: &'b [u8], regex: &Regex) -> Self {
        let lines = lines(bytes);
        let is_match = |(_, line): &(usize, &&[u8])| regex.is_match(line);
        let matched = lines.iter().enumerate().filter(is_match).map(|(at, _)| at).collect();
        Self { lines, matched }
    }

    /// All lines that a match touches.
    pub(super) fn over_lines(bytes: &'b [u8], regex: &Regex) -> Self {
        let ends: Vec<usize> =
            (0..bytes.len()).filter(|at| bytes.get(*at) == Some(&b'\n')).collect();
        let line_at = |at: usize| ends.partition_point(|end| *end < at);
        let mut matched: Vec<usize> = Vec::new();
        for found in regex.find_iter(bytes) {
            let last = line_at(found.end().saturating_sub(1).max(found.start()));
            let first = line_at(found.start());
            let next = matched.last().map_or(0, |last| last.saturating_add(1));
            matched.extend(first.max(next)..=last);
        }
        let lines = lines(bytes);
        matched.retain(|at| *at < lines.len());
        Self { lines, matched }
    }
}

/// The lines of a text without their ends; nothing follows the last end.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

/// What is told of all files.
pub(super) struct Answer<'a> {
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

impl<'a> Answer<'a> {
    pub(super) fn new(job: &'a Job<'a>, grep: &'a Grep) -> Self {
        let lines = Lines::new(job.output_max);
        let told_from = job.told_from;
        Self { grep, told_from, lines, skipped: 0, told: 0, more: false, found: false }
    }

    /// Whether no more is told, whatever is found.
    pub(super) fn is_full(&self) -> bool {
        self.more || self.lines.left > 0
    }

    /// Adds what was found in a file.
    pub(super) fn add(&mut self, path: &Path, searched: &Searched<'_>) {
        if searched.matched.is_empty() {
            return;
        }
        self.found = true;
        let name = shown(path, self.told_from).as_os_str().as_bytes();
        match self.grep.show {
            Show::Files => self.say(name),
            Show::Count => {
                self.say(&[name, format!(":{}", searched.matched.len()).as_bytes()].concat());
            }
            Show::Content => self.content(name, searched),
        }
    }

    fn content(&mut self, name: &[u8], searched: &Searched<'_>) {
        let length = |lines: u64| usize::try_from(lines).unwrap_or(usize::MAX);
        let (before, after) = (length(self.grep.before), length(self.grep.after));
        let has_context = before > 0 || after > 0;
        let mut next = 0_usize;
        for (nth, at) in searched.matched.iter().enumerate() {
            let from = at.saturating_sub(before).max(next);
            let following = searched.matched.get(nth.saturating_add(1)).copied();
            let end = at.saturating_add(after).saturating_add(1).min(searched.lines.len());
            let end = following.map_or(end, |following| end.min(following));
            if has_context && self.told > 0 && (nth == 0 || from > next) {
                self.say(b"--");
            }
            for number in from..end.max(at.saturating_add(1)) {
                let Some(line) = searched.lines.get(number) else { break };
                let mark: &[u8] = if number == *at { b":" } else { b"-" };
                self.line(name, mark, number, line);
                if self.is_full() {
                    return;
                }
            }
            next = end.max(at.saturating_add(1));
        }
    }

    fn line(&mut self, name: &[u8], mark: &[u8], number: usize, line: &[u8]) {
        let number = match self.grep.numbers {
            Numbers::Shown => format!("{}", number.saturating_add(1)).into_bytes(),
            Numbers::Left => Vec::new(),
        };
        let behind: &[u8] = if number.is_empty() { b"" } else { mark };
        let (cut, ellipsis): (&[u8], &[u8]) = match line.get(..LINE_BYTES_MAX) {
            Some(cut) if line.len() > LINE_BYTES_MAX => (cut, "…".as_bytes()),
            Some(_) | None => (line, b""),
        };
        self.say(&[name, mark, &number, behind, cut, ellipsis].concat());
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

    pub(super) fn told(self) -> Told {
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
        Told { text: self.lines.captured(), remarks, ..Told::default() }
    }
}
