//! Shell lines: finds every command in one, in execution order, and inspects each in the folder
//! where it would run.
//!
//! Nothing is run. Every branch is followed, every loop until nothing new is learnt, and what
//! cannot be known is marked: each command that may run is either found or covered by a mark.

mod arithmetic;
mod builtin;
mod code;
mod flow;
mod foreign;
mod git;
mod note;
mod simple;
mod target;
mod variables;
mod word;
mod word_sources;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::command::CommandSummary;
use super::resolver::PathResolver;
use super::{Inspector, ProgramInput, maze};
use crate::inspect::{Axis, Finding, Weight};
use crate::shell::ast::Span;
use crate::shell::parse;
use crate::shell::printed::PrintedText;
use crate::shell::state::State;
use crate::shell::{Fault, FaultKind, ParsedLine, invisible};
use code::Source;
use word_sources::WordSources;

/// The most commands in one line.
const COMMANDS_MAX: usize = 4096;
/// The most statements and words that are processed for one line: nested loops and recursive
/// functions multiply.
const WORK_MAX: usize = 40_000;
/// The deepest nesting of code, functions and statements.
const DEPTH_MAX: usize = 64;

/// The text about code that the line does not contain.
const CODE_UNKNOWN: &str = "this is code, and it is not known before the run";

/// The facts about a shell line before it runs.
#[derive(Debug)]
pub struct LineInspection {
    /// Every command in the line, including nested ones.
    pub commands: Vec<CommandSummary>,
    /// The findings, in the order of the axes.
    pub findings: Vec<Finding>,
}

/// The environment at the start of a line.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Variables with known values.
    pub variables: Vec<(String, String)>,
    /// Variables with unknown values.
    pub inherited: Vec<String>,
    /// The person's home directory.
    pub home: Option<PathBuf>,
    /// What the line reads from its standard input.
    pub input: ProgramInput,
}

impl Inspector<'_> {
    /// Finds every command in a shell line and inspects each on every axis.
    pub fn inspect_line(
        &self,
        line: &str,
        setting: &Setting,
        resolver: &PathResolver<'_>,
    ) -> LineInspection {
        let mut walker = Walker {
            inspector: self,
            resolver,
            resolvers: BTreeMap::new(),
            home: setting.home.as_deref(),
            source: Source::of(line),
            via: Vec::new(),
            found: Vec::new(),
            findings: Vec::new(),
            seen: HashSet::new(),
            places: HashMap::new(),
            calling: Vec::new(),
            depth: 0,
            work: 0,
            is_remote: false,
            is_open: false,
            is_full: false,
            word_sources: WordSources::default(),
            piped: None,
            substituted: None,
        };
        walker.hidden_text(line);
        let ParsedLine { script, faults } = parse(line);
        walker.faults(&faults);
        let variables = setting.variables.iter().cloned();
        let mut state = State::new(resolver.cwd_path(), variables);
        for name in &setting.inherited {
            state.set(name, None);
        }
        let stdin = match setting.input {
            ProgramInput::Given => Stdin::Piped,
            ProgramInput::Nothing => Stdin::Own,
        };
        walker.script_reading(&script, &mut state, stdin);
        walker.note_critical();
        let Walker { found, mut findings, .. } = walker;
        findings.sort_by_key(|finding| finding.axis);
        LineInspection { commands: found, findings }
    }
}

/// Walks a line.
struct Walker<'w> {
    inspector: &'w Inspector<'w>,
    resolver: &'w PathResolver<'w>,
    /// Resolvers for the folders that the line enters.
    resolvers: BTreeMap<PathBuf, Option<Rc<PathResolver<'w>>>>,
    home: Option<&'w Path>,
    /// The text that is parsed: the line, or code in it.
    source: Source,
    /// What starts the commands.
    via: Vec<String>,
    found: Vec<CommandSummary>,
    findings: Vec<Finding>,
    /// Findings that are recorded already: loops are walked several times.
    seen: HashSet<(&'static str, Option<Span>, String)>,
    /// The indices of recorded commands, by everything that identifies them.
    places: HashMap<String, usize>,
    /// The functions that are being called.
    calling: Vec<String>,
    depth: usize,
    /// The statements and words processed so far.
    work: usize,
    is_remote: bool,
    /// Whether words are added to the current commands.
    is_open: bool,
    is_full: bool,
    word_sources: WordSources,
    /// The text that a pipe feeds to a command, if the line contains it.
    piped: Option<PrintedText>,
    /// The text of a command's last process substitution, if the line contains it.
    substituted: Option<PrintedText>,
}

/// A resolver for one of the folders.
enum FolderResolver<'w> {
    Given(&'w PathResolver<'w>),
    ExpandedCommand(Rc<PathResolver<'w>>),
}

impl<'w> Deref for FolderResolver<'w> {
    type Target = PathResolver<'w>;

    fn deref(&self) -> &PathResolver<'w> {
        match self {
            Self::Given(resolver) => resolver,
            Self::ExpandedCommand(resolver) => resolver,
        }
    }
}

/// The standard input of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stdin {
    /// Nothing, or a redirection of the line.
    Own,
    /// The output of another command.
    Piped,
}

/// The shell state after a failing statement, if it differs.
type StateOnFailure = Option<State>;

impl<'w> Walker<'w> {
    /// Runs a step with one more starter of commands.
    fn within(&mut self, via: &str, work: impl FnOnce(&mut Self) -> StateOnFailure) {
        self.via.push(via.to_owned());
        work(self);
        self.via.pop();
    }

    /// The resolver for a folder; `None` if the folder cannot be resolved.
    fn view_from(&mut self, folder: &Path) -> Option<FolderResolver<'w>> {
        let resolver = self.resolver;
        if folder == resolver.cwd_path() {
            return Some(FolderResolver::Given(resolver));
        }
        let made = || resolver.from_folder(folder).ok().map(Rc::new);
        self.resolvers
            .entry(folder.to_owned())
            .or_insert_with(made)
            .clone()
            .map(FolderResolver::ExpandedCommand)
    }

    fn faults(&mut self, faults: &[Fault]) {
        for fault in faults {
            let (rule, weight, instead) = match fault.kind {
                FaultKind::Syntax => ("syntax", Weight::Always, "write it so that bash takes it"),
                FaultKind::TooLong => {
                    ("too-long", Weight::Always, "write it to a file and run that")
                }
                FaultKind::TooDeep => ("too-deep", Weight::Always, "nest less"),
                FaultKind::Hidden => ("unclear", Weight::Ask, "write it more plainly"),
            };
            let text = format!("this part cannot be understood: {}", fault.text);
            self.find(Axis::Shell, rule, text, instead, weight, fault.span);
        }
    }

    fn hidden_text(&mut self, line: &str) {
        for found in invisible::hidden(line) {
            let text = format!("the line has {}", found.text);
            let instead = "send the line without it";
            self.find(Axis::Shell, "hidden-text", text, instead, Weight::Ask, found.span);
        }
    }

    /// Marks a script: its commands are not inspected, as with any program.
    fn unread(&mut self, span: Span) {
        let text = "what the file holds is not looked at".to_owned();
        self.find(Axis::Shell, "script", text, "", Weight::Note, span);
    }

    /// Marks a part that is only known at run time.
    fn dynamic(&mut self, span: Span, why: &str) {
        let instead = "name the programs and their arguments in the line";
        self.find(Axis::Shell, "dynamic", why.to_owned(), instead, Weight::Boxed, span);
    }

    /// Marks text that the shell evaluates: it may run any command, and counts as one.
    fn evaluates(&mut self, span: Span, why: &str) {
        self.dynamic(span, why);
        self.note_evaluated(span);
    }

    fn find(
        &mut self,
        axis: Axis,
        rule: &'static str,
        text: String,
        instead: &str,
        weight: Weight,
        span: Span,
    ) {
        let span = Some(self.source.place(span));
        if self.seen.insert((rule, span, text.clone())) {
            self.findings
                .push(Finding::new(axis, weight, rule, text).instead(instead).in_line(span));
        }
    }

    /// Whether the work limit allows this much more; otherwise the line is refused.
    fn takes(&mut self, work: usize, span: Span) -> bool {
        self.work = self.work.saturating_add(work);
        if self.is_full || self.depth >= DEPTH_MAX || self.work > WORK_MAX {
            self.full(span);
            return false;
        }
        true
    }

    /// The work limit is exceeded: the line is refused.
    fn full(&mut self, span: Span) {
        if !self.is_full {
            self.is_full = true;
            let span = Some(self.source.place(span));
            self.findings.push(Finding {
                axis: Axis::Shell,
                rule: "too-much",
                text: format!(
                    "the line has more than {COMMANDS_MAX} commands, more than {DEPTH_MAX} in one \
                     another, or too many rounds and words"
                ),
                instead: Some("run it in parts".to_owned()),
                span,
                ..maze(&[])
            });
        }
    }
}
