//! Where something that was opened is closed, by quotes and parentheses alone.

/// The byte after what begins here, if it is a quote, an escape or a substitution.
fn skip(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    let after = at.saturating_add(1);
    match text.get(at)? {
        b'\\' => Some(at.saturating_add(2)),
        b'\'' => find(text, after, b'\''),
        b'"' => double_quotes(text, after, depth),
        b'`' => backticks(text, after),
        b'$' => match text.get(after)? {
            b'\'' => ansi_quotes(text, after.saturating_add(1)),
            b'{' => pair(text, after.saturating_add(1), b'{', b'}', depth),
            _ => None,
        },
        _ => None,
    }
}

fn find(text: &[u8], from: usize, wanted: u8) -> Option<usize> {
    let length = text.get(from..)?.iter().position(|c| *c == wanted)?;
    Some(from.saturating_add(length).saturating_add(1))
}

/// The byte after the closing backtick.
pub(super) fn backticks(text: &[u8], from: usize) -> Option<usize> {
    escaped_until(text, from, b'`')
}

/// The byte after the quote that ends `$'…'`.
pub(super) fn ansi_quotes(text: &[u8], from: usize) -> Option<usize> {
    escaped_until(text, from, b'\'')
}

fn escaped_until(text: &[u8], from: usize, close: u8) -> Option<usize> {
    let mut at = from;
    loop {
        match *text.get(at)? {
            b'\\' => at = at.saturating_add(2),
            c if c == close => return Some(at.saturating_add(1)),
            _ => at = at.saturating_add(1),
        }
    }
}

fn double_quotes(text: &[u8], from: usize, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let mut at = from;
    loop {
        let c = *text.get(at)?;
        let next = text.get(at.saturating_add(1)).copied();
        at = match (c, next) {
            (b'"', _) => return Some(at.saturating_add(1)),
            (b'\\', _) => at.saturating_add(2),
            (b'`', _) => backticks(text, at.saturating_add(1))?,
            (b'$', Some(b'(')) => pair(text, at.saturating_add(2), b'(', b')', depth)?,
            (b'$', Some(b'{')) => pair(text, at.saturating_add(2), b'{', b'}', depth)?,
            _ => at.saturating_add(1),
        };
    }
}

/// The byte after the closing one of a pair whose opening one stands before `from`.
pub(super) fn pair(text: &[u8], from: usize, open: u8, close: u8, depth: usize) -> Option<usize> {
    let inner = depth.checked_sub(1)?;
    let mut at = from;
    let mut opened = 1_usize;
    loop {
        let c = *text.get(at)?;
        if let Some(after) = skip(text, at, inner) {
            at = after;
            continue;
        }
        at = at.saturating_add(1);
        if c == close {
            opened = opened.saturating_sub(1);
            if opened == 0 {
                return Some(at);
            }
        } else if c == open {
            opened = opened.saturating_add(1);
        }
    }
}

/// Quotes inside of quotes are followed this deep.
pub(super) const NESTED_MAX: usize = 16;

/// Finds the parentheses that may close a substitution, one after the other.
#[derive(Debug)]
pub(super) struct Closers<'t> {
    text: &'t [u8],
    at: usize,
    opened: usize,
}

impl<'t> Closers<'t> {
    /// From the byte after the opening parenthesis.
    pub(super) fn new(text: &'t str, from: usize, end: usize) -> Self {
        Self { text: text.as_bytes().get(..end).unwrap_or_default(), at: from, opened: 0 }
    }

    fn is_comment(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        before.is_none_or(|c| b" \t\n;&|()".contains(c))
    }
}

impl Iterator for Closers<'_> {
    /// The place of the parenthesis.
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let c = *self.text.get(self.at)?;
            if c == b'#' && self.is_comment() {
                self.at = find(self.text, self.at, b'\n')?;
                continue;
            }
            if let Some(after) = skip(self.text, self.at, NESTED_MAX) {
                self.at = after;
                continue;
            }
            let here = self.at;
            self.at = here.saturating_add(1);
            match c {
                b'(' => self.opened = self.opened.saturating_add(1),
                b')' if self.opened == 0 => return Some(here),
                b')' => self.opened = self.opened.saturating_sub(1),
                _ => {}
            }
        }
    }
}
