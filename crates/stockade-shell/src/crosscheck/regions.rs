//! How many commands the tree holds, and between which bytes.

use super::marks::MarkKind;
use crate::ast::{
    Operation, Piece, Redirect, RedirectKind, Script, Simple, Span, Statement, StatementKind, Word,
};

/// What the tree holds.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// The outermost words.
    outermost: Vec<Region>,
    /// `[[ … ]]` has parentheses of its own.
    tests: Vec<Span>,
    documents: usize,
    parentheses: usize,
    /// How deep in words the walk is.
    depth: usize,
}

/// A part of the line and what is in it.
#[derive(Debug, Default)]
struct Region {
    span: Span,
    commands: usize,
    processes: usize,
    arithmetic: usize,
}

impl Regions {
    /// Of a whole line.
    pub(super) fn of(script: &Script) -> Self {
        let mut regions = Self::default();
        regions.script(script);
        regions.outermost.sort_by_key(|region| region.span);
        regions
    }

    /// Takes one command of the word around a byte, if there is one left.
    pub(super) fn take_inside(&mut self, at: usize, kind: MarkKind) -> bool {
        let after = self.outermost.partition_point(|region| region.span.start <= at);
        let Some(region) = after.checked_sub(1).and_then(|last| self.outermost.get_mut(last))
        else {
            return false;
        };
        if region.span.end <= at {
            return false;
        }
        match kind {
            MarkKind::Process => take(&mut region.processes),
            // `$((` may be a command that begins with a subshell.
            MarkKind::Arithmetic => take(&mut region.arithmetic) || take(&mut region.commands),
            MarkKind::Command => take(&mut region.commands),
            MarkKind::Document | MarkKind::Parentheses | MarkKind::Inline => false,
        }
    }

    /// Takes one of what stands outside of words.
    pub(super) fn take(&mut self, at: usize, kind: MarkKind) -> bool {
        match kind {
            MarkKind::Document => take(&mut self.documents),
            MarkKind::Parentheses => {
                let is_test = |span: &Span| span.start <= at && at < span.end;
                self.tests.iter().any(is_test) || take(&mut self.parentheses)
            }
            MarkKind::Command | MarkKind::Process | MarkKind::Arithmetic | MarkKind::Inline => {
                false
            }
        }
    }

    fn script(&mut self, script: &Script) {
        for statement in &script.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        self.kind(&statement.kind, statement.span);
        for redirect in &statement.redirects {
            self.redirect(redirect);
        }
    }

    fn kind(&mut self, kind: &StatementKind, span: Span) {
        match kind {
            StatementKind::Simple(simple) => self.simple(simple),
            StatementKind::Pipeline(stages) => {
                for stage in stages {
                    self.statement(stage);
                }
            }
            StatementKind::Chain { first, rest } => {
                self.statement(first);
                for (_, next) in rest {
                    self.statement(next);
                }
            }
            StatementKind::Subshell(script) => {
                self.parentheses = self.parentheses.saturating_add(1);
                self.script(script);
            }
            StatementKind::Group(script) => self.script(script),
            StatementKind::If { arms, otherwise } => {
                let arms = arms.iter().flat_map(|(condition, body)| [condition, body]);
                arms.chain(otherwise).for_each(|script| self.script(script));
            }
            StatementKind::For { variable: _, words, body } => {
                self.words(words.as_deref().unwrap_or_default());
                self.script(body);
            }
            StatementKind::ArithmeticFor { expressions, body } => {
                self.parentheses = self.parentheses.saturating_add(1);
                self.words(expressions);
                self.script(body);
            }
            StatementKind::While { condition, body } => {
                self.script(condition);
                self.script(body);
            }
            StatementKind::Case { word, arms } => {
                self.word(word);
                for (patterns, body) in arms {
                    self.words(patterns);
                    self.script(body);
                }
            }
            StatementKind::Function { name, body } => {
                self.word(name);
                self.statement(body);
            }
            StatementKind::Coproc { name: _, body } => self.statement(body),
            StatementKind::Time(body) => body.iter().for_each(|body| self.statement(body)),
            StatementKind::Test(words) => {
                self.tests.push(span);
                for (_, word) in words {
                    self.word(word);
                }
            }
            StatementKind::Arithmetic(words) => {
                self.parentheses = self.parentheses.saturating_add(1);
                self.words(words);
            }
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for assignment in &simple.assignments {
            self.within(assignment.span, |regions| {
                assignment.subscript.iter().for_each(|word| regions.word(word));
                regions.word(&assignment.value);
            });
        }
        self.words(&simple.words);
    }

    fn redirect(&mut self, redirect: &Redirect) {
        if redirect.kind == RedirectKind::HereDocument {
            self.documents = self.documents.saturating_add(1);
        }
        self.word(&redirect.target);
    }

    /// Everything inside counts for the outermost part.
    fn within(&mut self, span: Span, walk: impl FnOnce(&mut Self)) {
        if self.depth == 0 {
            self.outermost.push(Region { span, ..Region::default() });
        }
        self.depth = self.depth.saturating_add(1);
        walk(self);
        self.depth = self.depth.saturating_sub(1);
    }

    fn words(&mut self, words: &[Word]) {
        for word in words {
            self.word(word);
        }
    }

    fn word(&mut self, word: &Word) {
        self.within(word.span, |regions| {
            word.pieces.iter().for_each(|piece| regions.piece(piece));
        });
    }

    fn piece(&mut self, piece: &Piece) {
        let here = self.outermost.last_mut();
        match piece {
            Piece::Text { .. } | Piece::Variable { .. } | Piece::Opaque => {}
            Piece::Parameter { operation, .. } => match operation {
                Operation::Default(word)
                | Operation::Assign(word)
                | Operation::Alternative(word)
                | Operation::Error(word) => self.word(word),
                Operation::Length(word) => word.iter().for_each(|word| self.word(word)),
                Operation::Other { expressions, words, .. } => {
                    self.words(expressions);
                    self.words(words);
                }
            },
            Piece::Command { script, .. } => {
                add(here.map(|region| &mut region.commands));
                self.script(script);
            }
            Piece::Process { script } => {
                add(here.map(|region| &mut region.processes));
                self.script(script);
            }
            Piece::Arithmetic(words) => {
                add(here.map(|region| &mut region.arithmetic));
                self.words(words);
            }
            Piece::Array(words) => self.words(words),
        }
    }
}

fn add(count: Option<&mut usize>) {
    if let Some(count) = count {
        *count = count.saturating_add(1);
    }
}

fn take(count: &mut usize) -> bool {
    let left = count.checked_sub(1);
    *count = left.unwrap_or(0);
    left.is_some()
}
