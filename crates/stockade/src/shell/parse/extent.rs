//! Where something that was opened is closed, by quotes and parentheses alone.

/// Something is not closed, or too deep to be followed: then nothing around it is closed either,
/// and nobody needs to look at the same bytes again.
#[derive(Debug)]
pub(super) struct Unclosed;

/// Quotes inside of quotes are followed this deep.
const NESTED_MAX: usize = 16;

/// The byte after what begins here, if it is a quote, an escape or a substitution.
fn skip(text: &[u8], at: usize, depth: usize) -> Result<Option<usize>, Unclosed> {
    let after = at.saturating_add(1);
    let second = text.get(after);
    let end = match (text.get(at), second) {
        (Some(b'\\'), _) => at.saturating_add(2),
        (Some(b'\''), _) => find(text, after, b'\'')?,
        (Some(b'"'), _) => double_quotes(text, after, depth)?,
        (Some(b'`'), _) => backticks(text, after)?,
        (Some(b'$'), Some(b'\'')) => ansi_quotes(text, after.saturating_add(1))?,
        (Some(b'$'), Some(b'{')) => {
            nested_pair(text, after.saturating_add(1), (b'{', b'}'), depth)?
        }
        _ => return Ok(None),
    };
    Ok(Some(end))
}

fn find(text: &[u8], from: usize, wanted: u8) -> Result<usize, Unclosed> {
    let rest = text.get(from..).ok_or(Unclosed)?;
    let length = rest.iter().position(|c| *c == wanted).ok_or(Unclosed)?;
    Ok(from.saturating_add(length).saturating_add(1))
}

/// The byte after the closing backtick.
pub(super) fn backticks(text: &[u8], from: usize) -> Result<usize, Unclosed> {
    escaped_until(text, from, b'`')
}

/// The byte after the quote that ends `$'…'`.
pub(super) fn ansi_quotes(text: &[u8], from: usize) -> Result<usize, Unclosed> {
    escaped_until(text, from, b'\'')
}

fn escaped_until(text: &[u8], from: usize, close: u8) -> Result<usize, Unclosed> {
    let mut at = from;
    loop {
        match *text.get(at).ok_or(Unclosed)? {
            b'\\' => at = at.saturating_add(2),
            c if c == close => return Ok(at.saturating_add(1)),
            _ => at = at.saturating_add(1),
        }
    }
}

fn double_quotes(text: &[u8], from: usize, depth: usize) -> Result<usize, Unclosed> {
    let depth = depth.checked_sub(1).ok_or(Unclosed)?;
    let mut at = from;
    loop {
        let c = *text.get(at).ok_or(Unclosed)?;
        let inner = at.saturating_add(2);
        at = match (c, text.get(at.saturating_add(1))) {
            (b'"', _) => return Ok(at.saturating_add(1)),
            (b'\\', _) => inner,
            (b'`', _) => backticks(text, at.saturating_add(1))?,
            (b'$', Some(b'(')) => {
                let close = Closers::within(text, inner, depth).next().ok_or(Unclosed)?;
                close.saturating_add(1)
            }
            (b'$', Some(b'{')) => nested_pair(text, inner, (b'{', b'}'), depth)?,
            _ => at.saturating_add(1),
        };
    }
}

/// The byte after the closing one of a pair whose opening one stands before `from`.
pub(super) fn pair(text: &[u8], from: usize, pair: (u8, u8)) -> Result<usize, Unclosed> {
    nested_pair(text, from, pair, NESTED_MAX)
}

fn nested_pair(
    text: &[u8],
    from: usize,
    (open, close): (u8, u8),
    depth: usize,
) -> Result<usize, Unclosed> {
    let depth = depth.checked_sub(1).ok_or(Unclosed)?;
    let mut at = from;
    let mut opened = 1_usize;
    loop {
        let c = *text.get(at).ok_or(Unclosed)?;
        if let Some(after) = skip(text, at, depth)? {
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

/// The byte after the first of the two parentheses that close `((`, if they close it together.
pub(super) fn arithmetic(text: &[u8], from: usize) -> Result<Option<usize>, Unclosed> {
    let after = pair(text, from, (b'(', b')'))?;
    Ok((text.get(after) == Some(&b')')).then_some(after))
}

/// Parentheses that are closed apart cost a second look.
const ATTEMPTS_MAX: usize = 64;

/// Finds the parentheses that may close a substitution, one after the other.
#[derive(Debug)]
pub(super) struct Closers<'t> {
    text: &'t [u8],
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
        Self::within(text.as_bytes().get(..end).unwrap_or_default(), from, NESTED_MAX)
    }

    fn within(text: &'t [u8], at: usize, depth: usize) -> Self {
        Self { text, at, opened: 0, depth, attempts: ATTEMPTS_MAX, documents: Vec::new() }
    }

    /// Goes over `((…))`, in which `<<` is no here-document.
    fn arithmetic(&mut self) -> bool {
        let inner = self.at.saturating_add(2);
        let is_double = self.text.get(self.at..inner) == Some(b"((");
        if !is_double || self.attempts == 0 {
            return false;
        }
        match arithmetic(self.text, inner) {
            Ok(Some(after)) => {
                self.at = after.saturating_add(1);
                return true;
            }
            Ok(None) => self.attempts = self.attempts.saturating_sub(1),
            Err(Unclosed) => self.attempts = 0,
        }
        false
    }

    fn is_comment(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        before.is_none_or(|c| b" \t\n;&|()".contains(c))
    }

    /// Goes over `<<` and its delimiter.
    fn document(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(b"<<<") {
            self.at = self.at.saturating_add(3);
            return;
        }
        let tabs = rest.starts_with(b"<<-");
        self.at = self.at.saturating_add(if tabs { 3 } else { 2 });
        while let Some(b' ' | b'\t') = self.text.get(self.at) {
            self.at = self.at.saturating_add(1);
        }
        let ends = |c: &u8| b" \t\n;&|<>()".contains(c);
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let delimiter = word.iter().copied().filter(|c| !b"'\"\\".contains(c)).collect();
        self.at = self.at.saturating_add(length);
        self.documents.push(Document { delimiter, tabs });
    }

    /// Goes over the texts that begin after a newline.
    fn texts(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            while let Some(rest) = self.text.get(self.at..).filter(|rest| !rest.is_empty()) {
                let length = rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
                let line = rest.get(..length).unwrap_or_default();
                let tabs = line.iter().take_while(|c| document.tabs && **c == b'\t').count();
                self.at = self.at.saturating_add(length).saturating_add(1);
                if line.get(tabs..) == Some(&document.delimiter) {
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
            let c = *self.text.get(self.at)?;
            if c == b'#' && self.is_comment() {
                self.at = find(self.text, self.at, b'\n').ok()?.saturating_sub(1);
                continue;
            }
            if let Some(after) = skip(self.text, self.at, self.depth).ok()? {
                self.at = after;
                continue;
            }
            if self.arithmetic() {
                continue;
            }
            let here = self.at;
            if c == b'<' && self.text.get(here.saturating_add(1)) == Some(&b'<') {
                self.document();
                continue;
            }
            self.at = here.saturating_add(1);
            match c {
                b'\n' => self.texts(),
                b'(' => self.opened = self.opened.saturating_add(1),
                b')' if self.opened == 0 => return Some(here),
                b')' => self.opened = self.opened.saturating_sub(1),
                _ => {}
            }
        }
    }
}
