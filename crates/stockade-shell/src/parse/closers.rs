//! The parentheses that may close a substitution.

use super::extent::{Extent, NESTED_MAX, Trouble};

/// Parentheses that are closed apart cost a second look.
const ATTEMPTS_MAX: usize = 64;
/// Parentheses inside of each other are followed this deep.
const PARENTHESES_MAX: usize = 48;

/// Finds the parentheses that may close a substitution, one after the other.
#[derive(Debug)]
pub(super) struct Closers<'t> {
    pub(super) extent: Extent<'t>,
    /// Why there are no more.
    pub(super) trouble: Option<Trouble>,
    at: usize,
    opened: usize,
    depth: usize,
    /// How often two parentheses may still be taken for arithmetic in vain.
    attempts: usize,
    /// Here-documents whose text has not begun.
    documents: Vec<Document>,
}

/// A here-document: its last line, and whether tabs before that are ignored.
#[derive(Debug)]
struct Document {
    delimiter: Vec<u8>,
    tabs: bool,
}

impl<'t> Closers<'t> {
    /// From the byte after the opening parenthesis.
    pub(super) fn new(text: &'t str, from: usize, end: usize) -> Self {
        Self::within(Extent::new(text, end), from, NESTED_MAX)
    }

    /// The same, inside of other things.
    pub(super) fn within(extent: Extent<'t>, at: usize, depth: usize) -> Self {
        let attempts = ATTEMPTS_MAX;
        Self { extent, trouble: None, at, opened: 0, depth, attempts, documents: Vec::new() }
    }

    /// Goes over `((…))`, in which `<<` is no here-document.
    fn arithmetic(&mut self) -> bool {
        let inner = self.at.saturating_add(2);
        let is_double = self.extent.text.get(self.at..inner) == Some(b"((");
        if !is_double || self.attempts == 0 {
            return false;
        }
        match self.extent.arithmetic(inner) {
            Ok(Some(after)) => {
                self.at = after.saturating_add(1);
                return true;
            }
            Ok(None) => self.attempts = self.attempts.saturating_sub(1),
            Err(Trouble::Unclosed | Trouble::TooDeep) => self.attempts = 0,
        }
        false
    }

    fn is_comment(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.extent.text.get(at));
        before.is_none_or(|c| b" \t\n;&|()".contains(c))
    }

    /// Goes over `<<` and its delimiter.
    fn document(&mut self) {
        let rest = self.extent.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(b"<<<") {
            self.at = self.at.saturating_add(3);
            return;
        }
        let tabs = rest.starts_with(b"<<-");
        self.at = self.at.saturating_add(if tabs { 3 } else { 2 });
        while let Some(b' ' | b'\t') = self.extent.text.get(self.at) {
            self.at = self.at.saturating_add(1);
        }
        let ends = |c: &u8| b" \t\n;&|<>()".contains(c);
        let rest = self.extent.text.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let delimiter = word.iter().copied().filter(|c| !b"'\"\\".contains(c)).collect();
        self.at = self.at.saturating_add(length);
        self.documents.push(Document { delimiter, tabs });
    }

    /// Goes over the texts that begin after a newline.
    fn texts(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let start = self.at;
            while let Some(rest) = self.extent.text.get(self.at..).filter(|rest| !rest.is_empty()) {
                let length = rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
                let line = rest.get(..length).unwrap_or_default();
                let tabs = line.iter().take_while(|c| document.tabs && **c == b'\t').count();
                let is_last = line.get(tabs..) == Some(&document.delimiter);
                if is_last {
                    self.extent.documents.push(start..self.at);
                }
                self.at = self.at.saturating_add(length).saturating_add(1);
                if is_last {
                    break;
                }
            }
        }
    }
}

impl Iterator for Closers<'_> {
    /// The place of the parenthesis.
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let c = *self.extent.text.get(self.at)?;
            if c == b'#' && self.is_comment() {
                self.at = self.extent.find(self.at, b'\n').ok()?.saturating_sub(1);
                continue;
            }
            match self.extent.skip(self.at, self.depth) {
                Ok(Some(after)) => {
                    self.at = after;
                    continue;
                }
                Ok(None) => {}
                Err(trouble) => {
                    self.trouble = Some(trouble);
                    return None;
                }
            }
            if self.arithmetic() {
                continue;
            }
            let here = self.at;
            if c == b'<' && self.extent.text.get(here.saturating_add(1)) == Some(&b'<') {
                self.document();
                continue;
            }
            self.at = here.saturating_add(1);
            match c {
                b'\n' => self.texts(),
                b'(' => {
                    self.opened = self.opened.saturating_add(1);
                    if self.opened > PARENTHESES_MAX {
                        self.trouble = Some(Trouble::TooDeep);
                        return None;
                    }
                }
                b')' if self.opened == 0 => return Some(here),
                b')' => self.opened = self.opened.saturating_sub(1),
                _ => {}
            }
        }
    }
}
