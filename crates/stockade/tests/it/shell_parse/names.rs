//! Walks over trees: all words, all spans, and the names of commands.

use stockade::shell::ast::{
    Operation, Piece, Redirect, Script, Simple, Span, Statement, StatementKind, Word,
};

/// All words, outer ones before those inside of them.
pub(crate) fn words(script: &Script) -> Vec<&Word> {
    let mut walk = Walk::default();
    walk.script(script);
    walk.words
}

/// All simple commands.
pub(crate) fn commands(script: &Script) -> Vec<&Simple> {
    let mut walk = Walk::default();
    walk.script(script);
    walk.commands
}

/// All spans.
pub(crate) fn spans(script: &Script) -> Vec<Span> {
    let mut walk = Walk::default();
    walk.script(script);
    let mut spans = walk.spans;
    spans.extend(walk.words.iter().map(|word| word.span));
    spans.extend(walk.commands.iter().map(|command| command.span));
    spans
}

#[derive(Default)]
struct Walk<'t> {
    words: Vec<&'t Word>,
    commands: Vec<&'t Simple>,
    spans: Vec<Span>,
}

impl<'t> Walk<'t> {
    fn script(&mut self, script: &'t Script) {
        for statement in &script.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'t Statement) {
        self.spans.push(statement.span);
        self.kind(&statement.kind);
        for Redirect { target, span, .. } in &statement.redirects {
            self.spans.push(*span);
            self.word(target);
        }
    }

    fn kind(&mut self, kind: &'t StatementKind) {
        match kind {
            StatementKind::Simple(simple) => {
                self.commands.push(simple);
                for assignment in &simple.assignments {
                    self.spans.push(assignment.span);
                    self.words(assignment.subscript.as_slice());
                    self.word(&assignment.value);
                }
                self.words(&simple.words);
            }
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
            StatementKind::Subshell(inner) | StatementKind::Group(inner) => self.script(inner),
            StatementKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                if let Some(body) = otherwise {
                    self.script(body);
                }
            }
            StatementKind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.script(body);
            }
            StatementKind::ArithmeticFor { expressions, body } => {
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
            StatementKind::Coproc { body, .. } => self.statement(body),
            StatementKind::Time(body) => body.iter().for_each(|body| self.statement(body)),
            StatementKind::Test(words) => words.iter().for_each(|(_, word)| self.word(word)),
            StatementKind::Arithmetic(words) => self.words(words),
        }
    }

    fn words(&mut self, words: &'t [Word]) {
        for word in words {
            self.word(word);
        }
    }

    fn word(&mut self, word: &'t Word) {
        self.words.push(word);
        for piece in &word.pieces {
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
                Piece::Command { script, .. } | Piece::Process { script } => self.script(script),
                Piece::Arithmetic(words) | Piece::Array(words) => self.words(words),
            }
        }
    }
}
