//! A command as it is shown: its words, where it stands, and what it does as far as that is known.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Input;
use super::command::{Command, Start};
use crate::knowledge::{EffectKind, HazardKind, Nature, Word};
use crate::shell::builtins::is_builtin;
use crate::shell::expand::Field;
use crate::shell::state::lexical;
use crate::shell::tree::Span;

/// One command in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its words; as they are written where they are not known. None for a bare redirection.
    pub words: Vec<OsString>,
    /// Which of the words are known.
    pub known: Vec<bool>,
    /// Whether some of it is known in the run alone: words, or which program a name stands for.
    pub dynamic: bool,
    /// Whether words are added to it that are not in the call: by `xargs`, by `find`.
    pub open: bool,
    /// Where it stands in a shell line.
    pub span: Option<Span>,
    /// The names by which it is judged besides the written one: through links, by identity.
    pub names: Vec<String>,
    /// The subcommand, where the program has them and it is not the second word.
    pub subcommand: Option<usize>,
    /// The command that starts it, by its place in the list.
    pub wrapper: Option<usize>,
    /// What starts it, where that is not the call itself: `$(…)`, `xargs`, `function f`.
    pub via: Vec<String>,
    /// The variables that are set for it alone, with their values where those are known.
    pub environment: Vec<(String, Option<String>)>,
    /// The folders in which it may run; empty where that is not known.
    pub folders: Vec<PathBuf>,
    /// The folders that it enters by itself, from which its paths may start too: `git -C DIR`.
    pub entered: Vec<PathBuf>,
    /// What it reads, writes, deletes and reaches.
    pub targets: Vec<Target>,
    /// Whether it changes nothing.
    pub nature: Nature,
    /// Whether it runs on another machine, so that its paths are not this one's.
    pub remote: bool,
    /// Whether a shell line gives it something on standard input: by a pipe, or a redirection of its
    /// own.
    pub input: Input,
}

/// Something that a command reads, writes, deletes, runs or reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What is done.
    pub kind: EffectKind,
    /// The path or host; as it is written where it is not known.
    pub text: OsString,
    /// Whether the text is what the program gets.
    pub known: bool,
    /// The word behind it, where a shell makes the path of it.
    pub field: Option<Field>,
    /// Where it stands in a shell line.
    pub span: Option<Span>,
    /// Whether the shell opens it, for a redirection.
    pub redirected: bool,
}

impl Target {
    /// Whether it may be anything.
    pub fn is_open(&self) -> bool {
        !self.known && self.field.as_ref().is_none_or(|field| !field.is_pattern())
    }
}

impl Found {
    /// A command of an argument vector, all of whose words are known, in this folder.
    pub fn of(command: &Command<'_>, folder: &Path) -> Self {
        let effects = command.readings.iter().flat_map(|reading| &reading.effects);
        let mut targets: Vec<Target> = Vec::new();
        for effect in effects {
            let (kind, text) = (effect.kind, effect.target.clone());
            let target =
                Target { kind, text, known: true, field: None, span: None, redirected: false };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Self {
            words: command.words.iter().map(|word| word.text.to_os_string()).collect(),
            known: command.words.iter().map(Word::is_known).collect(),
            dynamic: command.start == Start::Open,
            open: command.start == Start::Open,
            span: None,
            names: command.other_names(),
            subcommand: command.subcommand(),
            wrapper: None,
            via: Vec::new(),
            environment: Vec::new(),
            folders: vec![folder.to_owned()],
            entered: Vec::new(),
            nature: nature(command, &targets),
            targets,
            remote: false,
            input: Input::Nothing,
        }
    }

    /// The words, if all of them are known.
    pub fn argv(&self) -> Option<&[OsString]> {
        self.known.iter().all(|known| *known).then_some(self.words.as_slice())
    }

    /// The paths that a target may mean: from every folder in which the command may run.
    pub fn places(&self, target: &Target) -> Vec<PathBuf> {
        let path = Path::new(&target.text);
        if path.is_absolute() || self.folders.is_empty() {
            return vec![lexical(Path::new(""), path)];
        }
        self.folders.iter().chain(&self.entered).map(|folder| lexical(folder, path)).collect()
    }

    /// What it does of one kind.
    pub fn targets(&self, kind: EffectKind) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(move |target| target.kind == kind)
    }
}

/// Whether a command changes nothing, with the words and redirections that it has.
pub(super) fn nature(command: &Command<'_>, targets: &[Target]) -> Nature {
    let is_harmless = |target: &Target| match target.kind {
        EffectKind::Read | EffectKind::List | EffectKind::Enter | EffectKind::Pass => true,
        EffectKind::Write => target.known && target.text == "/dev/null",
        EffectKind::Delete
        | EffectKind::ChangeTree
        | EffectKind::Forget
        | EffectKind::Execute
        | EffectKind::Host => false,
    };
    let is_hazard = |kind: HazardKind| kind != HazardKind::FindAction;
    let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
    if !targets.iter().all(is_harmless) || hazards.map(|hazard| hazard.kind).any(is_hazard) {
        return Nature::Unknown;
    }
    let is_trusted = command.is_of_the_system() || is_builtin(&command.spelled().to_string_lossy());
    let natures = command.readings.iter().map(|reading| reading.nature);
    let nature = natures.min().filter(|_| is_trusted).unwrap_or_default();
    let is_known = command.words.iter().all(Word::is_known);
    if nature != Nature::Reads && !is_known { Nature::Unknown } else { nature }
}
