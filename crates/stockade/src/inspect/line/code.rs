//! Code in a line that a shell runs: `sh -c`, `eval`, a here-document for `bash`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::super::Inspection;
use super::super::command::{Command, Start};
use super::Walker;
use super::simple::Made;
use crate::knowledge::{Code, EffectKind, Hazard, HazardKind, Reading, Runner, Word};
use crate::shell::expand::{self, Field};
use crate::shell::parse;
use crate::shell::state::{State, lexical};
use crate::shell::tree::{Redirect, RedirectKind, Span};

/// Programs that take shell code from standard input.
pub(super) const SHELLS: [&str; 12] =
    ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "source", ".", "busybox", "fish"];

/// The text that is being read, and where it stands in the line.
#[derive(Debug, Clone)]
pub(super) struct Source {
    text: String,
    /// Where it ends; a span may end behind that, where something is not closed.
    end: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// So many bytes further on in the line.
    Further(usize),
    /// Somewhere within this part of the line.
    Within(Span),
}

impl Source {
    pub(super) fn of(line: &str) -> Self {
        Self { text: line.to_owned(), end: line.len(), place: Place::Further(0) }
    }

    /// Where a part of this text stands in the line.
    pub(super) fn place(&self, span: Span) -> Span {
        match self.place {
            Place::Further(by) => {
                let start = span.start.min(self.end);
                let end = span.end.min(self.end);
                Span { start: start.saturating_add(by), end: end.saturating_add(by) }
            }
            Place::Within(span) => span,
        }
    }

    /// A part of this text.
    pub(super) fn slice(&self, span: Span) -> String {
        self.text.get(span.start..span.end).unwrap_or_default().to_owned()
    }

    /// Code that stands in a part of this text, as it is there or otherwise.
    fn inner(&self, code: &str, span: Span) -> Self {
        let written = self.text.get(span.start..span.end).unwrap_or_default();
        let place = match (self.place, written.find(code)) {
            (Place::Further(by), Some(at)) => {
                Place::Further(span.start.saturating_add(at).saturating_add(by))
            }
            (Place::Further(_) | Place::Within(_), _) => Place::Within(self.place(span)),
        };
        Self { text: code.to_owned(), end: code.len(), place }
    }
}

impl Walker<'_> {
    /// Follows the code in the commands of one inspection.
    pub(super) fn code_in(
        &mut self,
        made: &Made<'_>,
        inspection: &Inspection<'static>,
        state: &mut State,
    ) {
        let mut entered: Vec<Option<OsString>> = Vec::new();
        for command in &inspection.commands {
            let effects = command.readings.iter().flat_map(|reading| &reading.effects);
            for effect in effects.filter(|effect| effect.kind == EffectKind::Enter) {
                let word = effect.word.and_then(|at| command.words.get(at));
                let is_known = word.is_none_or(Word::is_known);
                entered.push(Some(effect.target.clone()).filter(|_| is_known));
            }
            let mut seen: Vec<&Code> = Vec::new();
            for code in command.readings.iter().flat_map(|reading| &reading.code) {
                if !seen.contains(&code) {
                    seen.push(code);
                    self.follow((made, &entered), command, code, state);
                }
            }
            let untold = |reading: &Reading<'_>| {
                let is_code = |hazard: &Hazard| hazard.kind == HazardKind::InlineCode;
                reading.hazards.iter().any(is_code)
                    && reading.code.is_empty()
                    && reading.inner.is_empty()
            };
            if command.readings.iter().any(untold) {
                self.dynamic(made.span, "what this code runs is not looked at");
            }
            self.read_code(made, command, state);
        }
    }

    fn follow(
        &mut self,
        (made, entered): (&Made<'_>, &[Option<OsString>]),
        command: &Command<'static>,
        code: &Code,
        state: &mut State,
    ) {
        if code.runner == Runner::Other || code.open {
            let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
            if code.open || hazards.into_iter().any(|one| one.kind == HazardKind::InlineCode) {
                self.dynamic(made.span, "what this code runs is not looked at");
            }
            if code.runner == Runner::Other {
                return;
            }
        }
        let mut words: Vec<&Word<'static>> =
            code.words.iter().filter_map(|at| command.words.get(*at)).collect();
        // `su x -- -c CODE`: the words are a shell's own, and the code is the one after its option.
        if let [option, text, ..] = words.as_slice()
            && *option.text == *"-c"
        {
            words = vec![text];
        }
        let texts: Option<Vec<&str>> =
            words.iter().map(|word| word.text.to_str().filter(|_| word.is_known())).collect();
        let first = words.first().and_then(|word| made.fields.get(word.argument));
        let span = first.map_or(made.span, |field| field.span);
        let text = texts.and_then(|texts| texts.join(" ").get(code.offset..).map(str::to_owned));
        let Some(text) = text else {
            self.dynamic(span, "this is code, and it is not known before the run");
            if code.runner == Runner::ThisShell {
                state.forget();
            }
            return;
        };
        let held = if words.len() == 1 { Some(span) } else { None };
        let name = command.spelled().to_string_lossy().into_owned();
        let (was_remote, was_open) = (self.is_remote, self.is_open);
        self.is_open |= code.open;
        self.via.push(name);
        match code.runner {
            Runner::ThisShell => self.code(&text, held, span, state),
            Runner::ThisShellLater => self.code_later(&text, held, span, state),
            Runner::Remote => {
                self.is_remote = true;
                self.code(&text, held, span, &mut state.clone());
            }
            Runner::Shell | Runner::Other => {
                let mut own = state.of_a_shell_of_its_own();
                if command.words.iter().any(|word| *word.text == *"lastpipe") {
                    own.pipe_last();
                }
                for (name, value) in &made.environment {
                    own.set(name, value.clone());
                }
                own.set_positional(arguments(made, command, code).filter(|_| !self.is_open));
                for folder in entered {
                    enter(folder.as_deref(), &mut own);
                }
                self.code(&text, held, span, &mut own);
            }
        }
        self.via.pop();
        (self.is_remote, self.is_open) = (was_remote, was_open);
    }

    /// Reads code that may run at any time from now on, and then may set what it sets.
    fn code_later(&mut self, text: &str, held: Option<Span>, span: Span, state: &mut State) {
        let mut later = state.at_another_time();
        self.code(text, held, span, &mut later);
        state.may_become(&later);
    }

    /// Reads code as a line of its own. `held` is the word that holds it as it is.
    pub(super) fn code(&mut self, text: &str, held: Option<Span>, span: Span, state: &mut State) {
        // Code is read anew each time, however long it is.
        if !self.takes(text.len().div_ceil(64), span) {
            return;
        }
        self.depth = self.depth.saturating_add(1);
        let inner = self.source.inner(text, held.unwrap_or(span));
        let outer = std::mem::replace(&mut self.source, inner);
        let parsed = parse(text);
        self.faults(&parsed.faults);
        self.script(&parsed.script, state);
        self.source = outer;
        self.depth = self.depth.saturating_sub(1);
    }

    /// A shell that reads its code from standard input: from the line, where it stands there.
    fn read_code(&mut self, made: &Made<'_>, command: &Command<'static>, state: &State) {
        let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
        let reads = hazards.map(|hazard| hazard.kind).any(|kind| kind == HazardKind::StdinCode);
        let is_shell = command.names.iter().any(|name| SHELLS.contains(&name.as_str()));
        if !is_shell {
            return;
        }
        let has_code = command
            .readings
            .iter()
            .any(|reading| !reading.code.is_empty() || !reading.inner.is_empty());
        if command.words.iter().skip(1).any(|word| reads_files_first(&word.text.to_string_lossy()))
            || !has_code && !reads
        {
            self.unread(made.span);
        }
        if !reads {
            return;
        }
        // The last one that may be its standard input.
        let feeds = |redirect: &&Redirect| self.source.slice(redirect.span).contains('<');
        let last = made.redirects.iter().rev().find(feeds).filter(|redirect| {
            matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString)
        });
        let text = last
            .map(|redirect| (redirect.target.span, expand::value(&redirect.target, state).known()));
        match text {
            Some((span, Some(text))) => {
                self.via.push(command.spelled().to_string_lossy().into_owned());
                self.code(&text, Some(span), span, &mut state.of_a_shell_of_its_own());
                self.via.pop();
            }
            Some((span, None)) => {
                self.dynamic(span, "this is code, and it is not known before the run");
            }
            // It may have its input from a group, a function or a shell around it.
            None => self.dynamic(made.span, "the code that this runs is not in the line"),
        }
    }
}

/// The words after the code of `bash -c`, without the first, which is a name.
fn arguments(made: &Made<'_>, command: &Command<'static>, code: &Code) -> Option<Vec<Field>> {
    let is_shell = command.names.iter().any(|name| SHELLS.contains(&name.as_str()));
    let [at] = code.words.as_slice() else { return None };
    if !is_shell || command.start == Start::Open {
        return None;
    }
    let rest = command.words.iter().skip(at.saturating_add(2));
    rest.map(|word| match made.fields.get(word.argument) {
        Some(field) if word.is_whole() => Some(field.clone()),
        Some(field) => Some(Field::of(word.text.to_str()?, field.span)),
        None => None,
    })
    .collect()
}

/// The code may run in a folder that a program around it enters: `env -C DIR sh -c CODE`.
fn enter(folder: Option<&OsStr>, state: &mut State) {
    let mut moved = state.clone();
    let from = state.folders().iter();
    let to = |folder: &OsStr| from.map(|from| lexical(from, Path::new(folder))).collect();
    moved.move_to(folder.map(to).unwrap_or_default());
    state.join(&moved);
}

/// Whether an option makes a shell read files of the person's before anything else.
fn reads_files_first(word: &str) -> bool {
    let is_login = matches!(word, "--login" | "--interactive" | "--rcfile" | "--init-file");
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    is_login || letters.is_some_and(|letters| letters.contains(['l', 'i']))
}
