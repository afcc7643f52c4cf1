//! Shell lines: finds every command in one, in the order in which they would run, and has each
//! inspected where it would run.
//!
//! Nothing is run. Every branch is taken, every loop is gone through until nothing new is learnt,
//! and what cannot be known is marked: a command that may run is found, or stands behind a mark.

mod arithmetic;
mod builtin;
mod code;
mod flow;
mod handed;
mod note;
mod simple;
mod target;
mod variables;
mod word;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::finding::{Axis, Finding, Weight};
use super::found::Found;
use super::view::View;
use super::{Inspector, maze};
use crate::shell::parse;
use crate::shell::printed::Printed;
use crate::shell::state::State;
use crate::shell::tree::Span;
use crate::shell::{Fault, FaultKind, Parsed, hidden};
use code::Source;
use handed::Handed;

/// Commands in one line before it counts as a maze.
const COMMANDS_MAX: usize = 4096;
/// Statements gone through and words made of a line before it counts as a maze: loops in loops and
/// functions that call one another multiply.
const WORK_MAX: usize = 40_000;
/// Code in code, functions in functions, statements in statements.
const DEPTH_MAX: usize = 64;

/// Said of code whose text is not in the line.
const CODE_UNKNOWN: &str = "this is code, and it is not known before the run";

/// All that is known about a shell line before it runs.
#[derive(Debug)]
pub struct LineInspection {
    /// Every command in the line, inner ones too.
    pub commands: Vec<Found>,
    /// The facts, in the order of the axes.
    pub findings: Vec<Finding>,
}

/// What a line starts with.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The variables whose values are known.
    pub variables: Vec<(String, String)>,
    /// The variables that may be set to anything.
    pub inherited: Vec<String>,
    /// The person's home.
    pub home: Option<PathBuf>,
}

impl Inspector<'_> {
    /// Finds every command in a shell line and asks every axis about each.
    pub fn inspect_line(&self, line: &str, setting: &Setting, view: &View<'_>) -> LineInspection {
        let mut walker = Walker {
            inspector: self,
            view,
            views: BTreeMap::new(),
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
            handed: Handed::default(),
            piped: None,
            substituted: None,
        };
        walker.hidden_text(line);
        let Parsed { script, faults } = parse(line);
        walker.faults(&faults);
        let variables = setting.variables.iter().cloned();
        let mut state = State::new(view.cwd_path(), variables);
        for name in &setting.inherited {
            state.set(name, None);
        }
        walker.script(&script, &mut state);
        walker.note_critical();
        let Walker { found, mut findings, .. } = walker;
        findings.sort_by_key(|finding| finding.axis);
        LineInspection { commands: found, findings }
    }
}

/// Goes through a line.
struct Walker<'w> {
    inspector: &'w Inspector<'w>,
    view: &'w View<'w>,
    /// The views from folders that the line enters.
    views: BTreeMap<PathBuf, Option<Rc<View<'w>>>>,
    home: Option<&'w Path>,
    /// The text that is being read: the line, or code in it.
    source: Source,
    /// What the commands are started by.
    via: Vec<String>,
    found: Vec<Found>,
    findings: Vec<Finding>,
    /// Findings that are there already: loops are gone through several times.
    seen: HashSet<(&'static str, Option<Span>, String)>,
    /// Where the commands that were found are, by all that tells them apart.
    places: HashMap<String, usize>,
    /// The functions that are being called.
    calling: Vec<String>,
    depth: usize,
    /// Statements gone through and words made so far.
    work: usize,
    is_remote: bool,
    /// Whether words are added to the commands that are being read.
    is_open: bool,
    is_full: bool,
    handed: Handed,
    /// The text that the pipe around a command gives it, where the line holds that.
    piped: Option<Printed>,
    /// The text of the last process substitution of a command, where the line holds that.
    substituted: Option<Printed>,
}

/// A view from one of the folders.
enum Seeing<'w> {
    Given(&'w View<'w>),
    Made(Rc<View<'w>>),
}

impl<'w> Deref for Seeing<'w> {
    type Target = View<'w>;

    fn deref(&self) -> &View<'w> {
        match self {
            Self::Given(view) => view,
            Self::Made(view) => view,
        }
    }
}

/// What a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stdin {
    /// Nothing, or what the line says in a redirection.
    Own,
    /// What another command writes.
    Piped,
}

/// The state in which a statement leaves the shell where it fails, if that is another.
type Failed = Option<State>;

impl<'w> Walker<'w> {
    /// Does something with one more thing by which commands are started.
    fn within(&mut self, via: &str, work: impl FnOnce(&mut Self) -> Failed) {
        self.via.push(via.to_owned());
        work(self);
        self.via.pop();
    }

    /// The machine as it is seen from a folder; `None` if that cannot be looked at.
    fn view_from(&mut self, folder: &Path) -> Option<Seeing<'w>> {
        let view = self.view;
        if folder == view.cwd_path() {
            return Some(Seeing::Given(view));
        }
        let made = || view.from_folder(folder).ok().map(Rc::new);
        self.views.entry(folder.to_owned()).or_insert_with(made).clone().map(Seeing::Made)
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
        for found in hidden::hidden(line) {
            let text = format!("the line has {}", found.text);
            let instead = "send the line without it";
            self.find(Axis::Shell, "hidden-text", text, instead, Weight::Ask, found.span);
        }
    }

    /// Marks a script: what it runs is as little looked at as what any other program runs.
    fn unread(&mut self, span: Span) {
        let text = "what the file holds is not looked at".to_owned();
        self.find(Axis::Shell, "script", text, "", Weight::Note, span);
    }

    /// Marks a part that is known in the run alone.
    fn dynamic(&mut self, span: Span, why: &str) {
        let instead = "name the programs and their arguments in the line";
        self.find(Axis::Shell, "dynamic", why.to_owned(), instead, Weight::Boxed, span);
    }

    /// Marks a part whose text the shell evaluates: it may run any command, and counts as one.
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
            self.findings.push(Finding {
                axis,
                rule,
                text,
                argument: None,
                instead: Some(instead.to_owned()),
                listed: None,
                weight,
                span,
            });
        }
    }

    /// Whether there is still room for so much more to look at; if not, that refuses.
    fn takes(&mut self, work: usize, span: Span) -> bool {
        self.work = self.work.saturating_add(work);
        if self.is_full || self.depth >= DEPTH_MAX || self.work > WORK_MAX {
            self.full(span);
            return false;
        }
        true
    }

    /// Too much to look at: nothing more is, and that refuses.
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
