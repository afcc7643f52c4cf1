//! Takes over statements from the parser's tree into ours.

use shuck_ast::{
    BackgroundOperator, BinaryCommand, BinaryOp, Command, CompoundCommand, Stmt, StmtSeq,
    StmtTerminator, WordPart, WordPartNode,
};

use super::claims::Claims;
use super::front::{Front, NotWhole, SourceText};
use super::heredocs::HereDocuments;
use super::reader::{Reader, Setting};
use super::{Fault, FaultKind};
use crate::ast::{Connector, Script, Span, Statement, StatementKind, Word};

/// Converts what the parser found in one text.
#[derive(Debug)]
pub(super) struct Converter<'f, 't> {
    pub(super) front: &'f mut Front,
    /// With the newline that the parser wants.
    pub(super) text: SourceText<'t>,
    /// Without it.
    pub(super) line: SourceText<'t>,
    pub(super) claims: Claims,
    pub(super) documents: HereDocuments,
}

impl Converter<'_, '_> {
    /// Statements one after the other.
    pub(super) fn script(&mut self, found: &StmtSeq) -> Script {
        Script { statements: found.stmts.iter().map(|stmt| self.statement(stmt)).collect() }
    }

    /// Checks that all of the text has been read.
    pub(super) fn finish(self) -> Result<(), NotWhole> {
        let Self { front, line, mut claims, mut documents, .. } = self;
        if let Some(open) = documents.unfinished() {
            let span = line.span(open.start, open.end);
            let text = "the here-document does not end".to_owned();
            return Err(NotWhole::Broken(Fault { span, kind: FaultKind::Syntax, text }));
        }
        documents.claim(&mut claims);
        for part in claims.unaccounted(line.whole) {
            let span = line.span(part.start, part.end);
            front.fault(span, FaultKind::Hidden, "this part was not read");
        }
        Ok(())
    }

    /// One statement.
    pub(super) fn statement(&mut self, stmt: &Stmt) -> Statement {
        let whole = self.span(stmt.span);
        let before = self.claims.count();
        let kind = self.deeper(whole, |converter| converter.kind(stmt));
        let redirects = self.redirects(&stmt.redirects);
        let background = match stmt.terminator {
            Some(StmtTerminator::Background(operator)) => {
                if operator != BackgroundOperator::Plain {
                    self.front.fault(whole, FaultKind::Syntax, "`&|` and `&!` are no bash");
                }
                true
            }
            Some(StmtTerminator::Semicolon) | None => false,
        };
        let span = match (&kind, self.claims.since(before)) {
            (
                Some(
                    StatementKind::Simple(_)
                    | StatementKind::Pipeline(_)
                    | StatementKind::Chain { .. },
                ),
                Some(range),
            ) => self.line.span(range.start, range.end),
            (_, Some(range)) => self.widened(whole, range.start, range.end),
            (_, None) => whole,
        };
        let kind = kind.unwrap_or_else(|| StatementKind::Group(Script::default()));
        Statement { kind, redirects, background, span }
    }

    fn kind(&mut self, stmt: &Stmt) -> StatementKind {
        match &stmt.command {
            Command::Simple(simple) => StatementKind::Simple(self.simple(simple)),
            Command::Builtin(builtin) => StatementKind::Simple(self.builtin(builtin, stmt)),
            Command::Decl(declaration) => StatementKind::Simple(self.declaration(declaration)),
            Command::Binary(binary) => match binary.op {
                BinaryOp::And | BinaryOp::Or => self.chain(binary),
                BinaryOp::Pipe | BinaryOp::PipeAll => self.pipeline(binary),
            },
            Command::Compound(compound) => self.compound(compound, stmt),
            Command::Function(function) => self.function(function),
            Command::AnonymousFunction(function) => {
                let body = self.statement(&function.body);
                self.foreign(function.span, "a function needs a name in bash");
                StatementKind::Group(Script { statements: vec![body] })
            }
        }
    }

    /// `a && b || c`; the parser nests it to the left, and a loop needs no stack.
    fn chain(&mut self, last: &BinaryCommand) -> StatementKind {
        let mut rest = Vec::new();
        let mut binary = last;
        let first = loop {
            let connector = if binary.op == BinaryOp::And { Connector::And } else { Connector::Or };
            rest.push((connector, &*binary.right));
            match inner(&binary.left) {
                Some(left) if matches!(left.op, BinaryOp::And | BinaryOp::Or) => binary = left,
                _ => break &*binary.left,
            }
        };
        let first = Box::new(self.statement(first));
        let rest = rest.into_iter().rev();
        StatementKind::Chain {
            first,
            rest: rest.map(|(op, stmt)| (op, self.statement(stmt))).collect(),
        }
    }

    /// `a | b | c`, the same.
    fn pipeline(&mut self, last: &BinaryCommand) -> StatementKind {
        let mut stages = Vec::new();
        let mut binary = last;
        loop {
            stages.push(&*binary.right);
            match inner(&binary.left) {
                Some(left) if matches!(left.op, BinaryOp::Pipe | BinaryOp::PipeAll) => {
                    binary = left;
                }
                _ => break stages.push(&binary.left),
            }
        }
        // The first one is the last in this list.
        for stage in stages.iter().rev().skip(1) {
            if let Command::Compound(CompoundCommand::Time(_)) = &stage.command {
                let span = self.span(stage.span);
                let text = "after a bar, `time` is a program and no keyword";
                self.front.fault(span, FaultKind::Hidden, text);
            }
        }
        StatementKind::Pipeline(stages.into_iter().rev().map(|stmt| self.statement(stmt)).collect())
    }

    /// A word at the place where the parser found one.
    pub(super) fn word(&mut self, found: &shuck_ast::Word, setting: Setting) -> Word {
        let (start, end) = (found.span.start.offset(), found.span.end.offset());
        let (word, read) = self.read(start, end, setting);
        for (start, end) in substitutions(&found.parts) {
            if !read.contains(&(start, end)) {
                let span = self.line.span(start, end);
                self.front.fault(span, FaultKind::Hidden, "it is not certain where this ends");
            }
        }
        word
    }

    /// A word between two bytes of the text, and where substitutions are in it.
    pub(super) fn read(
        &mut self,
        start: usize,
        end: usize,
        setting: Setting,
    ) -> (Word, Vec<(usize, usize)>) {
        self.claims.add(start, end);
        let mut reader = Reader::new(self.front, self.text, start, end);
        let word = reader.word(setting);
        (word, reader.substitutions)
    }

    /// Notes what another shell would understand.
    pub(super) fn foreign(&mut self, span: shuck_ast::Span, text: &str) {
        let span = self.span(span);
        self.front.fault(span, FaultKind::Syntax, text);
    }

    pub(super) fn span(&self, span: shuck_ast::Span) -> Span {
        self.line.span(span.start.offset(), span.end.offset())
    }

    /// Goes one deeper.
    fn deeper<T>(
        &mut self,
        span: Span,
        read: impl FnOnce(&mut Converter<'_, '_>) -> T,
    ) -> Option<T> {
        let Self { front, text, line, claims, documents } = self;
        front.deeper(span, |front| {
            let mut inner = Converter {
                front,
                text: *text,
                line: *line,
                claims: std::mem::take(claims),
                documents: std::mem::take(documents),
            };
            let result = read(&mut inner);
            *claims = inner.claims;
            *documents = inner.documents;
            result
        })
    }

    /// The span of a compound statement: the parser's own, which may end behind it or lack braces.
    fn widened(&self, whole: Span, start: usize, end: usize) -> Span {
        let claimed = self.line.span(start, end);
        Span { start: whole.start.min(claimed.start), end: whole.end.max(claimed.end) }
    }
}

/// What is nested in a statement that has nothing of its own.
fn inner(stmt: &Stmt) -> Option<&BinaryCommand> {
    let Command::Binary(binary) = &stmt.command else { return None };
    (stmt.redirects.is_empty() && !stmt.negated).then_some(binary)
}

/// Where the parser sees substitutions in a word.
fn substitutions(parts: &[WordPartNode]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for part in parts {
        let here = (part.span.start.offset(), part.span.end.offset());
        if let WordPart::CommandSubstitution { .. } | WordPart::ProcessSubstitution { .. } =
            &part.kind
        {
            found.push(here);
        }
        if let WordPart::DoubleQuoted { parts, .. } = &part.kind {
            found.extend(substitutions(parts));
        }
    }
    found
}
