//! One simple command of a line: its words, its redirections, and all that it starts.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use super::super::finding::{Axis, Weight};
use super::super::found::Target;
use super::super::{Input, Inspection, Origin};
use super::target::redirected;
use super::word::fields;
use super::{Failed, Stdin, Walker};
use crate::knowledge::{Form, Nature, Word};
use crate::shell::builtins::is_builtin;
use crate::shell::expand::{self, Field};
use crate::shell::quoted;
use crate::shell::state::State;
use crate::shell::tree::{Assignment, Piece, Redirect, RedirectKind, Simple, Span};

/// Words of one command: wrappers in wrappers read them again and again.
const WORDS_MAX: usize = 4096;
/// A function that calls itself is followed this often.
const CALLS_MAX: usize = 2;

/// A simple command, its words made.
pub(super) struct Made<'s> {
    pub(super) fields: Vec<Field>,
    pub(super) environment: Vec<(String, Option<String>)>,
    pub(super) targets: Vec<Target>,
    pub(super) redirects: &'s [Redirect],
    pub(super) span: Span,
    pub(super) stdin: Stdin,
    /// Why it may be another command than the words say.
    pub(super) doubt: Option<String>,
}

impl Made<'_> {
    /// Whether the line gives it something on standard input.
    pub(super) fn input(&self) -> Input {
        match self.stdin {
            Stdin::Piped => Input::Given,
            Stdin::Own if self.redirects.iter().any(|one| feeds(one.kind)) => Input::Given,
            Stdin::Own => Input::Nothing,
        }
    }
}

impl Walker<'_> {
    pub(super) fn simple(
        &mut self,
        simple: &Simple,
        redirects: &[Redirect],
        state: &mut State,
        stdin: Stdin,
    ) -> Failed {
        for assignment in &simple.assignments {
            if let Some(word) = &assignment.subscript {
                self.subscript(&assignment.name, word, state);
            }
            self.word(&assignment.value, state);
        }
        for word in &simple.words {
            self.word(word, state);
        }
        let targets = self.redirects(redirects, state);
        let environment = self.assigned(&simple.assignments, state);
        let fields = fields(&simple.words, state);
        let work = if fields.len() > WORDS_MAX { usize::MAX } else { fields.len() };
        if !self.takes(work, simple.span) {
            return None;
        }
        if fields.is_empty() {
            self.keep(&simple.assignments, environment, state);
            self.note_bare(targets, simple.span, state);
            return None;
        }
        let altered = environment.iter().find(|(name, _)| self.is_hazard(name));
        let doubt = altered.map(|(name, _)| name.as_str()).or_else(|| state.altered());
        let doubt = doubt.map(str::to_owned);
        let span = simple.span;
        self.made(Made { fields, environment, targets, redirects, span, stdin, doubt }, state)
    }

    /// Looks at a command whose words are made.
    pub(super) fn made(&mut self, made: Made<'_>, state: &mut State) -> Failed {
        let Some(name) = made.fields.first().and_then(Field::known) else {
            self.unknown_program(made, state);
            return None;
        };
        let is_of_this_shell = is_builtin(&name) || !state.function(&name).is_empty();
        if made.environment.is_empty() || !is_of_this_shell {
            return self.started(&name, &made, state);
        }
        // The variables before a function or a builtin hold while it runs.
        let before = state.clone();
        for (name, value) in &made.environment {
            state.set(name, value.clone());
        }
        let failed = self.started(&name, &made, state);
        state.join(&before);
        failed
    }

    fn started(&mut self, name: &str, made: &Made<'_>, state: &mut State) -> Failed {
        self.called(name, made, state);
        self.aliased(name, made, state);
        let inspections = self.inspected(made, state);
        for (folder, inspection) in inspections {
            self.note(made, folder.as_ref(), &inspection, state);
            self.code_in(made, &inspection, state);
        }
        // A function or an alias of this name may run instead.
        let is_hidden = !state.function(name).is_empty() || state.alias(name).is_some();
        let before = is_hidden.then(|| state.clone());
        let failed = self.builtin(made, state);
        if let Some(before) = before {
            state.join(&before);
        }
        failed
    }

    /// A program that is known in the run alone. It may be any word of the shell too.
    fn unknown_program(&mut self, mut made: Made<'_>, state: &mut State) {
        self.dynamic(made.span, "which program this is is not known before the run");
        let rest: Vec<Field> = made.fields.iter().skip(1).cloned().collect();
        let vanishes = made.fields.first().is_some_and(|first| !first.single);
        self.note_words(&made, state, Nature::Unknown);
        if vanishes && !rest.is_empty() {
            // It may be nothing at all, and then the next word is the program.
            made.fields = rest;
            made.targets.clear();
            made.doubt = Some("a word before it".to_owned());
            self.made(made, state);
        }
        state.forget();
    }

    /// The command as a call of its own, from every folder in which it may run.
    fn inspected(
        &mut self,
        made: &Made<'_>,
        state: &State,
    ) -> Vec<(Option<PathBuf>, Inspection<'static>)> {
        let words = self.words(&made.fields);
        let input = made.input();
        let inspector = self.inspector;
        if state.folders().is_empty() {
            let inspection = inspector.inspect(words, Origin::Shell, input, self.view);
            return vec![(None, inspection)];
        }
        let mut inspections = Vec::new();
        for folder in state.folders() {
            let inspection = match self.view_from(folder) {
                Some(view) => inspector.inspect(words.clone(), Origin::Shell, input, &view),
                None => inspector.inspect(words.clone(), Origin::Shell, input, self.view),
            };
            inspections.push((Some(folder.clone()), inspection));
        }
        inspections
    }

    /// Words as the knowledge base takes them.
    pub(super) fn words(&self, fields: &[Field]) -> Vec<Word<'static>> {
        let word = |(argument, field): (usize, &Field)| {
            let (text, form) = match field.known() {
                Some(text) => (text, Form::Whole),
                None if field.is_pattern() => (field.shown(), Form::Unknown),
                None => {
                    let written = || self.source.slice(field.span);
                    (field.likely().unwrap_or_else(written), Form::Unknown)
                }
            };
            Word { text: Cow::Owned(OsString::from(text)), argument, form }
        };
        fields.iter().enumerate().map(word).collect()
    }

    /// The redirections of a loop, a group, a function.
    pub(super) fn bare_redirects(&mut self, redirects: &[Redirect], span: Span, state: &mut State) {
        let targets = self.redirects(redirects, state);
        self.note_bare(targets, span, state);
    }

    fn redirects(&mut self, redirects: &[Redirect], state: &mut State) -> Vec<Target> {
        let mut targets = Vec::new();
        for redirect in redirects {
            self.word(&redirect.target, state);
            let Some(kinds) = redirected(redirect.kind) else { continue };
            for field in fields(std::slice::from_ref(&redirect.target), state) {
                self.judge_target(&field, state);
                let opened = kinds.iter().map(|kind| self.target(*kind, &field));
                targets.extend(opened.map(|target| Target { redirected: true, ..target }));
            }
        }
        targets
    }

    /// The variables before a command, and what is known of setting them.
    fn assigned(
        &mut self,
        assignments: &[Assignment],
        state: &State,
    ) -> Vec<(String, Option<String>)> {
        let mut assigned = Vec::new();
        // Each sees what those before it have set: `x=a y=$x`.
        let mut so_far = state.clone();
        for assignment in assignments {
            self.note_variable(&assignment.name, assignment.span);
            let given = expand::value(&assignment.value, &so_far).known();
            self.given(&assignment.name, given.as_deref(), assignment.span, &so_far);
            let value = value_of(assignment, &so_far);
            if assignments.len() > 1 {
                so_far.set(&assignment.name, value.clone());
            }
            assigned.push((assignment.name.clone(), value));
        }
        assigned
    }

    /// Assignments without a command: they hold from now on.
    fn keep(
        &mut self,
        assignments: &[Assignment],
        values: Vec<(String, Option<String>)>,
        state: &mut State,
    ) {
        for (assignment, (name, value)) in assignments.iter().zip(values) {
            let is_number = matches!(assignment.value.pieces.as_slice(), [Piece::Arithmetic(_)]);
            if is_number && assignment.subscript.is_none() && !assignment.append {
                state.set_number(&name);
            } else {
                state.set(&name, value);
            }
            if self.is_hazard(&name) {
                state.alter(&name);
            }
        }
    }

    /// Says what is known of setting a variable.
    pub(super) fn note_variable(&mut self, name: &str, span: Span) {
        match self.inspector.knowledge.variable(name.as_ref(), 0) {
            Ok(None) => {}
            Ok(Some(hazard)) => {
                let text = format!(
                    "the line sets {name:?}, which changes what programs run: {}",
                    hazard.why
                );
                let instead = hazard.instead.as_deref().unwrap_or("leave the variable as it is");
                self.find(Axis::Environment, "variable", text, instead, Weight::Boxed, span);
            }
            Err(broken) => {
                let text = format!("what is known about {name:?} cannot be used: {broken}");
                self.find(Axis::Environment, "knowledge", text, "", Weight::Always, span);
            }
        }
    }

    /// Whether a variable changes which programs run.
    pub(super) fn is_hazard(&self, name: &str) -> bool {
        // What a name stands for: a path, an alias.
        let is_table = matches!(name, "BASH_CMDS" | "BASH_ALIASES");
        is_table || !matches!(self.inspector.knowledge.variable(name.as_ref(), 0), Ok(None))
    }

    /// A function of the line: its body, with the words after its name.
    fn called(&mut self, name: &str, made: &Made<'_>, state: &mut State) {
        let bodies = state.function(name);
        if bodies.is_empty() {
            return;
        }
        if self.calling.iter().filter(|calling| *calling == name).count() >= CALLS_MAX {
            return;
        }
        let before = state.clone();
        self.calling.push(name.to_owned());
        for body in bodies {
            let mut own = before.clone();
            own.set_positional(Some(made.fields.iter().skip(1).cloned().collect()));
            self.within(&format!("function {name}"), |walker| {
                walker.statement(&body, &mut own, made.stdin)
            });
            own.set_positional(before.positional().map(<[Field]>::to_vec));
            state.join(&own);
        }
        self.calling.pop();
    }

    /// An alias of the line: bash takes it only where it is told to, but then it does.
    fn aliased(&mut self, name: &str, made: &Made<'_>, state: &mut State) {
        let Some(text) = state.alias(name).map(|text| text.map(str::to_owned)) else { return };
        self.dynamic(made.span, "this name is an alias in the line");
        let rest: Option<Vec<String>> = made
            .fields
            .iter()
            .skip(1)
            .map(|field| field.known().map(|text| quoted(&text)))
            .collect();
        if let (Some(text), Some(rest)) = (text, rest)
            && !self.calling.iter().any(|calling| calling == name)
        {
            self.calling.push(name.to_owned());
            let code = format!("{text} {}", rest.join(" "));
            self.within(&format!("alias {name}"), |walker| {
                walker.code(&code, None, made.span, &mut state.clone());
                None
            });
            self.calling.pop();
        }
    }
}

/// What an assignment makes of its variable, where that is known.
fn value_of(assignment: &Assignment, state: &State) -> Option<String> {
    if assignment.subscript.is_some() || assignment.append {
        return None;
    }
    expand::value(&assignment.value, state).known()
}

/// Whether a redirection gives a command something to read.
fn feeds(kind: RedirectKind) -> bool {
    match kind {
        RedirectKind::Read
        | RedirectKind::ReadWrite
        | RedirectKind::HereDocument
        | RedirectKind::HereString => true,
        RedirectKind::Write | RedirectKind::Copy => false,
    }
}
