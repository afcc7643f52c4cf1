//! Walks over trees: all words, all spans, and the names of commands.

use stockade::shell::tree::{
    Kind, Operation, Piece, Redirect, Script, Simple, Span, Statement, Word,
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

    fn kind(&mut self, kind: &'t Kind) {
        match kind {
            Kind::Simple(simple) => {
                self.commands.push(simple);
                for assignment in &simple.assignments {
                    self.spans.push(assignment.span);
                    self.words(assignment.subscript.as_slice());
                    self.word(&assignment.value);
                }
                self.words(&simple.words);
            }
            Kind::Pipeline(stages) => stages.iter().for_each(|stage| self.statement(stage)),
            Kind::Chain { first, rest } => {
                self.statement(first);
                for (_, next) in rest {
                    self.statement(next);
                }
            }
            Kind::Subshell(inner) | Kind::Group(inner) => self.script(inner),
            Kind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                if let Some(body) = otherwise {
                    self.script(body);
                }
            }
            Kind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.script(body);
            }
            Kind::ArithmeticFor { expressions, body } => {
                self.words(expressions);
                self.script(body);
            }
            Kind::While { condition, body } => {
                self.script(condition);
                self.script(body);
            }
            Kind::Case { word, arms } => {
                self.word(word);
                for (patterns, body) in arms {
                    self.words(patterns);
                    self.script(body);
                }
            }
            Kind::Function { name, body } => {
                self.word(name);
                self.statement(body);
            }
            Kind::Coproc { body, .. } => self.statement(body),
            Kind::Time(body) => body.iter().for_each(|body| self.statement(body)),
            Kind::Test(words) => words.iter().for_each(|(_, word)| self.word(word)),
            Kind::Arithmetic(words) => self.words(words),
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
