//! One simple command of a line: its words, its redirections, and everything that it starts.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use super::super::command::Target;
use super::super::pattern;
use super::super::{Inspection, Origin, ProgramInput};
use super::arithmetic::{AssignedValue, set_to};
use super::target::redirected;
use super::variables::is_table;
use super::word::fields;
use super::{StateOnFailure, Stdin, Walker};
use crate::catalog::{Purity, Word, WordForm};
use crate::inspect::{Axis, Weight};
use crate::shell::ast::{self, Assignment, Piece, Redirect, RedirectKind, Simple, Span};
use crate::shell::builtins::is_builtin;
use crate::shell::evaluated::{NUMBER, field_text};
use crate::shell::expand::{self, Bit, Field};
use crate::shell::operands::Role;
use crate::shell::printed::PrintedText;
use crate::shell::quoted;
use crate::shell::state::{Attribute, State};

/// The most words of one command: nested wrappers read them again and again.
const WORDS_MAX: usize = 4096;
/// How often a recursive function is followed.
const CALLS_MAX: usize = 2;

/// The most programs that a pattern may stand for and that are inspected.
const PROGRAMS_MAX: usize = 16;

/// A simple command with expanded words.
pub(super) struct ExpandedCommand<'s> {
    pub(super) fields: Vec<Field>,
    pub(super) environment: Vec<(String, Option<String>)>,
    pub(super) targets: Vec<Target>,
    pub(super) redirects: &'s [Redirect],
    pub(super) span: Span,
    pub(super) stdin: Stdin,
    /// Why another command may run than the words say.
    pub(super) doubt: Option<String>,
}

impl ExpandedCommand<'_> {
    /// Whether the line feeds its standard input.
    pub(super) fn input(&self) -> ProgramInput {
        match self.stdin {
            Stdin::Piped => ProgramInput::Given,
            Stdin::Own if self.redirects.iter().any(|one| feeds(one.kind)) => ProgramInput::Given,
            Stdin::Own => ProgramInput::Nothing,
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
    ) -> StateOnFailure {
        self.substituted = None;
        for assignment in &simple.assignments {
            if let Some(word) = &assignment.subscript {
                self.subscript(&assignment.name, word, state);
            }
            self.word(&assignment.value, state);
        }
        for word in &simple.words {
            self.word(word, state);
        }
        self.redirect_names(&simple.words, redirects, state);
        self.note_feeds(redirects, simple.span, state);
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
        self.made(
            ExpandedCommand { fields, environment, targets, redirects, span, stdin, doubt },
            state,
        )
    }

    /// Inspects a command with expanded words.
    pub(super) fn made(&mut self, made: ExpandedCommand<'_>, state: &mut State) -> StateOnFailure {
        let Some(name) = made.fields.first().and_then(Field::known) else {
            self.unknown_program(made, state);
            return None;
        };
        let is_of_this_shell = is_builtin(&name) || !state.function(&name).is_empty();
        if made.environment.is_empty() || !is_of_this_shell {
            return self.started(&name, &made, state);
        }
        // Variables before a function or a builtin hold while it runs.
        let before = state.clone();
        for (name, value) in &made.environment {
            state.set(name, value.clone());
        }
        let failed = self.started(&name, &made, state);
        state.join(&before);
        failed
    }

    fn started(
        &mut self,
        name: &str,
        made: &ExpandedCommand<'_>,
        state: &mut State,
    ) -> StateOnFailure {
        self.called(name, made, state);
        self.aliased(name, made, state);
        self.git_settings(name, made, state);
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

    /// A program that is only known at run time. It may be a keyword or builtin as well.
    fn unknown_program(&mut self, mut made: ExpandedCommand<'_>, state: &mut State) {
        self.dynamic(made.span, "which program this is is not known before the run");
        let rest: Vec<Field> = made.fields.iter().skip(1).cloned().collect();
        let first = made.fields.first().cloned();
        let vanishes = first.as_ref().is_some_and(|first| !first.single);
        self.note_words(&made, state, Purity::Unknown);
        let names = first.map(|first| self.likely_programs(&first, state)).unwrap_or_default();
        for name in names {
            let words = name.split_whitespace().map(|word| Field::of(word, made.span));
            let likely = ExpandedCommand {
                fields: words.chain(rest.iter().cloned()).collect(),
                environment: made.environment.clone(),
                targets: Vec::new(),
                doubt: Some("a pattern or a substitution".to_owned()),
                ..made
            };
            self.made(likely, &mut state.clone());
        }
        if vanishes && !rest.is_empty() {
            // The word may be empty, and then the next word is the program.
            made.fields = rest;
            made.targets.clear();
            made.doubt = Some("a word before it".to_owned());
            self.made(made, state);
        }
        state.forget();
    }

    /// The programs that an uncertain word may name: a pattern on disk, or the output of a
    /// substitution.
    fn likely_programs(&mut self, word: &Field, state: &State) -> Vec<String> {
        if !word.is_pattern() {
            let texts = self.likely_texts(word.span).into_iter().filter_map(|text| match text {
                PrintedText::Text(text) => Some(text),
                PrintedText::Changed => None,
            });
            return texts.chain(word.likely()).chain(without_unknown(word)).collect();
        }
        let mut names = Vec::new();
        for folder in state.folders() {
            let paths = self.view_from(folder).map(|resolver| pattern::paths(word, &resolver));
            let paths = paths.flatten().unwrap_or_default();
            names.extend(paths.iter().filter_map(|path| path.to_str()).map(str::to_owned));
        }
        let shown = word.shown();
        let (folder, _) = shown.rsplit_once('/').unwrap_or_default();
        let is_system = |of: &PathBuf| std::path::Path::new(folder).starts_with(of);
        // A file with this name may be created before the pattern is expanded.
        let is_any = folder.is_empty() || self.inspector.settings.folders.iter().any(is_system);
        if is_any {
            let known = self.inspector.knowledge.names();
            names.extend(known.filter(|name| pattern::fits_name(word, name)).map(str::to_owned));
        }
        names.sort_unstable();
        names.dedup();
        let is_nothing = names.is_empty() && !shown.contains('/');
        if is_any && (names.len() > PROGRAMS_MAX || is_nothing) {
            let text = format!("the pattern {shown:?} stands for a program");
            let instead = "name the program";
            self.find(Axis::Shell, "unclear", text, instead, Weight::Ask, word.span);
        }
        names.truncate(PROGRAMS_MAX);
        names
    }

    /// Inspects the command as a call of its own, from each folder in which it may run.
    fn inspected(
        &mut self,
        made: &ExpandedCommand<'_>,
        state: &State,
    ) -> Vec<(Option<PathBuf>, Inspection<'static>)> {
        let words = self.words(&made.fields);
        let input = made.input();
        let inspector = self.inspector;
        if state.folders().is_empty() {
            let inspection = inspector.inspect(words, Origin::Shell, input, self.resolver);
            return vec![(None, inspection)];
        }
        let mut inspections = Vec::new();
        for folder in state.folders() {
            let inspection = match self.view_from(folder) {
                Some(resolver) => inspector.inspect(words.clone(), Origin::Shell, input, &resolver),
                None => inspector.inspect(words.clone(), Origin::Shell, input, self.resolver),
            };
            inspections.push((Some(folder.clone()), inspection));
        }
        inspections
    }

    /// The words in the form of the catalog.
    pub(super) fn words(&self, fields: &[Field]) -> Vec<Word<'static>> {
        let word = |(argument, field): (usize, &Field)| {
            let (text, form) = match field.known() {
                Some(text) => (text, WordForm::Whole),
                None if field.is_pattern() => (field.shown(), WordForm::Unknown),
                None => {
                    let written = || self.source.slice(field.span);
                    (field.likely().unwrap_or_else(written), WordForm::Unknown)
                }
            };
            Word { text: Cow::Owned(OsString::from(text)), argument, form }
        };
        fields.iter().enumerate().map(word).collect()
    }

    /// The redirections of a loop, a group or a function.
    pub(super) fn bare_redirects(&mut self, redirects: &[Redirect], span: Span, state: &mut State) {
        self.note_feeds(redirects, span, state);
        let targets = self.redirects(redirects, state);
        self.note_bare(targets, span, state);
    }

    fn redirects(&mut self, redirects: &[Redirect], state: &mut State) -> Vec<Target> {
        let mut targets = Vec::new();
        for redirect in redirects {
            self.word(&redirect.target, state);
            if let Some(name) = self.redirect_variable(redirect) {
                self.variable(Role::Counted, Some(&name), redirect.span, state);
            }
            let Some(kinds) = redirected(redirect.kind) else { continue };
            for field in fields(std::slice::from_ref(&redirect.target), state) {
                self.judge_target(&field, state);
                let opened = kinds.iter().map(|kind| self.target(*kind, &field));
                targets.extend(opened.map(|target| Target { redirected: true, ..target }));
            }
        }
        targets
    }

    /// The variables before a command, and the findings about setting them.
    fn assigned(
        &mut self,
        assignments: &[Assignment],
        state: &State,
    ) -> Vec<(String, Option<String>)> {
        let mut assigned = Vec::new();
        // Each value sees the assignments before it: `x=a y=$x`.
        let mut so_far = state.clone();
        for assignment in assignments {
            self.note_variable(&assignment.name, assignment.span);
            self.given_word(assignment, &so_far);
            let value = value_of(assignment, &so_far);
            if assignments.len() > 1 {
                so_far.set(&assignment.name, value.clone());
            }
            assigned.push((assignment.name.clone(), value));
        }
        assigned
    }

    /// The value of an assignment; arrays element by element.
    fn given_word(&mut self, assignment: &Assignment, state: &State) {
        let elements = match assignment.value.pieces.as_slice() {
            [Piece::Array(words)] => words.as_slice(),
            _ => std::slice::from_ref(&assignment.value),
        };
        for word in elements {
            let text = field_text(&expand::value(word, state));
            let given = if assignment.append {
                AssignedValue::More(text.as_deref())
            } else {
                AssignedValue::Text(text.as_deref())
            };
            self.given(&assignment.name, given, assignment.span, state);
        }
    }

    /// Assignments without a command: they persist.
    fn keep(
        &mut self,
        assignments: &[Assignment],
        values: Vec<(String, Option<String>)>,
        state: &mut State,
    ) {
        for (assignment, (name, value)) in assignments.iter().zip(values) {
            let is_array = matches!(assignment.value.pieces.as_slice(), [Piece::Array(_)]);
            if value.is_none() {
                self.note_assigned(&name, &assignment.value, state);
            }
            if is_array || assignment.subscript.is_some() {
                state.give(&name, Attribute::Array);
            }
            if is_table(&name) {
                Self::note_assigned_entries(assignment, state);
            }
            let text = field_text(&expand::value(&assignment.value, state));
            let is_whole = assignment.subscript.is_none() && !assignment.append;
            if is_whole && text.as_deref().is_some_and(|text| text.contains(NUMBER)) {
                set_to(&name, text, state);
            } else {
                state.set(&name, value);
            }
            if self.is_hazard(&name) {
                state.alter(&name);
            }
        }
    }

    /// The entries of a table of bash that an assignment sets.
    fn note_assigned_entries(assignment: &Assignment, state: &mut State) {
        let name = &assignment.name;
        let known = |word: &ast::Word| expand::value(word, state).known();
        let elements: Vec<(String, String)> = match assignment.value.pieces.as_slice() {
            [Piece::Array(words)] => {
                let texts = words.iter().filter_map(known);
                texts
                    .filter_map(|text| {
                        Some(text.split_once('=')?)
                            .map(|(key, value)| (format!("{name}{key}"), value.to_owned()))
                    })
                    .collect()
            }
            _ => {
                let key = assignment.subscript.as_ref().and_then(known);
                let value = known(&assignment.value);
                key.zip(value)
                    .map(|(key, value)| (format!("{name}[{key}]"), value))
                    .into_iter()
                    .collect()
            }
        };
        for (target, value) in elements {
            Self::note_entries(name, &target, &value, false, state);
        }
    }

    /// What a variable is given that is not known: a word, or the elements of an array.
    fn note_assigned(&mut self, name: &str, word: &ast::Word, state: &State) {
        let given = match word.pieces.as_slice() {
            [Piece::Array(words)] => fields(words, state),
            _ => vec![Field { span: word.span, ..expand::value(word, state) }],
        };
        self.note_variable_words(name, &given, None, state);
    }

    /// Records the findings about setting a variable.
    pub(super) fn note_variable(&mut self, name: &str, span: Span) {
        if is_table(name) {
            self.dynamic(span, "the line says itself what a name runs");
            let text = format!("the line writes into {name:?}, the table of what names run");
            let instead = "name the program itself";
            self.find(Axis::Shell, "unclear", text, instead, Weight::Ask, span);
        }
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
        is_table(name) || !matches!(self.inspector.knowledge.variable(name.as_ref(), 0), Ok(None))
    }

    /// Calls a function of the line: its body, with the words after its name.
    fn called(&mut self, name: &str, made: &ExpandedCommand<'_>, state: &mut State) {
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
            let words: Vec<Field> = made.fields.iter().skip(1).cloned().collect();
            self.note_positional(&words, state);
            own.set_positional(Some(words));
            self.within(&format!("function {name}"), |walker| {
                walker.statement(&body, &mut own, made.stdin)
            });
            own.set_positional(before.positional().map(<[Field]>::to_vec));
            state.join(&own);
        }
        self.calling.pop();
    }

    /// Expands an alias of the line. Bash does so only if told to.
    fn aliased(&mut self, name: &str, made: &ExpandedCommand<'_>, state: &mut State) {
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

/// The name that is left of `r${x}m` where the variable is empty.
fn without_unknown(word: &Field) -> Option<String> {
    let text = |bit: &Bit| match bit {
        Bit::Text(text) => Some(text.clone()),
        Bit::Unknown => Some(String::new()),
        Bit::Glob(_) | Bit::Number => None,
    };
    let text = word.bits.iter().map(text).collect::<Option<String>>()?;
    (!text.is_empty() && !text.contains('/')).then_some(text)
}

/// What an assignment makes of its variable, where that is known.
fn value_of(assignment: &Assignment, state: &State) -> Option<String> {
    if assignment.subscript.is_some() || assignment.append {
        return None;
    }
    expand::value(&assignment.value, state).known()
}

/// Whether a redirection feeds standard input.
pub(super) fn feeds(kind: RedirectKind) -> bool {
    match kind {
        RedirectKind::Read
        | RedirectKind::ReadWrite
        | RedirectKind::HereDocument
        | RedirectKind::HereString => true,
        RedirectKind::Write | RedirectKind::Copy => false,
    }
}
