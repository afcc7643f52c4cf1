//! The part of Starlark in which rules are written: calls with named arguments, texts and lists.

use crate::LoadError;
use crate::config::spot::Spot;
use std::path::Path;

/// One call, `name(key = value, …)`.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) arguments: Vec<(String, Value)>,
}

/// A value, and the byte at which it begins.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) offset: usize,
    pub(super) kind: ValueKind,
}

#[derive(Debug)]
pub(super) enum ValueKind {
    Text(String),
    List(Vec<Value>),
}

/// Lists in lists in lists are no rules.
const DEPTH_MAX: usize = 8;

/// Reads a file from its beginning to its end.
pub(super) struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(path: &'t Path, text: &'t str) -> Self {
        Self { path, text, at: 0 }
    }

    /// The next call, or nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Call>, LoadError> {
        self.skip();
        while self.takes(';') {
            self.skip();
        }
        if self.rest().is_empty() {
            return Ok(None);
        }
        let offset = self.at;
        let name = self.name().ok_or_else(|| {
            self.wrong(self.at, "here should be a rule; write prefix_rule(pattern = [\"ls\"])")
        })?;
        self.skip();
        if !self.takes('(') {
            let message = format!(
                "`{name}` is not followed by a parenthesis; only calls of prefix_rule are understood"
            );
            return Err(self.wrong(offset, message));
        }
        let arguments = self.arguments()?;
        Ok(Some(Call { name, offset, arguments }))
    }

    fn arguments(&mut self) -> Result<Vec<(String, Value)>, LoadError> {
        let mut arguments: Vec<(String, Value)> = Vec::new();
        loop {
            self.skip();
            if self.takes(')') {
                return Ok(arguments);
            }
            let offset = self.at;
            let key = self.name().ok_or_else(|| {
                self.wrong(offset, "arguments have names; write pattern = [\"ls\"]")
            })?;
            self.skip();
            if !self.takes('=') {
                return Err(self.wrong(self.at, format!("there is no `=` behind `{key}`")));
            }
            if arguments.iter().any(|(known, _)| *known == key) {
                return Err(self.wrong(offset, format!("`{key}` is there twice")));
            }
            let value = self.value(0)?;
            arguments.push((key, value));
            self.skip();
            if !self.takes(',') && !self.rest().starts_with(')') {
                return Err(self.wrong(self.at, "a comma or a closing parenthesis is missing"));
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, LoadError> {
        self.skip();
        let offset = self.at;
        let kind = match self.rest().chars().next() {
            Some('[') if depth < DEPTH_MAX => ValueKind::List(self.list(depth)?),
            Some('"' | '\'') => ValueKind::Text(self.quoted()?),
            _ => {
                let message = "only texts in quotes and lists of them are understood";
                return Err(self.wrong(offset, message));
            }
        };
        Ok(Value { offset, kind })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, LoadError> {
        let open = self.at;
        self.takes('[');
        let mut values = Vec::new();
        loop {
            self.skip();
            if self.takes(']') {
                return Ok(values);
            }
            if self.rest().is_empty() {
                return Err(self.wrong(open, "the bracket is not closed"));
            }
            values.push(self.value(depth.saturating_add(1))?);
            self.skip();
            if self.rest().is_empty() {
                return Err(self.wrong(open, "the bracket is not closed"));
            }
            if !self.takes(',') && !self.rest().starts_with(']') {
                return Err(self.wrong(self.at, "a comma or a closing bracket is missing"));
            }
        }
    }

    /// A text in quotes, on one line, or on several in three quotes.
    fn quoted(&mut self) -> Result<String, LoadError> {
        let open = self.at;
        let mark = self.letter().unwrap_or('"');
        let two: String = [mark, mark].iter().collect();
        let three = self.rest().starts_with(&two);
        // A quote and no second behind the next is an empty text.
        if !three && self.takes(mark) {
            return Ok(String::new());
        }
        let end = if three { format!("{mark}{two}") } else { mark.to_string() };
        if three {
            self.at = self.at.saturating_add(two.len());
        }
        let mut text = String::new();
        loop {
            if self.rest().starts_with(&end) {
                self.at = self.at.saturating_add(end.len());
                return Ok(text);
            }
            let letter = self.letter();
            match letter {
                Some('\\') => text.push(self.escaped()?),
                Some('\n') if end.len() == 1 => {
                    return Err(self.wrong(open, "the quote is not closed on its line"));
                }
                Some(letter) => text.push(letter),
                None => return Err(self.wrong(open, "the quote is not closed")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, LoadError> {
        let at = self.at.saturating_sub(1);
        match self.letter() {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some(mark @ ('\\' | '"' | '\'')) => Ok(mark),
            _ => Err(self.wrong(at, "this escape is not understood; write \\\\ for a backslash")),
        }
    }

    fn name(&mut self) -> Option<String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let rest = self.rest();
        let end = rest.find(|letter| !fits(letter)).unwrap_or(rest.len());
        let name = rest.get(..end).filter(|name| !name.is_empty())?;
        self.at = self.at.saturating_add(end);
        Some(name.to_owned())
    }

    /// Spaces, lines and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let gap = rest.len().saturating_sub(rest.trim_start().len());
            self.at = self.at.saturating_add(gap);
            let rest = self.rest();
            if !rest.starts_with('#') {
                return;
            }
            self.at = self.at.saturating_add(rest.find('\n').unwrap_or(rest.len()));
        }
    }

    fn takes(&mut self, mark: char) -> bool {
        let found = self.rest().starts_with(mark);
        if found {
            self.at = self.at.saturating_add(mark.len_utf8());
        }
        found
    }

    fn letter(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.at = self.at.saturating_add(letter.len_utf8());
        Some(letter)
    }

    fn rest(&self) -> &'t str {
        self.rest_from(self.at)
    }

    fn rest_from(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn line(&self, offset: usize) -> usize {
        Spot::of(self.text, offset).line
    }

    pub(super) fn wrong(&self, offset: usize, message: impl Into<String>) -> LoadError {
        let Spot { line, column } = Spot::of(self.text, offset);
        LoadError::Place { path: self.path.to_owned(), line, column, message: message.into() }
    }
}
