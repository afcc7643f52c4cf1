//! JSON as it is written: every value with its place in the text, so that an edit can leave the rest
//! alone. Comments and commas before a bracket are passed over, as editors of settings allow them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use stockade::json;

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Object(Vec<Item>),
    List(Vec<Item>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Other,
}

/// A member of an object, or an element of a list, which has no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) key: String,
    /// Where it begins, with its key.
    pub(super) start: usize,
    pub(super) value: Node,
}

/// What is wrong with a file, and where.
#[derive(Debug, thiserror::Error)]
#[error("edit {}:{line}:{column}: {message}", path.display())]
pub(super) struct BadFile {
    path: PathBuf,
    line: usize,
    column: usize,
    message: String,
}

/// No settings are deeper.
const DEPTH_MAX: usize = 128;

impl Node {
    /// Reads a whole text.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, BadFile> {
        let mut reader = Reader { path, text, at: 0 };
        if text.starts_with('\u{feff}') {
            reader.at = '\u{feff}'.len_utf8();
        }
        reader.trivia()?;
        let node = reader.value(0)?;
        reader.trivia()?;
        if reader.rest().is_empty() {
            Ok(node)
        } else {
            Err(reader.wrong("nothing is expected here"))
        }
    }

    /// The items of an object or a list.
    pub(super) fn items(&self) -> &[Item] {
        match &self.what {
            What::Object(items) | What::List(items) => items,
            What::Text(_) | What::Other => &[],
        }
    }

    /// The member with this key.
    pub(super) fn member(&self, key: &str) -> Option<&Item> {
        match &self.what {
            What::Object(items) => items.iter().find(|item| item.key == key),
            What::List(_) | What::Text(_) | What::Other => None,
        }
    }

    /// A complaint about this value.
    pub(super) fn wrong(&self, path: &Path, text: &str, message: &str) -> BadFile {
        Reader { path, text, at: self.span.start }.wrong(message)
    }
}

/// Where the white space and comments end that begin at a place, as far as one line goes.
pub(super) fn end_of_line_comment(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut from = at;
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let blank = rest.len().saturating_sub(rest.trim_start_matches([' ', '\t']).len());
        let rest = rest.get(blank..).unwrap_or_default();
        let length = match comment(rest) {
            Some(Ok(length)) if !rest.get(..length).is_some_and(|text| text.contains('\n')) => {
                length
            }
            Some(_) | None => return end,
        };
        from = from.saturating_add(blank).saturating_add(length);
        end = from;
    }
}

/// The place behind a comma that follows, with only comments and white space before it.
pub(super) fn comma_after(text: &str, at: usize) -> Option<usize> {
    let mut reader = Reader { path: Path::new(""), text, at };
    reader.trivia().ok()?;
    reader.rest().starts_with(',').then(|| reader.at.saturating_add(1))
}

/// The length of the comment that a text begins with, or an error if it has no end.
fn comment(text: &str) -> Option<Result<usize, ()>> {
    if let Some(rest) = text.strip_prefix("//") {
        let line = rest.find('\n').map_or(rest, |end| rest.get(..end).unwrap_or_default());
        return Some(Ok(line.trim_end_matches('\r').len().saturating_add(2)));
    }
    let rest = text.strip_prefix("/*")?;
    Some(rest.find("*/").map(|end| end.saturating_add(4)).ok_or(()))
}

struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wrong(&self, message: &str) -> BadFile {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let (path, message) = (self.path.to_owned(), message.to_owned());
        BadFile { path, line, column: column.saturating_add(1), message }
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    fn trivia(&mut self) -> Result<(), BadFile> {
        loop {
            let rest = self.rest();
            self.skip(
                rest.len().saturating_sub(rest.trim_start_matches([' ', '\t', '\n', '\r']).len()),
            );
            match comment(self.rest()) {
                None => return Ok(()),
                Some(Ok(length)) => self.skip(length),
                Some(Err(())) => return Err(self.wrong("this comment has no end")),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, BadFile> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("this is nested too deeply"));
        }
        let start = self.at;
        let what = match self.rest().chars().next() {
            Some('{') => What::Object(self.items('}', depth)?),
            Some('[') => What::List(self.items(']', depth)?),
            Some('"') => What::Text(self.string()?),
            Some(c) if c.is_ascii_alphanumeric() || c == '-' => self.scalar()?,
            Some(_) => return Err(self.wrong("a value is expected here")),
            None => return Err(self.wrong("a value is expected here, and the file ends")),
        };
        Ok(Node { span: start..self.at, what })
    }

    fn items(&mut self, close: char, depth: usize) -> Result<Vec<Item>, BadFile> {
        self.skip(1);
        let mut items: Vec<Item> = Vec::new();
        loop {
            self.trivia()?;
            if self.rest().starts_with(close) {
                self.skip(1);
                return Ok(items);
            }
            let start = self.at;
            let key = if close == '}' { self.key(&items)? } else { String::new() };
            let value = self.value(depth.saturating_add(1))?;
            items.push(Item { key, start, value });
            self.trivia()?;
            if self.rest().starts_with(',') {
                self.skip(1);
            } else if !self.rest().starts_with(close) {
                return Err(self.wrong(&format!("a comma or {close} is expected here")));
            }
        }
    }

    fn key(&mut self, known: &[Item]) -> Result<String, BadFile> {
        if !self.rest().starts_with('"') {
            return Err(self.wrong("a key in double quotes is expected here"));
        }
        let (at, key) = (self.at, self.string()?);
        if known.iter().any(|item| item.key == key) {
            self.at = at;
            return Err(self.wrong(&format!("the key {key:?} is there twice")));
        }
        self.trivia()?;
        if !self.rest().starts_with(':') {
            return Err(self.wrong("a colon is expected here"));
        }
        self.skip(1);
        self.trivia()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<String, BadFile> {
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find_map(|(at, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends.then(|| at.saturating_add(1))
        });
        let text = end.and_then(|end| self.rest().get(..end));
        let text = text.ok_or_else(|| self.wrong("this text has no end"))?;
        let parsed = json::from_str(text).map_err(|_bad| self.wrong("this is no text of JSON"))?;
        self.skip(text.len());
        Ok(parsed)
    }

    fn scalar(&mut self) -> Result<What, BadFile> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or_default();
        if json::from_str::<serde_json::Value>(text).is_err() {
            return Err(self.wrong(&format!("{text:?} is no value of JSON")));
        }
        self.skip(length);
        Ok(What::Other)
    }
}
