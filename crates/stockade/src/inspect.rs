//! States facts about a call and decides nothing: one file per axis, each a function of the call
//! and of a read-only view of the machine.

mod argv;
mod command;
pub(crate) mod critical;
pub(crate) mod emptied;
mod file_snapshot;
mod home;
mod known;
mod line;
mod name;
mod path;
pub(crate) mod pattern;
mod program;
pub(crate) mod repository;
mod resolver;
mod structure;
mod walk;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

pub use command::{Command, Start};
pub use command::{CommandSummary, Target};
pub use file_snapshot::FileSnapshot;
pub use home::Homes;
pub use line::{LineInspection, Setting};
pub use program::{Program, ProgramError, ProgramLocation, Programs};
pub use resolver::{Identity, PathResolver, Resolution, ResolverError, Root, stat_of};
pub use resolver::{ResolveError, ResolvedPath};
pub use stockade_policy::{
    Axis, DENY, Finding, INTERPRETERS, RULED, Settings, Weight, path_of, real_folder,
};

use crate::catalog::{Catalog, Word};

/// The most nested commands in one call.
const DEPTH_MAX: usize = 16;
/// The most commands in one call.
const COMMANDS_MAX: usize = 256;

/// The facts about a call before anything runs.
#[derive(Debug)]
pub struct Inspection<'a> {
    /// Every command in the call; the first one is the call itself.
    pub commands: Vec<Command<'a>>,
    /// The findings, in the order of the axes.
    pub findings: Vec<Finding>,
}

/// Where the words of a call come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The caller sent them as an array.
    Argv,
    /// They were split from a line by shell quoting rules, and only listed programs may run.
    Line,
    /// A shell produces them from a part of its line.
    Shell,
}

/// What the program reads on standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramInput {
    /// Nothing: standard input is closed or empty.
    Nothing,
    /// Bytes from the caller.
    Given,
}

/// Inspects commands with these settings and this knowledge.
#[derive(Debug, Clone, Copy)]
pub struct Inspector<'g> {
    /// The policy's lists.
    pub settings: &'g Settings,
    /// The programs of this machine.
    pub programs: &'g Programs,
    /// The program catalog.
    pub knowledge: &'g Catalog,
}

impl Inspector<'_> {
    /// Finds every command in the words and inspects each on every axis.
    pub fn inspect<'a>(
        &self,
        words: Vec<Word<'a>>,
        origin: Origin,
        input: ProgramInput,
        resolver: &PathResolver<'_>,
    ) -> Inspection<'a> {
        let mut findings = Vec::new();
        let commands = self.commands(words, origin, resolver, &mut findings);
        let entered = path::entered(&commands, resolver).unwrap_or_else(|finding| {
            findings.push(*finding);
            Vec::new()
        });
        for command in &commands {
            if command.start == Start::Script {
                findings.extend(name::inspect_interpreter(command, self.settings));
                continue;
            }
            findings.extend(match origin {
                Origin::Argv | Origin::Shell => name::inspect(command, self.settings),
                Origin::Line => name::inspect_listed(command, self.settings),
            });
            findings.extend(argv::inspect(command, self.settings));
            findings.extend(argv::inspect_added_words(command, input, resolver));
            if origin == Origin::Argv {
                findings.extend(structure::inspect(command, self.settings));
            }
            findings.extend(path::inspect(command, &entered, resolver, self.settings));
        }
        findings.sort_by_key(|finding| finding.axis);
        Inspection { commands, findings }
    }

    fn commands<'a>(
        &self,
        words: Vec<Word<'a>>,
        origin: Origin,
        resolver: &PathResolver<'_>,
        findings: &mut Vec<Finding>,
    ) -> Vec<Command<'a>> {
        let mut commands = Vec::new();
        let mut entered: Vec<OsString> = Vec::new();
        let mut todo = VecDeque::from([(words, Start::Call, 0_usize)]);
        while let Some((words, start, depth)) = todo.pop_front() {
            if depth > DEPTH_MAX || commands.len() >= COMMANDS_MAX {
                findings.push(maze(&words));
                break;
            }
            let deeper = depth.saturating_add(1);
            let command = self.command(words, origin, start, resolver, findings);
            for inner in command.readings.iter().flat_map(|reading| &reading.inner) {
                let start = match command.start {
                    Start::Script => Start::Script,
                    // Words that are added to a wrapper are added to the commands that it starts.
                    Start::Open => Start::Open,
                    _ if inner.open => Start::Open,
                    Start::Call | Start::Wrapper | Start::Entered => Start::Wrapper,
                };
                todo.push_back((inner.words.clone(), start, deeper));
            }
            todo.extend(command.interpreter().map(|words| (words, Start::Script, deeper)));
            if matches!(start, Start::Wrapper | Start::Open) {
                let there =
                    entered.iter().filter_map(|folder| command.started_in(folder, resolver));
                todo.extend(there.map(|words| (words, Start::Entered, deeper)));
            }
            entered.extend(path::entered_in(&command));
            commands.push(command);
        }
        commands
    }

    fn command<'a>(
        &self,
        words: Vec<Word<'a>>,
        origin: Origin,
        start: Start,
        resolver: &PathResolver<'_>,
        findings: &mut Vec<Finding>,
    ) -> Command<'a> {
        let spelled = words.first().map(|word| word.text.to_os_string()).unwrap_or_default();
        let program = match origin {
            Origin::Argv | Origin::Line => {
                let found = self.programs.find(&spelled, resolver, self.settings, self.knowledge);
                found.map(|(handle, program)| {
                    (Arc::new(program), Some(handle).filter(|_| start == Start::Call))
                })
            }
            Origin::Shell => {
                let found =
                    self.programs.look_up(&spelled, resolver, self.settings, self.knowledge);
                found.map(|program| (program, None))
            }
        };
        let file = program.as_ref().ok().map(|(program, _)| &**program);
        let names = command::names_of(&spelled, file);
        let mut readings = Vec::new();
        for name in known_names(file, &names).iter().filter(|name| !is_disguise(name, &spelled)) {
            match self.knowledge.read(name, &words) {
                Ok(Some(reading)) if !readings.contains(&reading) => readings.push(reading),
                Ok(_) => {}
                Err(broken) => {
                    let text = format!("what is known about {name:?} cannot be used: {broken}");
                    let finding = Finding::new(Axis::Argv, Weight::Always, "knowledge", text);
                    findings.push(finding.at(words.first().map(|word| word.argument)));
                }
            }
        }
        Command::new(words, start, program, names, readings)
    }
}

/// The names to look up in the catalog. A script of the project that is called `watch` or `install`
/// is not that program; a denied name stays denied.
fn known_names<'n>(program: Option<&'n Program>, names: &'n [String]) -> &'n [String] {
    match program {
        Some(program) if program.place == ProgramLocation::Root && program.is_script => {
            &program.identities
        }
        Some(_) | None => names,
    }
}

/// Whether `rustup` is called under another name: as `cargo` it runs the toolchain's cargo, and all
/// words are cargo's.
fn is_disguise(name: &str, spelled: &OsStr) -> bool {
    let called = Path::new(spelled).file_name().unwrap_or(spelled);
    name == "rustup" && !called.to_string_lossy().starts_with("rustup")
}

fn maze(words: &[Word<'_>]) -> Finding {
    let text = format!(
        "the call has more than {DEPTH_MAX} commands in commands, or {COMMANDS_MAX} in all"
    );
    let finding = Finding::new(Axis::Argv, Weight::Always, "too-deep", text);
    finding.at(words.first().map(|word| word.argument)).instead("run the inner command itself")
}
