//! Here-documents: their text begins after the line and ends at a line of its own.

use super::{Marks, Open, Scan};

/// A here-document whose text has not begun.
#[derive(Debug)]
pub(super) struct Pending {
    delimiter: Vec<u8>,
    is_literal: bool,
    tabs: bool,
}

impl Pending {
    /// Reads the delimiter after `<<`; also returns the byte after it.
    pub(super) fn read(bytes: &[u8], from: usize) -> Option<(Self, usize)> {
        let tabs = bytes.get(from) == Some(&b'-');
        let mut at = from.saturating_add(usize::from(tabs));
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at = at.saturating_add(1);
        }
        let mut pending = Self { delimiter: Vec::new(), is_literal: false, tabs };
        let mut quote = None;
        while let Some(c) = bytes.get(at) {
            match (c, quote) {
                (c, Some(open)) if *c == open => quote = None,
                (b'\'' | b'"', None) => {
                    quote = Some(*c);
                    pending.is_literal = true;
                }
                (b'\\', None) => {
                    pending.is_literal = true;
                    at = at.saturating_add(1);
                    pending.delimiter.push(*bytes.get(at)?);
                }
                (b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')', None) => {
                    break;
                }
                _ => pending.delimiter.push(*c),
            }
            at = at.saturating_add(1);
        }
        quote.is_none().then_some((pending, at))
    }

    /// The text from a byte on: where it ends, and where the line after it begins.
    fn text(&self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        let mut at = from;
        let mut joined = false;
        loop {
            let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
            let length = rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
            let line = rest.get(..length)?;
            let tabs = line.iter().take_while(|c| self.tabs && **c == b'\t').count();
            if !joined && line.get(tabs..) == Some(&self.delimiter) {
                return Some((at, at.saturating_add(length)));
            }
            let slashes = line.iter().rev().take_while(|c| **c == b'\\').count();
            joined = !self.is_literal && slashes.checked_rem(2) == Some(1);
            at = at.saturating_add(length).saturating_add(1);
        }
    }
}

impl Marks {
    /// Walks over the texts that begin after this newline; returns the newline after them.
    pub(super) fn documents(&mut self, scan: &mut Scan, deep: usize) -> usize {
        let mut at = scan.at;
        for pending in std::mem::take(&mut scan.pending) {
            let start = at.saturating_add(1);
            let Some((end, after)) = pending.text(scan.bytes, start) else {
                self.lose(scan.at);
                return scan.bytes.len();
            };
            if !pending.is_literal {
                let text = scan.bytes.get(..end).unwrap_or_default();
                self.scan(text, start, Open::Here, deep);
            }
            at = after;
        }
        scan.begins = true;
        at
    }
}
