//! Loops, conditions, tests, groups and functions.

use shuck_ast::{
    ArithmeticForCommand, CaseCommand, CompoundCommand, ConditionalBinaryOp, ConditionalCommand,
    ConditionalExpr, ForCommand, ForSyntax, FunctionDef, IfCommand, IfSyntax, Span as Place, Stmt,
};

use super::FaultKind;
use super::reader::{Reader, Setting};
use super::statements::Converter;
use crate::ast::{Piece, Script, Statement, StatementKind, TestRole, Word};

impl Converter<'_, '_> {
    /// Everything that is made of statements.
    pub(super) fn compound(&mut self, found: &CompoundCommand, stmt: &Stmt) -> StatementKind {
        match found {
            CompoundCommand::If(it) => self.condition(it),
            CompoundCommand::For(it) => self.each(it),
            CompoundCommand::ArithmeticFor(it) => self.counted(it),
            CompoundCommand::While(it) => {
                let condition = self.script(&it.condition);
                StatementKind::While { condition, body: self.script(&it.body) }
            }
            CompoundCommand::Until(it) => {
                let condition = self.script(&it.condition);
                StatementKind::While { condition, body: self.script(&it.body) }
            }
            CompoundCommand::Case(it) => self.cases(it),
            CompoundCommand::Select(it) => {
                self.claim(it.variable_span);
                let variable = it.variable.as_str().to_owned();
                let words: Vec<Word> =
                    it.words.iter().map(|word| self.word(word, Setting::Plain)).collect();
                let words = (!words.is_empty()).then_some(words);
                StatementKind::For { variable, words, body: self.script(&it.body) }
            }
            CompoundCommand::Subshell(body) => StatementKind::Subshell(self.script(body)),
            CompoundCommand::BraceGroup(body) => StatementKind::Group(self.script(body)),
            CompoundCommand::Arithmetic(it) => {
                let inner = it.left_paren_span.end.offset()..it.right_paren_span.start.offset();
                StatementKind::Arithmetic(vec![self.expression(inner.start, inner.end)])
            }
            CompoundCommand::Time(it) => {
                let mut body = it.command.as_ref().map(|stmt| Box::new(self.statement(stmt)));
                body.as_mut().into_iter().for_each(|body| without_dashes(body));
                StatementKind::Time(body)
            }
            CompoundCommand::Conditional(it) => StatementKind::Test(self.test(it)),
            CompoundCommand::Coproc(it) => {
                let name = it.name_span.map(|span| {
                    self.claim(span);
                    it.name.as_str().to_owned()
                });
                StatementKind::Coproc { name, body: Box::new(self.statement(&it.body)) }
            }
            CompoundCommand::Repeat(_)
            | CompoundCommand::Foreach(_)
            | CompoundCommand::Always(_) => {
                self.foreign(stmt.span, "it is a form of zsh");
                StatementKind::Group(Script::default())
            }
        }
    }

    /// A function; nothing runs yet.
    pub(super) fn function(&mut self, found: &FunctionDef) -> StatementKind {
        let mut names = found.header.entries.iter();
        let name = names.next().map(|entry| self.word(&entry.word, Setting::Plain));
        if name.is_none() || names.next().is_some() {
            self.foreign(found.span, "a function has one name in bash");
        }
        let body = Box::new(self.statement(&found.body));
        StatementKind::Function { name: name.unwrap_or_default(), body }
    }

    fn condition(&mut self, found: &IfCommand) -> StatementKind {
        if let IfSyntax::Brace { .. } = found.syntax {
            self.foreign(found.span, "it is a form of zsh");
        }
        let first = (&found.condition, &found.then_branch);
        let more = found.elif_branches.iter().map(|(condition, body)| (condition, body));
        let mut arms = Vec::new();
        for (condition, body) in std::iter::once(first).chain(more) {
            let condition = self.script(condition);
            arms.push((condition, self.script(body)));
        }
        StatementKind::If {
            arms,
            otherwise: found.else_branch.as_ref().map(|body| self.script(body)),
        }
    }

    fn each(&mut self, found: &ForCommand) -> StatementKind {
        let is_bash =
            matches!(found.syntax, ForSyntax::InDoDone { .. } | ForSyntax::InBrace { .. });
        let variable = match found.targets.as_slice() {
            [target] if is_bash => target.name.as_ref(),
            _ => None,
        };
        for target in &found.targets {
            self.claim(target.span);
        }
        let Some(variable) = variable.map(|name| name.as_str().to_owned()) else {
            self.foreign(found.span, "it is a form of zsh");
            return StatementKind::Group(Script::default());
        };
        let words = found
            .words
            .as_ref()
            .map(|words| words.iter().map(|word| self.word(word, Setting::Plain)).collect());
        StatementKind::For { variable, words, body: self.script(&found.body) }
    }

    fn counted(&mut self, found: &ArithmeticForCommand) -> StatementKind {
        let parts = [
            (found.left_paren_span, found.first_semicolon_span),
            (found.first_semicolon_span, found.second_semicolon_span),
            (found.second_semicolon_span, found.right_paren_span),
        ];
        let mut expressions = Vec::new();
        for (open, close) in parts {
            expressions.push(self.expression(open.end.offset(), close.start.offset()));
        }
        StatementKind::ArithmeticFor { expressions, body: self.script(&found.body) }
    }

    fn cases(&mut self, found: &CaseCommand) -> StatementKind {
        let word = self.word(&found.word, Setting::Plain);
        let mut arms = Vec::new();
        for case in &found.cases {
            let mut patterns = Vec::new();
            for pattern in &case.patterns {
                patterns.push(self.pattern(pattern.span));
            }
            arms.push((patterns, self.script(&case.body)));
        }
        StatementKind::Case { word, arms }
    }

    /// The words of `[[ … ]]`; a list instead of recursion, since conditions can be long.
    fn test(&mut self, found: &ConditionalCommand) -> Vec<(TestRole, Word)> {
        let mut words = Vec::new();
        let mut open = vec![(TestRole::Text, &found.expression)];
        while let Some((role, expression)) = open.pop() {
            match expression {
                ConditionalExpr::Binary(binary) => {
                    self.claim(binary.op_span);
                    let role = role_in(binary.op);
                    open.push((role, &binary.right));
                    open.push((role, &binary.left));
                }
                ConditionalExpr::Unary(unary) => {
                    self.claim(unary.op_span);
                    let role = match unary.op.as_str() {
                        "-v" | "-R" => TestRole::Name,
                        _ => TestRole::Text,
                    };
                    open.push((role, &unary.expr));
                }
                ConditionalExpr::Parenthesized(inner) => open.push((role, &inner.expr)),
                ConditionalExpr::Word(word) => {
                    words.push((role, self.word(word, Setting::Pattern)));
                }
                ConditionalExpr::Regex(word) => words.push((role, self.word(word, Setting::Regex))),
                ConditionalExpr::Pattern(pattern) => {
                    words.push((role, self.pattern(pattern.span)));
                }
                ConditionalExpr::VarRef(name) => {
                    words.push((TestRole::Name, self.pattern(name.span)));
                }
            }
        }
        words
    }

    fn pattern(&mut self, span: Place) -> Word {
        self.read(span.start.offset(), span.end.offset(), Setting::Pattern).0
    }

    /// An expression between two bytes.
    fn expression(&mut self, start: usize, end: usize) -> Word {
        if end < start {
            let span = self.line.span(end, start);
            self.front.fault(span, FaultKind::Hidden, "it is not certain where this ends");
        }
        self.claims.add(start, end);
        Reader::new(self.front, self.text, start, end).expression(end)
    }

    fn claim(&mut self, span: Place) {
        self.claims.add(span.start.offset(), span.end.offset());
    }
}

fn role_in(operator: ConditionalBinaryOp) -> TestRole {
    match operator.as_str() {
        "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => TestRole::Expression,
        _ => TestRole::Text,
    }
}

/// `time -- a` times `a`; the parser takes the dashes for a name.
fn without_dashes(timed: &mut Statement) {
    if let StatementKind::Pipeline(parts) = &mut timed.kind {
        return parts.iter_mut().take(1).for_each(without_dashes);
    }
    let StatementKind::Simple(simple) = &mut timed.kind else { return };
    let first = simple.words.first().map(|word| word.pieces.as_slice());
    if matches!(first, Some([Piece::Text { text, quoted: false }]) if text == "--") {
        simple.words.remove(0);
    }
}
