//! States facts about a call and decides nothing: one file per axis, each a function of the call
//! and of a read-only view of the machine.

mod argv;
mod command;
pub(crate) mod critical;
pub(crate) mod emptied;
mod finding;
mod found;
mod home;
mod known;
mod line;
mod name;
mod path;
pub(crate) mod pattern;
mod placed;
mod program;
mod remembered;
pub(crate) mod repository;
mod seen;
mod settings;
mod shebang;
mod structure;
mod view;
mod walk;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

pub use command::{Command, Start};
pub use finding::{Axis, Finding, RULED, Weight};
pub use found::{Found, Target};
pub use home::Homes;
pub use line::{LineInspection, Setting};
pub use placed::{Misplaced, Placed};
pub use program::{NoProgram, Place, Program, Programs};
pub use seen::Seen;
pub use settings::{DENY, INTERPRETERS, Settings};
pub use view::{Identity, Landing, Root, View, ViewError, path_of, real_folder, stat_of};

use crate::knowledge::{Knowledge, Word};

/// Commands in commands in one call before it counts as a maze.
const DEPTH_MAX: usize = 16;
/// Commands in one call before it counts as a maze.
const COMMANDS_MAX: usize = 256;

/// All that is known about a call before anything runs.
#[derive(Debug)]
pub struct Inspection<'a> {
    /// Every command in the call; the first is the call itself.
    pub commands: Vec<Command<'a>>,
    /// The facts, in the order of the axes.
    pub findings: Vec<Finding>,
}

/// How the words of a call came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// They were sent as they are.
    Argv,
    /// They were split off a line by shell rules, and only listed programs may run.
    Line,
    /// A shell makes them of a part of its line.
    Shell,
}

/// What the program reads on standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing: it is closed or empty.
    Nothing,
    /// Bytes that the caller sends.
    Given,
}

/// What the axes are asked against.
#[derive(Debug, Clone, Copy)]
pub struct Inspector<'g> {
    /// The policy's lists.
    pub settings: &'g Settings,
    /// The programs of this machine.
    pub programs: &'g Programs,
    /// What is known about programs.
    pub knowledge: &'g Knowledge,
}

impl Inspector<'_> {
    /// Finds every command in the words and asks every axis about each.
    pub fn inspect<'a>(
        &self,
        words: Vec<Word<'a>>,
        origin: Origin,
        input: Input,
        view: &View<'_>,
    ) -> Inspection<'a> {
        let mut findings = Vec::new();
        let commands = self.commands(words, origin, view, &mut findings);
        let entered = path::entered(&commands, view).unwrap_or_else(|finding| {
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
            findings.extend(argv::inspect_added_words(command, input, view));
            if origin == Origin::Argv {
                findings.extend(structure::inspect(command, self.settings));
            }
            findings.extend(path::inspect(command, &entered, view, self.settings));
        }
        findings.sort_by_key(|finding| finding.axis);
        Inspection { commands, findings }
    }

    fn commands<'a>(
        &self,
        words: Vec<Word<'a>>,
        origin: Origin,
        view: &View<'_>,
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
            let command = self.command(words, origin, start, view, findings);
            for inner in command.readings.iter().flat_map(|reading| &reading.inner) {
                let start = match command.start {
                    Start::Script => Start::Script,
                    // What adds words to a wrapper adds them to what that starts.
                    Start::Open => Start::Open,
                    _ if inner.open => Start::Open,
                    Start::Call | Start::Wrapper | Start::Entered => Start::Wrapper,
                };
                todo.push_back((inner.words.clone(), start, deeper));
            }
            todo.extend(command.interpreter().map(|words| (words, Start::Script, deeper)));
            if matches!(start, Start::Wrapper | Start::Open) {
                let there = entered.iter().filter_map(|folder| command.started_in(folder, view));
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
        view: &View<'_>,
        findings: &mut Vec<Finding>,
    ) -> Command<'a> {
        let spelled = words.first().map(|word| word.text.to_os_string()).unwrap_or_default();
        let program = match origin {
            Origin::Argv | Origin::Line => {
                let found = self.programs.find(&spelled, view, self.settings, self.knowledge);
                found.map(|(handle, program)| {
                    (Arc::new(program), Some(handle).filter(|_| start == Start::Call))
                })
            }
            Origin::Shell => {
                let found = self.programs.look_up(&spelled, view, self.settings, self.knowledge);
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
                Err(broken) => findings.push(Finding {
                    axis: Axis::Argv,
                    rule: "knowledge",
                    text: format!("what is known about {name:?} cannot be used: {broken}"),
                    argument: words.first().map(|word| word.argument),
                    instead: None,
                    listed: None,
                    weight: Weight::Always,
                    span: None,
                }),
            }
        }
        Command::new(words, start, program, names, readings)
    }
}

/// The names to ask the knowledge base about. A script of the project is not `watch` or `install`
/// because it is called so; a denied name stays denied all the same.
fn known_names<'n>(program: Option<&'n Program>, names: &'n [String]) -> &'n [String] {
    match program {
        Some(program) if program.place == Place::Root && program.is_script => &program.identities,
        Some(_) | None => names,
    }
}

/// `rustup` is what it is called: as `cargo` it runs the cargo of the toolchain, and takes no word
/// for its own.
fn is_disguise(name: &str, spelled: &OsStr) -> bool {
    let called = Path::new(spelled).file_name().unwrap_or(spelled);
    name == "rustup" && !called.to_string_lossy().starts_with("rustup")
}

fn maze(words: &[Word<'_>]) -> Finding {
    Finding {
        axis: Axis::Argv,
        rule: "too-deep",
        text: format!(
            "the call has more than {DEPTH_MAX} commands in commands, or {COMMANDS_MAX} in all"
        ),
        argument: words.first().map(|word| word.argument),
        instead: Some("run the inner command itself".to_owned()),
        listed: None,
        weight: Weight::Always,
        span: None,
    }
}
