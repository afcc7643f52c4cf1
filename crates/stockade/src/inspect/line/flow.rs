//! The order in which a line would run: every branch is taken, every loop gone through.

use std::rc::Rc;

use super::arithmetic::{EVALUATED, is_evaluated};
use super::{Failed, Stdin, Walker};
use crate::shell::expand::{self, Use};
use crate::shell::state::State;
use crate::shell::tree::{Connector, Kind, Script, Span, Statement, Word};

/// Words of a `for` that are gone through one by one.
const ROUNDS_MAX: usize = 16;
/// Rounds after which a loop has taught all that it can, or anything may be.
const LEARNING_ROUNDS_MAX: usize = 4;
/// The tests of `[[` whose words are arithmetic, or the name of a variable.
const EVALUATING_TESTS: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];

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
        match &statement.kind {
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
                self.within("coproc", |walker| {
                    walker.statement(body, &mut state.clone(), Stdin::Own)
                });
                state.set(name.as_deref().unwrap_or("COPROC"), None);
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
        }
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
    fn test(&mut self, words: &[Word], span: Span, state: &mut State) {
        for word in words {
            self.word(word, state);
        }
        let text = self.source.slice(span);
        let evaluates = EVALUATING_TESTS.iter().any(|test| text.contains(test));
        if evaluates && words.iter().any(|word| is_evaluated(word, state)) {
            self.dynamic(span, EVALUATED);
        }
    }

    pub(super) fn pipeline(&mut self, parts: &[Statement], state: &mut State, stdin: Stdin) {
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.iter().enumerate() {
            let stdin = if at == 0 { stdin } else { Stdin::Piped };
            let mut own = state.clone();
            self.statement(part, &mut own, stdin);
            if at == last && state.pipes_last() {
                state.join(&own);
            }
        }
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
        if let Some(words) = words {
            for word in words {
                self.word(word, state);
            }
            let fields = words.iter().flat_map(|word| expand::expand(word, state, Use::Argument));
            let known = fields.map(|field| field.known()).collect::<Option<Vec<_>>>();
            values = known.filter(|known| known.len() <= ROUNDS_MAX);
        }
        if self.is_hazard(variable) {
            self.note_variable(variable, span);
            state.alter(variable);
        }
        let before = state.clone();
        match values {
            Some(values) => {
                for value in values {
                    state.set(variable, Some(value));
                    self.script_reading(body, state, stdin);
                }
                state.join(&before);
            }
            None => self.learn(state, |walker, state| {
                state.set(variable, None);
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
