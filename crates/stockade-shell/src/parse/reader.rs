//! Reads the pieces of a word from its text, with the quotes and backslashes of bash.

use super::FaultKind;
use super::front::{Front, SourceText};
use crate::ast::{Piece, Span, Word};

/// What characters mean depends on where the word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// A word of a command.
    Plain,
    /// A pattern of `case` or a word in `[[ … ]]`.
    Pattern,
    /// After `=~`: parentheses and bars are text.
    Regex,
    /// In an array; a blank or `)` ends it.
    Element,
    /// In `"…"`; the quote ends it.
    Double,
    /// In a here-document.
    Here,
    /// In a here-document whose leading tabs are taken off.
    HereTabs,
    /// In `${x:-…}`; the brace ends it.
    Operand,
    /// In `"${x:-…}"`; the brace ends it.
    QuotedOperand,
    /// In `$((…))`, `$[…]`, `((…))` and `[…]`.
    Arithmetic,
}

impl Setting {
    /// Whether single quotes are text and expansions stay in one word.
    pub(super) fn is_quoted(self) -> bool {
        match self {
            Self::Plain | Self::Pattern | Self::Regex | Self::Element | Self::Operand => false,
            Self::Double | Self::Here | Self::HereTabs => true,
            Self::QuotedOperand | Self::Arithmetic => true,
        }
    }

    /// Whether a backslash is taken off before this character.
    fn escapes(self, c: u8) -> bool {
        match self {
            Self::Double => matches!(c, b'$' | b'`' | b'"' | b'\\'),
            Self::QuotedOperand => matches!(c, b'$' | b'`' | b'"' | b'\\' | b'}'),
            Self::Here | Self::HereTabs => matches!(c, b'$' | b'`' | b'\\'),
            Self::Arithmetic => matches!(c, b'$' | b'`' | b'"' | b'\\'),
            Self::Plain | Self::Pattern | Self::Regex | Self::Element | Self::Operand => true,
        }
    }
}

/// Reads a part of a text from left to right.
#[derive(Debug)]
pub(super) struct Reader<'f, 't> {
    pub(super) front: &'f mut Front,
    pub(super) text: SourceText<'t>,
    /// The next byte.
    pub(super) at: usize,
    /// The byte after the last that may be read.
    pub(super) end: usize,
    /// Where substitutions were found, for comparison with the parser.
    pub(super) substitutions: Vec<(usize, usize)>,
}

impl<'f, 't> Reader<'f, 't> {
    /// For a part of a text.
    pub(super) fn new(
        front: &'f mut Front,
        text: SourceText<'t>,
        start: usize,
        end: usize,
    ) -> Self {
        let end = end.min(text.whole.len());
        Self { front, text, at: start, end, substitutions: Vec::new() }
    }

    /// Reads all of the part as one word.
    pub(super) fn word(&mut self, setting: Setting) -> Word {
        let start = self.at;
        let pieces = self.pieces(setting);
        if self.at < self.end {
            self.fault(self.at, FaultKind::Hidden, "the word should have ended before this");
            self.at = self.end;
        }
        Word { pieces, span: self.text.span(start, self.at) }
    }

    /// Reads pieces until the setting ends or there is no more text.
    pub(super) fn pieces(&mut self, setting: Setting) -> Vec<Piece> {
        let mut pieces = Pieces::default();
        let mut parentheses = 0_usize;
        self.skip_tabs(setting);
        while let Some(c) = self.peek(0) {
            match c {
                b'"' if setting == Setting::Double => break,
                b'}' if matches!(setting, Setting::Operand | Setting::QuotedOperand) => break,
                b' ' | b'\t' | b'\n' | b')' if setting == Setting::Element && parentheses == 0 => {
                    break;
                }
                b'\\' => self.backslash(setting, &mut pieces),
                b'\'' if !setting.is_quoted() => self.single_quotes(&mut pieces),
                b'\'' if setting == Setting::QuotedOperand => self.doubtful_quote(&mut pieces),
                b'"' if !matches!(setting, Setting::Here | Setting::HereTabs) => {
                    self.double_quotes(&mut pieces);
                }
                b'`' => self.backticks(setting, &mut pieces),
                b'$' => self.dollar(setting, &mut pieces),
                b'<' | b'>' if !setting.is_quoted() && self.peek(1) == Some(b'(') => {
                    self.process(&mut pieces);
                }
                b'(' | b')' | b'|' | b'&' | b';' | b'<' | b'>' | b' ' | b'\t' | b'\n' => {
                    self.special(setting, c, &mut parentheses, &mut pieces);
                }
                _ => self.run(setting, &mut pieces),
            }
        }
        pieces.list
    }

    /// The byte so many after the next one.
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at.saturating_add(ahead);
        if at < self.end { self.text.whole.as_bytes().get(at).copied() } else { None }
    }

    /// Goes on by so many bytes.
    pub(super) fn step(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.end);
    }

    /// What stands between two bytes.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.whole.get(start..end).unwrap_or_default()
    }

    /// From a byte to where the part ends.
    pub(super) fn rest(&self, start: usize) -> &'t str {
        self.slice(start, self.end)
    }

    /// A fault from a byte to where the reader is.
    pub(super) fn fault(&mut self, start: usize, kind: FaultKind, text: &str) {
        let span = self.span_from(start);
        self.front.fault(span, kind, text);
    }

    /// From a byte to where the reader is, at least that byte.
    pub(super) fn span_from(&self, start: usize) -> Span {
        self.text.span(start, self.at.max(start.saturating_add(1)))
    }

    /// Characters without a meaning, up to the next that may have one.
    fn run(&mut self, setting: Setting, pieces: &mut Pieces) {
        let start = self.at;
        self.step(1);
        while let Some(c) = self.peek(0) {
            if b"\\'\"`$<>()|&; \t\n}".contains(&c) {
                break;
            }
            self.step(1);
        }
        pieces.text(self.slice(start, self.at), setting.is_quoted());
    }

    /// A character that ends words unless something protects it.
    fn special(&mut self, setting: Setting, c: u8, parentheses: &mut usize, pieces: &mut Pieces) {
        let start = self.at;
        self.step(1);
        let is_glob_open = c == b'(' && self.follows_glob_operator(start);
        match setting {
            Setting::Plain | Setting::Pattern | Setting::Element => match c {
                b'(' if is_glob_open || *parentheses > 0 => {
                    *parentheses = parentheses.saturating_add(1);
                    pieces.list.push(Piece::Opaque);
                    return;
                }
                b')' if *parentheses > 0 => {
                    *parentheses = parentheses.saturating_sub(1);
                    return;
                }
                _ if *parentheses > 0 => {}
                _ => self.fault(start, FaultKind::Hidden, "a word cannot hold this character"),
            },
            Setting::Regex | Setting::Operand | Setting::QuotedOperand => {}
            Setting::Double | Setting::Here | Setting::HereTabs | Setting::Arithmetic => {}
        }
        pieces.text(self.slice(start, self.at), setting.is_quoted());
        if c == b'\n' {
            self.skip_tabs(setting);
        }
    }

    /// Whether a parenthesis belongs to an extended pattern such as `@(a|b)`.
    fn follows_glob_operator(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.text.whole.as_bytes().get(at));
        before.is_some_and(|c| b"?*+@!".contains(c))
    }

    fn skip_tabs(&mut self, setting: Setting) {
        while setting == Setting::HereTabs && self.peek(0) == Some(b'\t') {
            self.step(1);
        }
    }

    fn backslash(&mut self, setting: Setting, pieces: &mut Pieces) {
        let start = self.at;
        self.step(1);
        match self.peek(0) {
            Some(b'\n') => {
                self.step(1);
                self.skip_tabs(setting);
            }
            Some(c) if setting.escapes(c) => {
                let length = self.rest(self.at).chars().next().map_or(1, char::len_utf8);
                let escaped = self.at;
                self.step(length);
                pieces.text(self.slice(escaped, self.at), true);
            }
            Some(_) | None => pieces.text(self.slice(start, self.at), true),
        }
    }

    fn single_quotes(&mut self, pieces: &mut Pieces) {
        let start = self.at;
        self.step(1);
        let open = self.at;
        match self.rest(open).find('\'') {
            Some(length) => {
                self.step(length.saturating_add(1));
                pieces.text(self.slice(open, open.saturating_add(length)), true);
            }
            None => {
                self.at = self.end;
                self.fault(start, FaultKind::Syntax, "the quote is not closed");
            }
        }
    }

    /// In `"${x:-'…'}"` the quotes are text, but bash looks for the brace as if they were not.
    fn doubtful_quote(&mut self, pieces: &mut Pieces) {
        let start = self.at;
        self.step(1);
        let rest = self.rest(self.at);
        let inside = rest.find('\'').and_then(|length| rest.get(..length));
        if inside.is_some_and(|inside| inside.contains(['}', '"', '\\'])) {
            self.fault(start, FaultKind::Hidden, "it is not certain where this quote ends");
        }
        pieces.text("'", true);
    }

    pub(super) fn double_quotes(&mut self, pieces: &mut Pieces) {
        let start = self.at;
        self.step(1);
        let span = self.span_from(start);
        let known = self.front.faults();
        let inner = self.nested(span, |reader| reader.pieces(Setting::Double)).unwrap_or_default();
        if inner.is_empty() {
            pieces.text("", true);
        }
        pieces.append(inner);
        if self.peek(0) == Some(b'"') {
            self.step(1);
        } else {
            self.at = self.end;
            // What was given up inside explains it.
            if self.front.faults() == known {
                self.fault(start, FaultKind::Syntax, "the quote is not closed");
            }
        }
    }

    /// Reads something one deeper; too deep, the rest of the part is given up.
    pub(super) fn nested<T>(
        &mut self,
        span: Span,
        read: impl FnOnce(&mut Reader<'_, 't>) -> T,
    ) -> Option<T> {
        let (text, at, end) = (self.text, self.at, self.end);
        let found = std::mem::take(&mut self.substitutions);
        let result = self.front.deeper(span, |front| {
            let mut inner = Reader { front, text, at, end, substitutions: found };
            let value = read(&mut inner);
            (value, inner.at, inner.substitutions)
        });
        match result {
            Some((value, at, substitutions)) => {
                self.at = at;
                self.substitutions = substitutions;
                Some(value)
            }
            None => {
                self.at = self.end;
                None
            }
        }
    }
}

/// Pieces in the making; text that is protected alike is one piece.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) list: Vec<Piece>,
}

impl Pieces {
    /// Adds text.
    pub(super) fn text(&mut self, more: &str, quoted: bool) {
        match self.list.last_mut() {
            Some(Piece::Text { text, quoted: before }) if *before == quoted => text.push_str(more),
            _ if more.is_empty() && !quoted => {}
            _ => self.list.push(Piece::Text { text: more.to_owned(), quoted }),
        }
    }

    /// Adds pieces that were read elsewhere.
    pub(super) fn append(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            if let Piece::Text { text, quoted } = piece {
                self.text(&text, quoted);
            } else {
                self.list.push(piece);
            }
        }
    }
}
