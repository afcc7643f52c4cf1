//! Writes down what was found in a line: commands, and facts with their place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::command::{Command, Start};
use super::super::finding::{Axis, Finding, Weight};
use super::super::found::{Found, Target, nature};
use super::super::{Input, Inspection};
use super::Walker;
use super::code::SHELLS;
use super::simple::Made;
use crate::knowledge::{EffectKind, Nature, Word};
use crate::shell::expand::{Field, SUBSTITUTED};
use crate::shell::hidden::lookalike;
use crate::shell::state::{State, lexical};
use crate::shell::tree::Span;

impl Walker<'_> {
    /// Writes down the commands of one inspection, and what was found in them.
    pub(super) fn note(
        &mut self,
        made: &Made<'_>,
        folder: Option<&PathBuf>,
        inspection: &Inspection<'static>,
        state: &State,
    ) {
        for finding in &inspection.findings {
            self.note_finding(made, folder, finding);
            if let Some(why) = unseen(finding, inspection) {
                self.dynamic(made.span, why);
            }
        }
        let mut entered = Vec::new();
        let mut places: Vec<Option<usize>> = Vec::new();
        for command in &inspection.commands {
            let starter = parent(command, inspection);
            places.push(None);
            if command.start == Start::Script {
                continue;
            }
            let is_unknown = command.words.first().is_some_and(|word| !word.is_known());
            if command.start != Start::Call && is_unknown {
                let span = span_of(made, command);
                self.dynamic(span, "which program this is is not known before the run");
            }
            let mut found = self.found(made, folder, command, state);
            found.entered.extend(entered.iter().cloned());
            if !found.targets.is_empty() {
                entered.clone_from(&found.entered);
            }
            if let Some(name) = found.words.first().and_then(|name| name.to_str()) {
                self.note_lookalike(name, made.span);
            }
            let is_named = |target: &&Target| target.kind != EffectKind::Pass;
            for target in found.targets.iter().filter(is_named).filter(|target| target.is_open()) {
                self.unknown_file(target.span.or(found.span).unwrap_or_default());
            }
            let wrapper = starter.and_then(|starter| places.get(starter).copied().flatten());
            found.wrapper = wrapper;
            if let Some(outer) = wrapper.and_then(|at| self.found.get(at)) {
                let name = outer.words.first().map(|name| name.to_string_lossy().into_owned());
                found.via = outer.via.iter().cloned().chain(name).collect();
                found.targets.extend(handed_on(outer, &found));
            }
            if let Some(starter) = starter.and_then(|at| inspection.commands.get(at)) {
                found.environment = passed_on(starter, command);
            }
            let place = self.push(found);
            if let Some(last) = places.last_mut() {
                *last = place;
            }
        }
    }

    fn found(
        &self,
        made: &Made<'_>,
        folder: Option<&PathBuf>,
        command: &Command<'static>,
        state: &State,
    ) -> Found {
        let is_own = command.start == Start::Call;
        let mut targets = if is_own { made.targets.clone() } else { Vec::new() };
        if !self.is_remote {
            targets.extend(self.targets_of(made, command));
        }
        let folders =
            folder.map_or_else(|| state.folders().to_vec(), |folder| vec![folder.clone()]);
        let known: Vec<bool> = command.words.iter().map(Word::is_known).collect();
        let adds_words = self.is_open || matches!(command.start, Start::Open);
        Found {
            dynamic: adds_words
                || made.doubt.is_some()
                || known.contains(&false)
                || targets.iter().any(Target::is_open),
            words: command.words.iter().map(|word| word.text.to_os_string()).collect(),
            nature: match made.doubt {
                Some(_) => Nature::Unknown,
                None => nature(command, &targets),
            },
            known,
            open: adds_words,
            span: Some(self.source.place(span_of(made, command))),
            names: command.other_names(),
            subcommand: command.subcommand(),
            wrapper: None,
            via: self.via.clone(),
            environment: if is_own { made.environment.clone() } else { Vec::new() },
            entered: entered_by(&targets, &folders),
            folders,
            targets,
            remote: self.is_remote,
            input: made.input(),
        }
    }

    /// A finding about one word of the command, placed in the line.
    pub(super) fn note_finding(
        &mut self,
        made: &Made<'_>,
        folder: Option<&PathBuf>,
        finding: &Finding,
    ) {
        // Every word would lead out of the root from a folder outside of it.
        let is_elsewhere =
            folder.is_some_and(|folder| !folder.starts_with(self.view.root().path()));
        let field = finding.argument.and_then(|argument| made.fields.get(argument));
        let span = Some(self.source.place(field.map_or(made.span, |field| field.span)));
        // What bash itself refuses to start harms nobody, and the box keeps what it starts.
        let is_name = finding.axis == Axis::Name;
        let weight = if is_name { Weight::Boxed } else { finding.weight };
        // A process substitution is no path of anyone's.
        let is_pipe = field.and_then(Field::known).as_deref() == Some(SUBSTITUTED);
        let is_option = field
            .and_then(Field::known)
            .is_some_and(|text| text.starts_with('-') && !text.contains('/'));
        let is_no_path = self.is_remote || is_pipe || (is_option && is_elsewhere);
        if finding.axis == Axis::Path && is_no_path {
            return;
        }
        if self.seen.insert((finding.rule, span, finding.text.clone())) {
            self.findings.push(Finding { weight, span, ..finding.clone() });
        }
    }

    fn note_lookalike(&mut self, name: &str, span: Span) {
        let Some(found) = lookalike(name) else { return };
        let text = format!("{name:?} only looks like {:?}", found.resembles);
        let instead = "write the name in plain letters";
        self.find(Axis::Shell, "lookalike", text, instead, Weight::Ask, span);
    }

    /// Words that nobody can read as a command.
    pub(super) fn note_words(&mut self, made: &Made<'_>, state: &State, nature: Nature) {
        let words = self.words(&made.fields);
        self.push(Found {
            known: words.iter().map(Word::is_known).collect(),
            words: words.into_iter().map(|word| word.text.into_owned()).collect(),
            dynamic: true,
            open: false,
            span: Some(self.source.place(made.span)),
            names: Vec::new(),
            subcommand: None,
            wrapper: None,
            via: self.via.clone(),
            environment: made.environment.clone(),
            folders: state.folders().to_vec(),
            entered: Vec::new(),
            targets: made.targets.clone(),
            nature,
            remote: self.is_remote,
            input: made.input(),
        });
    }

    /// A part of the line that may be any command, since the shell evaluates what it stands for.
    pub(super) fn note_evaluated(&mut self, span: Span) {
        self.push(Found {
            words: vec![OsString::from(self.source.slice(span))],
            known: vec![false],
            dynamic: true,
            open: false,
            span: Some(self.source.place(span)),
            names: Vec::new(),
            subcommand: None,
            wrapper: None,
            via: self
                .via
                .iter()
                .map(String::as_str)
                .chain(["evaluated"])
                .map(str::to_owned)
                .collect(),
            environment: Vec::new(),
            folders: Vec::new(),
            entered: Vec::new(),
            targets: Vec::new(),
            nature: Nature::Unknown,
            remote: self.is_remote,
            input: Input::Nothing,
        });
    }

    /// Redirections without a command.
    pub(super) fn note_bare(&mut self, targets: Vec<Target>, span: Span, state: &State) {
        if targets.is_empty() {
            return;
        }
        let reads = targets.iter().all(|target| target.kind == EffectKind::Read);
        self.push(Found {
            words: Vec::new(),
            known: Vec::new(),
            dynamic: targets.iter().any(Target::is_open),
            open: false,
            span: Some(self.source.place(span)),
            names: Vec::new(),
            subcommand: None,
            wrapper: None,
            via: self.via.clone(),
            environment: Vec::new(),
            folders: state.folders().to_vec(),
            entered: Vec::new(),
            targets,
            nature: if reads { Nature::Reads } else { Nature::Unknown },
            remote: self.is_remote,
            input: Input::Nothing,
        });
    }

    /// A file that may be any.
    fn unknown_file(&mut self, span: Span) {
        self.note_placed(Finding {
            axis: Axis::Path,
            rule: "unknown",
            text: "which file this is is not known before the run".to_owned(),
            argument: None,
            instead: Some("name the file in the line".to_owned()),
            listed: None,
            weight: Weight::Boxed,
            span: Some(span),
        });
    }

    /// A finding whose place is the line's already.
    pub(super) fn note_placed(&mut self, finding: Finding) {
        if self.seen.insert((finding.rule, finding.span, finding.text.clone())) {
            self.findings.push(finding);
        }
    }

    /// Writes a command down, and says where; none if there are too many.
    fn push(&mut self, found: Found) -> Option<usize> {
        if self.found.len() >= super::COMMANDS_MAX {
            self.full(found.span.unwrap_or_default());
            return None;
        }
        let words = (&found.words, &found.known);
        let key = format!("{:?}", (&found.span, words, &found.folders, &found.via, found.dynamic));
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let place = self.found.len();
        self.places.insert(key, place);
        self.found.push(found);
        Some(place)
    }
}

/// Why programs may run that are not told, where a finding says so.
fn unseen(finding: &Finding, inspection: &Inspection<'static>) -> Option<&'static str> {
    if finding.axis != Axis::Argv {
        return None;
    }
    let is_shell = |command: &Command<'static>| {
        command.names.iter().any(|name| SHELLS.contains(&name.as_str()))
    };
    // What an option writes is told; what it runs, or takes names from, is not.
    let is_told = |argument: usize| {
        inspection.commands.iter().any(|command| {
            let effects = command.readings.iter().flat_map(|reading| &reading.effects);
            let written = effects.filter(|effect| effect.kind == EffectKind::Write);
            let words = written.filter_map(|effect| command.words.get(effect.word?));
            let mut arguments = words.map(|word| word.argument);
            arguments.any(|at| at == argument || at == argument.saturating_add(1))
        })
    };
    match finding.rule {
        "environment" => Some("a variable changes what programs run here"),
        "unreadable" => Some("what this runs cannot be told from its words"),
        // Code for a shell is looked for in the line.
        "stdin-code" if !inspection.commands.iter().any(is_shell) => {
            Some("the code that this runs is not looked at")
        }
        "command-language" => Some("what this is told to do is not looked at"),
        "flag" if !finding.argument.is_some_and(is_told) => {
            Some("what this makes the program run is not looked at")
        }
        _ => None,
    }
}

/// The command that starts another, by its place in the inspection.
fn parent(command: &Command<'static>, inspection: &Inspection<'static>) -> Option<usize> {
    let starts = |one: &Command<'static>| {
        let inner = one.readings.iter().flat_map(|reading| &reading.inner);
        inner.into_iter().any(|inner| inner.words == command.words)
    };
    inspection.commands.iter().position(|one| !std::ptr::eq(one, command) && starts(one))
}

/// What a command deletes of that which is given to it whole: `find DIR -exec rm -r {} +`.
fn handed_on(wrapper: &Found, found: &Found) -> Vec<Target> {
    let is_given = found.words.iter().any(|word| word.to_string_lossy().contains("{}"));
    if !is_given || found.targets(EffectKind::Delete).next().is_none() {
        return Vec::new();
    }
    let passed = wrapper.targets(EffectKind::Pass).cloned();
    passed.map(|target| Target { kind: EffectKind::Delete, ..target }).collect()
}

/// The variables that a wrapper sets for what it starts: `env A=b make`.
fn passed_on(
    wrapper: &Command<'static>,
    command: &Command<'static>,
) -> Vec<(String, Option<String>)> {
    let first = command.argument();
    let own = wrapper.words.iter().skip(1).filter(|word| word.argument < first);
    own.filter_map(|word| {
        let (name, value) = word.text.to_str()?.split_once('=')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric());
        is_name.then(|| (name.to_owned(), Some(value.to_owned()).filter(|_| word.is_known())))
    })
    .collect()
}

/// The folders that a command enters, from those in which it starts.
fn entered_by(targets: &[Target], folders: &[PathBuf]) -> Vec<PathBuf> {
    let entered = targets.iter().filter(|one| one.kind == EffectKind::Enter && one.known);
    let entered = entered.map(|one| Path::new(&one.text));
    entered.flat_map(|path| folders.iter().map(|folder| lexical(folder, path))).collect()
}

/// From the first word of a command to its last.
fn span_of(made: &Made<'_>, command: &Command<'static>) -> Span {
    if command.start == Start::Call {
        return made.span;
    }
    let spans = command.words.iter().filter_map(|word| made.fields.get(word.argument));
    let spans = spans.map(|field| field.span);
    let both = |a: Span, b: Span| Span { start: a.start.min(b.start), end: a.end.max(b.end) };
    spans.reduce(both).unwrap_or(made.span)
}
