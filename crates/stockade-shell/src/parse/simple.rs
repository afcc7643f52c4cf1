//! Simple commands: assignments, words, and the builtins that the parser knows by name.

use shuck_ast::{BuiltinCommand, DeclClause, DeclOperand, SimpleCommand, Stmt};

use super::FaultKind;
use super::reader::{Pieces, Reader, Setting};
use super::statements::Converter;
use crate::ast::{Assignment, Piece, Simple, Word};

/// Words that are no command names where a command begins.
const RESERVED: [&str; 22] = [
    "!", "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "in", "select", "function", "time", "coproc", "[[", "]]",
];

impl Converter<'_, '_> {
    /// Assignments and words.
    pub(super) fn simple(&mut self, found: &SimpleCommand) -> Simple {
        let before = self.claims.count();
        let mut assignments = self.assignments(&found.assignments);
        let mut end = found.assignments.last().map(|last| last.span.end.offset());
        let mut words: Vec<Word> = Vec::with_capacity(found.args.len().saturating_add(1));
        for part in std::iter::once(&found.name).chain(&found.args) {
            let (from, to) = (part.span.start.offset(), part.span.end.offset());
            if from == to {
                continue;
            }
            if self.is_number(from, to) {
                self.claims.add(from, to);
                continue;
            }
            if words.is_empty() {
                self.negated_subshell(from);
            }
            let word = self.word(part, Setting::Plain);
            // `a=<(b)` is one word, and two for the parser: what has nothing between it is one.
            let before = match words.last_mut() {
                Some(last) => Some(last),
                None => assignments.last_mut().map(|last| &mut last.value),
            };
            match before.filter(|_| end == Some(from)) {
                Some(before) => {
                    self.claims.join(from);
                    before.pieces.extend(word.pieces);
                    before.span.end = word.span.end;
                }
                None => words.push(word),
            }
            end = Some(to);
        }
        self.unnegate(&mut words);
        self.ended(assignments, words, before)
    }

    /// `break`, `continue`, `return` and `exit`.
    pub(super) fn builtin(&mut self, found: &BuiltinCommand, stmt: &Stmt) -> Simple {
        let before = self.claims.count();
        let (name, first, rest, assignments) = match found {
            BuiltinCommand::Break(it) => ("break", &it.depth, &it.extra_args, &it.assignments),
            BuiltinCommand::Continue(it) => {
                ("continue", &it.depth, &it.extra_args, &it.assignments)
            }
            BuiltinCommand::Return(it) => ("return", &it.code, &it.extra_args, &it.assignments),
            BuiltinCommand::Exit(it) => ("exit", &it.code, &it.extra_args, &it.assignments),
        };
        let assignments = self.assignments(assignments);
        let from = self.claims.since(before).map_or(stmt.span.start.offset(), |range| range.end);
        let mut words = vec![self.name(name, from)];
        let operands = first.iter().chain(rest);
        words.extend(operands.map(|word| self.word(word, Setting::Plain)));
        self.ended(assignments, words, before)
    }

    /// `export`, `declare` and the like: an operand may be an assignment, even of an array.
    pub(super) fn declaration(&mut self, found: &DeclClause) -> Simple {
        let before = self.claims.count();
        let assignments = self.assignments(&found.assignments);
        let name = found.variant_span;
        let mut words = vec![self.read(name.start.offset(), name.end.offset(), Setting::Plain).0];
        for operand in &found.operands {
            words.push(match operand {
                DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                    self.word(word, Setting::Plain)
                }
                DeclOperand::Name(name) => {
                    let (start, end) = (name.span.start.offset(), name.span.end.offset());
                    self.read(start, end, Setting::Plain).0
                }
                DeclOperand::Assignment(assignment) => {
                    let span = assignment.span;
                    self.operand(span.start.offset(), span.end.offset())
                }
            });
        }
        self.ended(assignments, words, before)
    }

    fn ended(&self, assignments: Vec<Assignment>, words: Vec<Word>, before: usize) -> Simple {
        let range = self.claims.since(before).unwrap_or_default();
        Simple { assignments, words, span: self.line.span(range.start, range.end) }
    }

    /// The name of a builtin, which the parser keeps without its place.
    fn name(&mut self, name: &str, from: usize) -> Word {
        let rest = self.text.whole.get(from..).unwrap_or_default();
        let start = from.saturating_add(rest.find(name).unwrap_or(0));
        self.read(start, start.saturating_add(name.len()), Setting::Plain).0
    }

    /// `! ! true` is `true`; the parser takes the second `!` for a name.
    fn unnegate(&mut self, words: &mut Vec<Word>) {
        let Some(first) = words.first() else { return };
        let [Piece::Text { text, quoted: false }] = first.pieces.as_slice() else { return };
        if !RESERVED.contains(&text.as_str()) {
            return;
        }
        if text == "!" && words.len() > 1 {
            words.remove(0);
            return self.unnegate(words);
        }
        let span = first.span;
        self.front.fault(span, FaultKind::Hidden, "a reserved word was read as a command");
    }

    /// `!(a)` is a pattern for the parser, but runs `a` unless a shell option is set.
    fn negated_subshell(&mut self, start: usize) {
        if self.text.whole.get(start..).is_some_and(|name| name.starts_with("!(")) {
            let span = self.line.span(start, start.saturating_add(2));
            self.front.fault(span, FaultKind::Hidden, "this may be a command or a pattern");
        }
    }

    fn assignments(&mut self, found: &[shuck_ast::Assignment]) -> Vec<Assignment> {
        found.iter().map(|assignment| self.assignment(assignment)).collect()
    }

    /// `name=value`, from its text.
    fn assignment(&mut self, found: &shuck_ast::Assignment) -> Assignment {
        let (start, end) = (found.span.start.offset(), found.span.end.offset());
        self.claims.add(start, end);
        let span = self.text.span(start, end);
        let mut reader = Reader::new(self.front, self.text, start, end);
        let name = reader.identifier().to_owned();
        let subscript = if reader.peek(0) == Some(b'[') { reader.subscript() } else { None };
        let append = reader.peek(0) == Some(b'+');
        reader.step(usize::from(append));
        if name.is_empty() || reader.peek(0) != Some(b'=') {
            reader.fault(start, FaultKind::Hidden, "it is no assignment that is known");
        }
        reader.step(1);
        let value = reader.value();
        Assignment { name, subscript, append, value, span }
    }

    /// The assignment among the operands of a declaration.
    fn operand(&mut self, start: usize, end: usize) -> Word {
        let text = self.text.whole.get(start..end).unwrap_or_default();
        let is_array = text.find("=(").filter(|at| {
            let name = text.get(..*at).unwrap_or_default();
            name.chars().all(|c| c.is_ascii_alphanumeric() || "_+".contains(c))
        });
        let Some(at) = is_array else {
            return self.read(start, end, Setting::Plain).0;
        };
        self.claims.add(start, end);
        let value = start.saturating_add(at).saturating_add(1);
        let mut pieces = Pieces::default();
        pieces.text(self.text.whole.get(start..value).unwrap_or_default(), false);
        pieces.append(Reader::new(self.front, self.text, value, end).value().pieces);
        Word { pieces: pieces.list, span: self.text.span(start, end) }
    }
}

impl Reader<'_, '_> {
    /// What is assigned, to the end of the part.
    fn value(&mut self) -> Word {
        if self.peek(0) != Some(b'(') {
            return self.word(Setting::Plain);
        }
        let start = self.at;
        self.step(1);
        let mut words = Vec::new();
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t' | b'\n') => self.step(1),
                Some(b'#') => {
                    let rest = self.rest(self.at);
                    self.step(rest.find('\n').unwrap_or(rest.len()));
                }
                Some(b'\\') if self.peek(1) == Some(b'\n') => self.step(2),
                Some(b')') | None => break,
                Some(_) => {
                    let start = self.at;
                    let pieces = self.pieces(Setting::Element);
                    words.push(Word { pieces, span: self.text.span(start, self.at) });
                }
            }
        }
        self.step(1);
        if self.at < self.end
            || self.text.whole.as_bytes().get(self.at.saturating_sub(1)) != Some(&b')')
        {
            self.fault(start, FaultKind::Hidden, "it is not certain where the array ends");
            self.at = self.end;
        }
        let span = self.text.span(start, self.at);
        Word { pieces: vec![Piece::Array(words)], span }
    }
}
