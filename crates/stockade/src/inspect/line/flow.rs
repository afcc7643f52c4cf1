//! The order in which a line would run: every branch is taken, every loop gone through.

use std::rc::Rc;

use super::arithmetic::{EVALUATED, Given, is_evaluated};
use super::simple::feeds;
use super::{Failed, Stdin, Walker};
use crate::shell::evaluated::{self, field_text};
use crate::shell::expand::{self, Field, Use};
use crate::shell::printed::{given, printed};
use crate::shell::state::State;
use crate::shell::tree::{Connector, Kind, Script, Span, Statement, TestRole, Word};

/// Words of a `for` that are gone through one by one.
const ROUNDS_MAX: usize = 16;
/// Rounds after which a loop has taught all that it can, or anything may be.
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
    ) -> Failed {
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
    ) -> Failed {
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
    ) -> Failed {
        if let Kind::Simple(simple) = &statement.kind {
            return self.simple(simple, &statement.redirects, state, stdin);
        }
        self.bare_redirects(&statement.redirects, statement.span, state);
        let is_fed = statement.redirects.iter().any(|one| feeds(one.kind));
        let piped = is_fed.then(|| {
            let text = given(&statement.redirects, state);
            std::mem::replace(&mut self.piped, text)
        });
        let failed = match &statement.kind {
            Kind::Simple(_) => None,
            Kind::Pipeline(parts) => {
                self.pipeline(parts, state, stdin);
                None
            }
            Kind::Chain { first, rest } => self.chain(first, rest, state, stdin),
            Kind::Subshell(script) => {
                self.script_reading(script, &mut state.clone(), stdin);
                None
            }
            Kind::Group(script) => self.script_reading(script, state, stdin),
            Kind::If { arms, otherwise } => {
                self.branches(arms, otherwise.as_ref(), state, stdin);
                None
            }
            Kind::For { variable, words, body } => {
                self.each((variable, statement.span), words.as_deref(), body, state, stdin);
                None
            }
            Kind::ArithmeticFor { expressions, body } => {
                self.learn(state, |walker, state| {
                    walker.arithmetic(expressions, statement.span, state);
                    walker.script_reading(body, state, stdin);
                });
                None
            }
            Kind::While { condition, body } => {
                self.learn(state, |walker, state| {
                    walker.script_reading(condition, state, stdin);
                    walker.script_reading(body, state, stdin);
                });
                None
            }
            Kind::Case { word, arms } => {
                self.case(word, arms, statement.span, state, stdin);
                None
            }
            Kind::Function { name, body } => {
                self.define(name, body, state);
                None
            }
            Kind::Coproc { name, body } => {
                self.coproc(name.as_deref(), body, state);
                None
            }
            Kind::Time(body) => body.as_ref().and_then(|body| self.statement(body, state, stdin)),
            Kind::Test(words) => {
                self.test(words, statement.span, state);
                None
            }
            Kind::Arithmetic(words) => {
                self.arithmetic(words, statement.span, state);
                None
            }
        };
        if let Some(before) = piped {
            self.piped = before;
        }
        failed
    }

    fn coproc(&mut self, name: Option<&str>, body: &Statement, state: &mut State) {
        self.within("coproc", |walker| walker.statement(body, &mut state.clone(), Stdin::Own));
        state.set(name.unwrap_or("COPROC"), None);
    }

    /// `case`: every arm may be taken, and none.
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

    /// `a && b || c`: each runs in the state in which its operator can be passed.
    pub(super) fn chain(
        &mut self,
        first: &Statement,
        rest: &[(Connector, Statement)],
        state: &mut State,
        stdin: Stdin,
    ) -> Failed {
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

    /// `for`: word by word where they are few and known.
    pub(super) fn each(
        &mut self,
        (variable, span): (&str, Span),
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
                self.note_drawn(variable, fields, Some(span), state);
            }
        }
        if words.is_none() && values.is_none() {
            self.note_each_positional(variable, span, state);
        }
        if self.is_hazard(variable) {
            self.note_variable(variable, span);
            state.alter(variable);
        }
        if self.source.slice(span).trim_start().starts_with("select") {
            self.given("REPLY", Given::Text(None), span, state);
        }
        let before = state.clone();
        match values {
            Some(values) => {
                for value in values {
                    self.given(variable, Given::Text(Some(&value)), span, state);
                    state.set(variable, Some(value));
                    self.script_reading(body, state, stdin);
                }
                state.join(&before);
            }
            None => self.learn(state, |walker, state| {
                if is_number {
                    state.set_number(variable);
                } else {
                    walker.given(variable, Given::Text(None), span, state);
                    state.set(variable, None);
                }
                walker.script_reading(body, state, stdin);
            }),
        }
    }

    /// Goes through a loop until a round changes nothing that is known.
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

    /// What a function does is looked at where it is defined, and again where it is called.
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
