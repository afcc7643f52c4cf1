//! Records the commands of a line, and the findings with their place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::command::{Command, Start};
use super::super::command::{CommandSummary, Target, nature};
use super::super::{Inspection, ProgramInput};
use super::Walker;
use super::code::SHELLS;
use super::simple::ExpandedCommand;
use crate::catalog::{EffectKind, Purity, Word};
use crate::inspect::{Axis, Finding, Weight};
use crate::shell::ast::Span;
use crate::shell::expand::{Field, SUBSTITUTED};
use crate::shell::invisible::lookalike;
use crate::shell::state::{State, lexical};

impl Walker<'_> {
    /// Records the commands of one inspection, and their findings.
    pub(super) fn note(
        &mut self,
        made: &ExpandedCommand<'_>,
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
                found.targets.extend(deletes_passed(outer, &found));
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
        made: &ExpandedCommand<'_>,
        folder: Option<&PathBuf>,
        command: &Command<'static>,
        state: &State,
    ) -> CommandSummary {
        let is_own = command.start == Start::Call;
        let mut targets = if is_own { made.targets.clone() } else { Vec::new() };
        if !self.is_remote {
            targets.extend(self.targets_of(made, command));
        }
        let folders =
            folder.map_or_else(|| state.folders().to_vec(), |folder| vec![folder.clone()]);
        let known: Vec<bool> = command.words.iter().map(Word::is_known).collect();
        let adds_words = self.is_open || matches!(command.start, Start::Open);
        CommandSummary {
            dynamic: adds_words
                || made.doubt.is_some()
                || known.contains(&false)
                || targets.iter().any(Target::is_open),
            words: command.words.iter().map(|word| word.text.to_os_string()).collect(),
            nature: match made.doubt {
                Some(_) => Purity::Unknown,
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

    /// A finding about one word of the command, with its place in the line.
    pub(super) fn note_finding(
        &mut self,
        made: &ExpandedCommand<'_>,
        folder: Option<&PathBuf>,
        finding: &Finding,
    ) {
        // From a folder outside the root, every relative path is outside.
        let is_elsewhere =
            folder.is_some_and(|folder| !folder.starts_with(self.resolver.root().path()));
        let field = finding.argument.and_then(|argument| made.fields.get(argument));
        let span = Some(self.source.place(field.map_or(made.span, |field| field.span)));
        // What bash cannot start is harmless, and the sandbox contains the rest.
        let is_name = finding.axis == Axis::Name;
        let weight = if is_name { Weight::Boxed } else { finding.weight };
        // The path of a process substitution belongs to nobody.
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

    /// Words that cannot be read as a command.
    pub(super) fn note_words(&mut self, made: &ExpandedCommand<'_>, state: &State, nature: Purity) {
        let words = self.words(&made.fields);
        self.push(CommandSummary {
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

    /// A part of the line that may be any command, because the shell evaluates it.
    pub(super) fn note_evaluated(&mut self, span: Span) {
        self.push(CommandSummary {
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
            nature: Purity::Unknown,
            remote: self.is_remote,
            input: ProgramInput::Nothing,
        });
    }

    /// Redirections without a command.
    pub(super) fn note_bare(&mut self, targets: Vec<Target>, span: Span, state: &State) {
        if targets.is_empty() {
            return;
        }
        let reads = targets.iter().all(|target| target.kind == EffectKind::Read);
        self.push(CommandSummary {
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
            nature: if reads { Purity::Reads } else { Purity::Unknown },
            remote: self.is_remote,
            input: ProgramInput::Nothing,
        });
    }

    /// An unknown file.
    fn unknown_file(&mut self, span: Span) {
        let text = "which file this is is not known before the run";
        let finding = Finding::new(Axis::Path, Weight::Boxed, "unknown", text);
        self.note_placed(finding.instead("name the file in the line").in_line(span));
    }

    /// Records a finding that has its place in the line already.
    pub(super) fn note_placed(&mut self, finding: Finding) {
        if self.seen.insert((finding.rule, finding.span, finding.text.clone())) {
            self.findings.push(finding);
        }
    }

    /// Records a command and returns its index; none if there are too many.
    fn push(&mut self, found: CommandSummary) -> Option<usize> {
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

/// The reason why unknown programs may run, if a finding says so.
fn unseen(finding: &Finding, inspection: &Inspection<'static>) -> Option<&'static str> {
    if finding.axis != Axis::Argv {
        return None;
    }
    let is_shell = |command: &Command<'static>| {
        command.names.iter().any(|name| SHELLS.contains(&name.as_str()))
    };
    // What an option writes is known; what it runs, or reads names from, is not.
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
        "unreadable" => Some("its words do not show what it runs"),
        // Code for a shell is inspected as part of the line.
        "stdin-code" if !inspection.commands.iter().any(is_shell) => {
            Some("the code that this runs is not looked at")
        }
        "command-language" => Some("its commands are not inspected"),
        "flag" if !finding.argument.is_some_and(is_told) => {
            Some("what this makes the program run is not looked at")
        }
        _ => None,
    }
}

/// The index of the command that starts another.
fn parent(command: &Command<'static>, inspection: &Inspection<'static>) -> Option<usize> {
    let starts = |one: &Command<'static>| {
        let inner = one.readings.iter().flat_map(|reading| &reading.inner);
        inner.into_iter().any(|inner| inner.words == command.words)
    };
    inspection.commands.iter().position(|one| !std::ptr::eq(one, command) && starts(one))
}

/// Targets of a wrapper that its command deletes: `find DIR -exec rm -r {} +`.
fn deletes_passed(wrapper: &CommandSummary, found: &CommandSummary) -> Vec<Target> {
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

/// The folders that a command changes to, from those in which it starts.
fn entered_by(targets: &[Target], folders: &[PathBuf]) -> Vec<PathBuf> {
    let entered = targets.iter().filter(|one| one.kind == EffectKind::Enter && one.known);
    let entered = entered.map(|one| Path::new(&one.text));
    entered.flat_map(|path| folders.iter().map(|folder| lexical(folder, path))).collect()
}

/// The span from the first word of a command to its last.
fn span_of(made: &ExpandedCommand<'_>, command: &Command<'static>) -> Span {
    if command.start == Start::Call {
        return made.span;
    }
    let spans = command.words.iter().filter_map(|word| made.fields.get(word.argument));
    let spans = spans.map(|field| field.span);
    let both = |a: Span, b: Span| Span { start: a.start.min(b.start), end: a.end.max(b.end) };
    spans.reduce(both).unwrap_or(made.span)
}
