//! Where something that was opened is closed, by quotes and parentheses alone.

use std::ops::Range;

use super::closers::Closers;

/// Why an end is not found: then nothing around it ends either, and nobody needs to look at the
/// same bytes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Something is not closed.
    Unclosed,
    /// It is too deep to be followed.
    TooDeep,
}

/// Quotes and braces inside of each other are followed this deep.
pub(super) const NESTED_MAX: usize = 16;

/// Follows quotes and collects the texts of here-documents on the way.
#[derive(Debug)]
pub(super) struct Extent<'t> {
    pub(super) text: &'t [u8],
    /// The texts of here-documents that were gone over.
    pub(super) documents: Vec<Range<usize>>,
}

impl<'t> Extent<'t> {
    /// Of a text up to a byte.
    pub(super) fn new(text: &'t str, end: usize) -> Self {
        let text = text.as_bytes().get(..end).unwrap_or_default();
        Self { text, documents: Vec::new() }
    }

    /// The byte after what begins here, if it is a quote, an escape or a substitution.
    pub(super) fn skip(&mut self, at: usize, depth: usize) -> Result<Option<usize>, Trouble> {
        let after = at.saturating_add(1);
        let inner = after.saturating_add(1);
        let end = match (self.text.get(at), self.text.get(after)) {
            (Some(b'\\'), _) => inner,
            (Some(b'\''), _) => self.find(after, b'\'')?,
            (Some(b'"'), _) => self.double_quotes(after, depth)?,
            (Some(b'`'), _) => self.escaped_until(after, b'`')?,
            (Some(b'$'), Some(b'\'')) => self.escaped_until(inner, b'\'')?,
            (Some(b'$'), Some(b'{')) => self.nested_pair(inner, (b'{', b'}'), depth)?,
            _ => return Ok(None),
        };
        Ok(Some(end))
    }

    /// The byte after the next one of a kind.
    pub(super) fn find(&self, from: usize, wanted: u8) -> Result<usize, Trouble> {
        let rest = self.text.get(from..).ok_or(Trouble::Unclosed)?;
        let length = rest.iter().position(|c| *c == wanted).ok_or(Trouble::Unclosed)?;
        Ok(from.saturating_add(length).saturating_add(1))
    }

    /// The byte after the one that closes, where a backslash protects the next one.
    pub(super) fn escaped_until(&self, from: usize, close: u8) -> Result<usize, Trouble> {
        let mut at = from;
        loop {
            match *self.text.get(at).ok_or(Trouble::Unclosed)? {
                b'\\' => at = at.saturating_add(2),
                c if c == close => return Ok(at.saturating_add(1)),
                _ => at = at.saturating_add(1),
            }
        }
    }

    fn double_quotes(&mut self, from: usize, depth: usize) -> Result<usize, Trouble> {
        let depth = depth.checked_sub(1).ok_or(Trouble::TooDeep)?;
        let mut at = from;
        loop {
            let c = *self.text.get(at).ok_or(Trouble::Unclosed)?;
            let inner = at.saturating_add(2);
            at = match (c, self.text.get(at.saturating_add(1))) {
                (b'"', _) => return Ok(at.saturating_add(1)),
                (b'\\', _) => inner,
                (b'`', _) => self.escaped_until(at.saturating_add(1), b'`')?,
                (b'$', Some(b'(')) => self.commands(inner, depth)?,
                (b'$', Some(b'{')) => self.nested_pair(inner, (b'{', b'}'), depth)?,
                _ => at.saturating_add(1),
            };
        }
    }

    /// The byte after the parenthesis that closes commands.
    fn commands(&mut self, from: usize, depth: usize) -> Result<usize, Trouble> {
        let extent = Self { text: self.text, documents: std::mem::take(&mut self.documents) };
        let mut closers = Closers::within(extent, from, depth);
        let close = closers.next();
        self.documents = closers.extent.documents;
        match (close, closers.trouble) {
            (Some(close), _) => Ok(close.saturating_add(1)),
            (None, trouble) => Err(trouble.unwrap_or(Trouble::Unclosed)),
        }
    }

    /// The byte after the closing one of a pair whose opening one stands before `from`.
    pub(super) fn pair(&mut self, from: usize, pair: (u8, u8)) -> Result<usize, Trouble> {
        self.nested_pair(from, pair, NESTED_MAX)
    }

    fn nested_pair(
        &mut self,
        from: usize,
        (open, close): (u8, u8),
        depth: usize,
    ) -> Result<usize, Trouble> {
        let depth = depth.checked_sub(1).ok_or(Trouble::TooDeep)?;
        let mut at = from;
        let mut opened = 1_usize;
        loop {
            let c = *self.text.get(at).ok_or(Trouble::Unclosed)?;
            if let Some(after) = self.skip(at, depth)? {
                at = after;
                continue;
            }
            at = at.saturating_add(1);
            if c == close {
                opened = opened.saturating_sub(1);
                if opened == 0 {
                    return Ok(at);
                }
            } else if c == open {
                opened = opened.saturating_add(1);
            }
        }
    }

    /// The byte after the first of the two parentheses that close `((`, if they do so together.
    pub(super) fn arithmetic(&mut self, from: usize) -> Result<Option<usize>, Trouble> {
        let after = self.pair(from, (b'(', b')'))?;
        Ok((self.text.get(after) == Some(&b')')).then_some(after))
    }
}
