//! Control flow of a line: every branch is followed, and every loop is walked.

use std::rc::Rc;

use super::arithmetic::{AssignedValue, EVALUATED, is_evaluated};
use super::simple::feeds;
use super::{StateOnFailure, Stdin, Walker};
use crate::shell::ast::{Connector, Script, Span, Statement, StatementKind, TestRole, Word};
use crate::shell::evaluated::{self, field_text};
use crate::shell::expand::{self, Field, Use};
use crate::shell::printed::{given, printed};
use crate::shell::state::State;

/// The most words of a `for` that are walked one by one.
const ROUNDS_MAX: usize = 16;
/// The rounds after which a loop teaches nothing new, or its variables are unknown.
const LEARNING_ROUNDS_MAX: usize = 4;
impl Walker<'_> {
    pub(super) fn script(&mut self, script: &Script, state: &mut State) {
        self.script_reading(script, state, Stdin::Own);
    }

    pub(super) fn script_reading(
        &mut self,
        script: &Script,
        state: &mut State,
        stdin: Stdin,
    ) -> StateOnFailure {
        let mut last = None;
        for statement in &script.statements {
            if let Some(failed) = last.take().filter(|_| !state.stops_at_failure()) {
                state.join(&failed);
            }
            last = self.statement(statement, state, stdin);
        }
        last
    }

    pub(super) fn statement(
        &mut self,
        statement: &Statement,
        state: &mut State,
        stdin: Stdin,
    ) -> StateOnFailure {
        if !self.takes(1, statement.span) {
            return None;
        }
        self.depth = self.depth.saturating_add(1);
        let failed = if statement.background {
            let mut own = state.clone();
            self.kind(statement, &mut own, stdin);
            None
        } else {
            self.kind(statement, state, stdin)
        };
        self.depth = self.depth.saturating_sub(1);
        failed
    }

    pub(super) fn kind(
        &mut self,
        statement: &Statement,
        state: &mut State,
        stdin: Stdin,
    ) -> StateOnFailure {
        if let StatementKind::Simple(simple) = &statement.kind {
            return self.simple(simple, &statement.redirects, state, stdin);
        }
        self.bare_redirects(&statement.redirects, statement.span, state);
        let is_fed = statement.redirects.iter().any(|one| feeds(one.kind));
        let piped = is_fed.then(|| {
            let text = given(&statement.redirects, state);
            std::mem::replace(&mut self.piped, text)
        });
        let failed = self.compound(statement, state, stdin);
        if let Some(before) = piped {
            self.piped = before;
        }
        failed
    }

    /// A statement that is no simple command, whose redirections are open.
    fn compound(
        &mut self,
        statement: &Statement,
        state: &mut State,
        stdin: Stdin,
    ) -> StateOnFailure {
        match &statement.kind {
            StatementKind::Simple(_) => None,
            StatementKind::Pipeline(parts) => {
                self.pipeline(parts, state, stdin);
                None
            }
            StatementKind::Chain { first, rest } => self.chain(first, rest, state, stdin),
            StatementKind::Subshell(script) => {
                self.script_reading(script, &mut state.clone(), stdin);
                None
            }
            StatementKind::Group(script) => self.script_reading(script, state, stdin),
            StatementKind::If { arms, otherwise } => {
                self.branches(arms, otherwise.as_ref(), state, stdin);
                None
            }
            StatementKind::For { variable, words, body } => {
                self.each(variable, statement.span, words.as_deref(), body, state, stdin);
                None
            }
            StatementKind::ArithmeticFor { expressions, body } => {
                self.learn(state, |walker, state| {
                    walker.arithmetic(expressions, statement.span, state);
                    walker.script_reading(body, state, stdin);
                });
                None
            }
            StatementKind::While { condition, body } => {
                self.learn(state, |walker, state| {
                    walker.script_reading(condition, state, stdin);
                    walker.script_reading(body, state, stdin);
                });
                None
            }
            StatementKind::Case { word, arms } => {
                self.case(word, arms, statement.span, state, stdin);
                None
            }
            StatementKind::Function { name, body } => {
                self.define(name, body, state);
                None
            }
            StatementKind::Coproc { name, body } => {
                self.coproc(name.as_deref(), body, state);
                None
            }
            StatementKind::Time(body) => {
                body.as_ref().and_then(|body| self.statement(body, state, stdin))
            }
            StatementKind::Test(words) => {
                self.test(words, statement.span, state);
                None
            }
            StatementKind::Arithmetic(words) => {
                self.arithmetic(words, statement.span, state);
                None
            }
        }
    }

    fn coproc(&mut self, name: Option<&str>, body: &Statement, state: &mut State) {
        self.within("coproc", |walker| walker.statement(body, &mut state.clone(), Stdin::Own));
        let name = name.unwrap_or("COPROC");
        state.set(name, None);
        self.alter_if_hazard(name, body.span, state);
    }

    /// `case`: each arm may be taken, or none.
    fn case(
        &mut self,
        word: &Word,
        arms: &[(Vec<Word>, Script)],
        span: Span,
        state: &mut State,
        stdin: Stdin,
    ) {
        self.word(word, state);
        let mut before = state.clone();
        let falls_through = self.source.slice(span).contains(";&");
        for (patterns, body) in arms {
            for pattern in patterns {
                self.word(pattern, state);
            }
            let mut own = before.clone();
            self.script_reading(body, &mut own, stdin);
            state.join(&own);
            if falls_through {
                before.join(&own);
            }
        }
    }

    /// `[[ … ]]`
    fn test(&mut self, words: &[(TestRole, Word)], span: Span, state: &mut State) {
        for (role, word) in words {
            self.word(word, state);
            match role {
                TestRole::Text => {}
                TestRole::Expression if is_evaluated(word, state) => {
                    self.evaluates(span, EVALUATED);
                }
                TestRole::Expression => {}
                TestRole::Name => self.named(word, span, state),
            }
        }
    }

    pub(super) fn pipeline(&mut self, parts: &[Statement], state: &mut State, stdin: Stdin) {
        let last = parts.len().saturating_sub(1);
        let mut stages = Vec::new();
        let before = self.piped.clone();
        for (at, part) in parts.iter().enumerate() {
            let stdin = if at == 0 { stdin } else { Stdin::Piped };
            let mut own = state.clone();
            let from = self.found.len();
            let text = printed(part, self.piped.as_ref(), state);
            self.statement(part, &mut own, stdin);
            self.piped = text;
            stages.push(self.stage(from, part.span));
            if at == last && state.pipes_last() {
                state.join(&own);
            }
        }
        self.piped = before;
        self.note_pipeline(stages);
    }

    /// `a && b || c`: each command runs in the states in which its operator lets it run.
    pub(super) fn chain(
        &mut self,
        first: &Statement,
        rest: &[(Connector, Statement)],
        state: &mut State,
        stdin: Stdin,
    ) -> StateOnFailure {
        let mut failed = self.statement(first, state, stdin).unwrap_or_else(|| state.clone());
        for (connector, statement) in rest {
            match connector {
                Connector::And => {
                    let own = self.statement(statement, state, stdin);
                    failed.join(&own.unwrap_or_else(|| state.clone()));
                }
                Connector::Or => {
                    let own = self.statement(statement, &mut failed, stdin);
                    state.join(&failed);
                    failed = own.unwrap_or(failed);
                }
            }
        }
        (failed != *state).then_some(failed)
    }

    pub(super) fn branches(
        &mut self,
        arms: &[(Script, Script)],
        otherwise: Option<&Script>,
        state: &mut State,
        stdin: Stdin,
    ) {
        let mut after: Option<State> = None;
        let mut end = |own: State| match &mut after {
            Some(after) => after.join(&own),
            None => after = Some(own),
        };
        for (condition, body) in arms {
            let mut own = state.clone();
            let failed = self.script_reading(condition, &mut own, stdin);
            *state = failed.unwrap_or_else(|| own.clone());
            self.script_reading(body, &mut own, stdin);
            end(own);
        }
        if let Some(body) = otherwise {
            self.script_reading(body, state, stdin);
        }
        if let Some(after) = after {
            state.join(&after);
        }
    }

    /// `for`: word by word if the words are few and known.
    pub(super) fn each(
        &mut self,
        variable: &str,
        span: Span,
        words: Option<&[Word]>,
        body: &Script,
        state: &mut State,
        stdin: Stdin,
    ) {
        let mut values: Option<Vec<String>> = None;
        let mut is_number = false;
        for word in words.unwrap_or_default() {
            self.word(word, state);
        }
        let fields: Option<Vec<Field>> = match words {
            Some(words) => {
                let expanded = |word| expand::expand(word, state, Use::Argument);
                Some(words.iter().flat_map(expanded).collect())
            }
            None => state.positional().map(<[Field]>::to_vec),
        };
        if let Some(fields) = &fields {
            let is_one =
                |field: &Field| field_text(field).is_some_and(|text| evaluated::is_number(&text));
            is_number = !fields.is_empty() && fields.iter().all(is_one);
            let known = fields.iter().map(Field::known).collect::<Option<Vec<_>>>();
            values = known.filter(|known| known.len() <= ROUNDS_MAX);
            if values.is_none() && words.is_some() {
                self.note_variable_words(variable, fields, Some(span), state);
            }
        }
        if words.is_none() && values.is_none() {
            self.note_each_positional(variable, span, state);
        }
        self.alter_if_hazard(variable, span, state);
        if self.source.slice(span).trim_start().starts_with("select") {
            self.given("REPLY", AssignedValue::Text(None), span, state);
        }
        let before = state.clone();
        match values {
            Some(values) => {
                for value in values {
                    self.given(variable, AssignedValue::Text(Some(&value)), span, state);
                    state.set(variable, Some(value));
                    self.script_reading(body, state, stdin);
                }
                state.join(&before);
            }
            None => self.learn(state, |walker, state| {
                if is_number {
                    state.set_number(variable);
                } else {
                    walker.given(variable, AssignedValue::Text(None), span, state);
                    state.set(variable, None);
                }
                walker.script_reading(body, state, stdin);
            }),
        }
    }

    /// Walks a loop until a round changes no known state.
    pub(super) fn learn(
        &mut self,
        state: &mut State,
        mut round: impl FnMut(&mut Self, &mut State),
    ) {
        for _ in 0..LEARNING_ROUNDS_MAX {
            let before = state.clone();
            round(self, state);
            state.join(&before);
            if *state == before {
                return;
            }
        }
        state.forget();
        round(self, state);
        state.forget();
    }

    /// The body of a function is inspected where it is defined, and again where it is called.
    pub(super) fn define(&mut self, name: &Word, body: &Statement, state: &mut State) {
        self.word(name, state);
        let Some(name) = expand::value(name, state).known() else {
            state.forget();
            return;
        };
        state.define(&name, Rc::new(body.clone()));
        let mut own = state.clone();
        own.set_positional(None);
        self.calling.push(name.clone());
        self.within(&format!("function {name}"), |walker| {
            walker.statement(body, &mut own, Stdin::Own)
        });
        self.calling.pop();
    }
}
