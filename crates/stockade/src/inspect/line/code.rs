//! Shell code in a line: `sh -c`, `eval`, a here-document for `bash`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::super::Inspection;
use super::super::command::{Command, Start};
use super::foreign::{EditorCommand, takes_commands};
use super::simple::{ExpandedCommand, feeds};
use super::{CODE_UNKNOWN, Walker};
use crate::catalog::{Analysis, Code, EffectKind, Hazard, HazardKind, Runner, Word};
use crate::inspect::{Axis, Weight};
use crate::shell::ast::{Redirect, RedirectKind, Span};
use crate::shell::expand::{self, Field, SUBSTITUTED};
use crate::shell::parse;
use crate::shell::printed::{PrintedText, given};
use crate::shell::state::{State, lexical};

/// Programs that read shell code from standard input.
pub(super) const SHELLS: [&str; 12] =
    ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "source", ".", "busybox", "fish"];

/// The text about code that is in the line in another language, or is not in it.
const UNLOOKED: &str = "what this code runs is not looked at";
/// The text about code that other commands of the line print.
const PRINTED: &str = "other commands print the code that this runs";

/// The text that is parsed, and its place in the line.
#[derive(Debug, Clone)]
pub(super) struct Source {
    text: String,
    /// The end of the text; a span may end after it if something is not closed.
    end: usize,
    place: SourceOffset,
}

#[derive(Debug, Clone, Copy)]
enum SourceOffset {
    /// At this offset in the line.
    Further(usize),
    /// Somewhere within this part of the line.
    Within(Span),
}

impl Source {
    pub(super) fn of(line: &str) -> Self {
        Self { text: line.to_owned(), end: line.len(), place: SourceOffset::Further(0) }
    }

    /// The place in the line of a part of this text.
    pub(super) fn place(&self, span: Span) -> Span {
        match self.place {
            SourceOffset::Further(by) => {
                let start = span.start.min(self.end);
                let end = span.end.min(self.end);
                Span { start: start.saturating_add(by), end: end.saturating_add(by) }
            }
            SourceOffset::Within(span) => span,
        }
    }

    /// A part of this text.
    pub(super) fn slice(&self, span: Span) -> String {
        self.text.get(span.start..span.end).unwrap_or_default().to_owned()
    }

    /// The text before a byte.
    pub(super) fn before(&self, end: usize) -> &str {
        self.text.get(..end).unwrap_or_default()
    }

    /// Code in a part of this text, verbatim or not.
    fn inner(&self, code: &str, span: Span) -> Self {
        let written = self.text.get(span.start..span.end).unwrap_or_default();
        let place = match (self.place, written.find(code)) {
            (SourceOffset::Further(by), Some(at)) => {
                SourceOffset::Further(span.start.saturating_add(at).saturating_add(by))
            }
            (SourceOffset::Further(_) | SourceOffset::Within(_), _) => {
                SourceOffset::Within(self.place(span))
            }
        };
        Self { text: code.to_owned(), end: code.len(), place }
    }
}

impl Walker<'_> {
    /// Inspects the code in the commands of one inspection.
    pub(super) fn code_in(
        &mut self,
        made: &ExpandedCommand<'_>,
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
                    self.follow(made, &entered, command, code, state);
                }
            }
            let untold = |reading: &Analysis<'_>| {
                let is_code = |hazard: &Hazard| hazard.kind == HazardKind::InlineCode;
                reading.hazards.iter().any(is_code)
                    && reading.code.is_empty()
                    && reading.inner.is_empty()
            };
            if command.readings.iter().any(untold) {
                self.dynamic(made.span, UNLOOKED);
            }
            self.read_code(made, command, state);
        }
    }

    fn follow(
        &mut self,
        made: &ExpandedCommand<'_>,
        entered: &[Option<OsString>],
        command: &Command<'static>,
        code: &Code,
        state: &mut State,
    ) {
        if code.runner == Runner::Other || code.open {
            let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
            if code.open || hazards.into_iter().any(|one| one.kind == HazardKind::InlineCode) {
                self.dynamic(made.span, UNLOOKED);
            }
            if code.runner == Runner::Other {
                let words = code.words.iter().filter_map(|at| command.words.get(*at));
                let unknown = words.into_iter().find(|word| !word.is_known());
                if let Some(field) = unknown.and_then(|word| made.fields.get(word.argument)) {
                    self.dynamic(field.span, CODE_UNKNOWN);
                }
                self.code_of_words(made, command, code, state);
                return;
            }
        }
        let mut words: Vec<&Word<'static>> =
            code.words.iter().filter_map(|at| command.words.get(*at)).collect();
        // `su x -- -c CODE`: the words are those of a shell, and the code follows its option.
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
            self.dynamic(span, CODE_UNKNOWN);
            for text in self.likely_texts(span).into_iter().filter(|_| words.len() == 1) {
                self.printed_code(Some(text), made, command, state);
            }
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
                let mut own = state.clone();
                own.may_hold_more();
                self.code(&text, held, span, &mut own);
            }
            Runner::Shell | Runner::Other => {
                let mut own = state_of_shell(made, command, state);
                if command.words.iter().any(|word| *word.text == *"lastpipe") {
                    own.pipe_last();
                }
                let words = arguments(made, command, code).filter(|_| !self.is_open);
                self.given_arguments(words, state, &mut own);
                for folder in entered {
                    enter(folder.as_deref(), &mut own);
                }
                self.code(&text, held, span, &mut own);
            }
        }
        self.via.pop();
        (self.is_remote, self.is_open) = (was_remote, was_open);
    }

    /// Commands of a shell in words that another language reads.
    fn code_of_words(
        &mut self,
        made: &ExpandedCommand<'_>,
        command: &Command<'static>,
        code: &Code,
        state: &State,
    ) {
        let words: Vec<&Word<'static>> =
            code.words.iter().filter_map(|at| command.words.get(*at)).collect();
        let texts: Option<Vec<&str>> =
            words.iter().map(|word| word.text.to_str().filter(|_| word.is_known())).collect();
        let first = words.first().and_then(|word| made.fields.get(word.argument));
        let span = first.map_or(made.span, |field| field.span);
        let text = texts.and_then(|texts| texts.join(" ").get(code.offset..).map(str::to_owned));
        if let Some(text) = text {
            self.foreign_code(&names_of(command), &text, made, span, state);
        }
    }

    /// The words behind the code of a shell: the first is its name, `$0`, the others are `$1` and on.
    fn given_arguments(&mut self, words: Option<Vec<Field>>, state: &State, own: &mut State) {
        let is_told = words.as_ref().is_some_and(|words| words.first().is_none_or(Field::is_one));
        let words = words.unwrap_or_default();
        let (name, rest) = words.split_at_checked(1).unwrap_or_default();
        let rest = if is_told { rest } else { &words };
        self.note_positional(rest, state);
        self.note_variable_words("0", name, None, state);
        own.set("0", name.first().and_then(Field::known));
        own.set_positional(is_told.then(|| rest.to_vec()));
    }

    /// Inspects code that may run at any later time, and then may set variables.
    fn code_later(&mut self, text: &str, held: Option<Span>, span: Span, state: &mut State) {
        let mut later = state.at_another_time();
        self.code(text, held, span, &mut later);
        state.may_become(&later);
    }

    /// Inspects code as a line of its own. `held` is the word that contains it verbatim.
    pub(super) fn code(&mut self, text: &str, held: Option<Span>, span: Span, state: &mut State) {
        // Code is parsed anew each time, whatever its length.
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

    /// A shell that reads its code from standard input: from the line, if the line contains it.
    fn read_code(&mut self, made: &ExpandedCommand<'_>, command: &Command<'static>, state: &State) {
        let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
        let reads = hazards.map(|hazard| hazard.kind).any(|kind| kind == HazardKind::StdinCode);
        let is_shell = command.names.iter().any(|name| SHELLS.contains(&name.as_str()));
        if !is_shell {
            let text = given(made.redirects, state).or_else(|| self.piped.clone());
            let names = names_of(command);
            let editor = EditorCommand { names: &names, words: &command.words };
            self.editor_words(&editor, made, state);
            let is_written = made.redirects.iter().any(|one| {
                matches!(one.kind, RedirectKind::HereDocument | RedirectKind::HereString)
            });
            match text {
                Some(PrintedText::Text(text)) if takes_commands(&names) => {
                    self.editor_script(&editor, &text, made, state);
                }
                // A part of the text is known only in the run.
                None if is_written && takes_commands(&names) => self.changed_code(made),
                Some(PrintedText::Text(text)) if reads => {
                    self.foreign_code(&names, &text, made, made.span, state);
                }
                Some(PrintedText::Changed) if takes_commands(&names) => self.changed_code(made),
                _ if takes_commands(&names) => self.dynamic(made.span, UNLOOKED),
                _ => {}
            }
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
        let mut operands = command.words.iter().skip(1).filter_map(|word| word.text.to_str());
        if operands.find(|word| !word.starts_with('-')) == Some(SUBSTITUTED) {
            let text = self.substituted.clone();
            self.printed_code(text, made, command, state);
            return;
        }
        if !reads {
            return;
        }
        // The last redirection that may be its standard input.
        let may_feed = |redirect: &&Redirect| self.source.slice(redirect.span).contains('<');
        let last = made.redirects.iter().rev().find(may_feed).filter(|redirect| {
            matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString)
        });
        let text = last
            .map(|redirect| (redirect.target.span, expand::value(&redirect.target, state).known()));
        match text {
            Some((span, Some(text))) => {
                self.via.push(command.spelled().to_string_lossy().into_owned());
                self.code(&text, Some(span), span, &mut state_of_shell(made, command, state));
                self.via.pop();
            }
            Some((span, None)) => {
                self.dynamic(span, CODE_UNKNOWN);
            }
            None => self.piped_code(made, command, state),
        }
    }
}

impl Walker<'_> {
    /// The code of a shell without a here-document: from a pipe whose text the line contains, or
    /// from an enclosing group, function or shell.
    /// a group, a function or a shell around it.
    fn piped_code(
        &mut self,
        made: &ExpandedCommand<'_>,
        command: &Command<'static>,
        state: &State,
    ) {
        let is_piped = made.redirects.iter().all(|one| !feeds(one.kind));
        let piped = self.piped.clone().filter(|_| is_piped);
        self.printed_code(piped.or_else(|| given(made.redirects, state)), made, command, state);
    }

    /// The code of a shell that other commands of the line print.
    fn printed_code(
        &mut self,
        text: Option<PrintedText>,
        made: &ExpandedCommand<'_>,
        command: &Command<'static>,
        state: &State,
    ) {
        match text {
            Some(PrintedText::Text(text)) => {
                self.dynamic(made.span, PRINTED);
                self.via.push(command.spelled().to_string_lossy().into_owned());
                let mut own = state_of_shell(made, command, state);
                self.code(&text, None, made.span, &mut own);
                self.via.pop();
            }
            Some(PrintedText::Changed) => self.changed_code(made),
            None => self.dynamic(made.span, "the code that this runs is not in the line"),
        }
    }
}

impl Walker<'_> {
    fn changed_code(&mut self, made: &ExpandedCommand<'_>) {
        let text = "a program runs text of this line that another one changes before".to_owned();
        let instead = "write the code itself";
        self.find(Axis::Shell, "unclear", text, instead, Weight::Ask, made.span);
        self.dynamic(made.span, CODE_UNKNOWN);
    }
}

/// The names of a program: the written one, and those by which it is known.
fn names_of(command: &Command<'static>) -> Vec<String> {
    let written = Path::new(command.spelled()).file_name();
    let written = written.map(|name| name.to_string_lossy().into_owned());
    written.into_iter().chain(command.names.iter().cloned()).collect()
}

/// The state of a shell that a command starts, with the variables that the line, or a program
/// around it, puts into its environment.
fn state_of_shell(made: &ExpandedCommand<'_>, command: &Command<'static>, state: &State) -> State {
    let mut own = state.of_a_shell_of_its_own();
    for (name, value) in &made.environment {
        own.set(name, value.clone());
    }
    let first = command.argument();
    for field in made.fields.iter().take(first).skip(1) {
        match field.known() {
            Some(text) => {
                let parts: Vec<&str> = text.split('=').collect();
                // `A=b`, `--setenv=A=b`
                for name in parts.iter().take(parts.len().saturating_sub(1)) {
                    own.set(name.trim_start_matches('-'), None);
                }
            }
            None => own.may_hold_more(),
        }
    }
    own
}

/// The words after the code of `bash -c`, of which the first is a name.
fn arguments(
    made: &ExpandedCommand<'_>,
    command: &Command<'static>,
    code: &Code,
) -> Option<Vec<Field>> {
    let is_shell = command.names.iter().any(|name| SHELLS.contains(&name.as_str()));
    let [at] = code.words.as_slice() else { return None };
    if !is_shell || command.start == Start::Open {
        return None;
    }
    let rest = command.words.iter().skip(at.saturating_add(1));
    rest.map(|word| match made.fields.get(word.argument) {
        Some(field) if word.is_whole() => Some(field.clone()),
        Some(field) => Some(Field::of(word.text.to_str()?, field.span)),
        None => None,
    })
    .collect()
}

/// The code may run in a folder that an enclosing program enters: `env -C DIR sh -c CODE`.
fn enter(folder: Option<&OsStr>, state: &mut State) {
    let mut moved = state.clone();
    let from = state.folders().iter();
    let to = |folder: &OsStr| from.map(|from| lexical(from, Path::new(folder))).collect();
    moved.move_to(folder.map(to).unwrap_or_default());
    state.join(&moved);
}

/// Whether an option makes a shell read the person's start-up files first.
fn reads_files_first(word: &str) -> bool {
    let is_login = matches!(word, "--login" | "--interactive" | "--rcfile" | "--init-file");
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    is_login || letters.is_some_and(|letters| letters.contains(['l', 'i']))
}
