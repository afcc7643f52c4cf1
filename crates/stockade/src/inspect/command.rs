//! One command in a call: as inspection finds it, and the summary that callers get.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ProgramInput;
use super::program::{Program, ProgramError, ProgramLocation};
use super::resolver::{PathResolver, Resolution};
use crate::catalog::{Analysis, EffectKind, HazardKind, Purity, Word};
use crate::shell::ast::Span;
use crate::shell::builtins::is_builtin;
use crate::shell::expand::Field;
use crate::shell::state::lexical;

/// A command with everything that is known about it.
#[derive(Debug)]
pub struct Command<'a> {
    /// Its words, starting with the program; never empty.
    pub words: Vec<Word<'a>>,
    /// What starts it.
    pub start: Start,
    /// The program file.
    pub program: Result<Arc<Program>, ProgramError>,
    /// The open program file, if this is what would be started.
    pub handle: Option<OwnedFd>,
    /// The names by which the command is judged.
    pub names: Vec<String>,
    /// The catalog's entries for the names that it knows.
    pub readings: Vec<Analysis<'a>>,
    /// The arguments that belong to no inner command.
    pub own: Vec<Word<'a>>,
    /// The offsets of option values in arguments that hold both.
    pub values: HashMap<usize, usize>,
    /// The arguments that are plain data, in order.
    pub text_arguments: Vec<usize>,
}

/// What starts a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The call itself.
    Call,
    /// A wrapper, with the words as written.
    Wrapper,
    /// A wrapper that adds words which are only known at run time.
    Open,
    /// A wrapper that changes the folder first, in which the program is then looked up.
    Entered,
    /// The first line of a script, which names its interpreter.
    Script,
}

impl<'a> Command<'a> {
    /// Puts together what was found out.
    pub(super) fn new(
        words: Vec<Word<'a>>,
        start: Start,
        program: Result<(Arc<Program>, Option<OwnedFd>), ProgramError>,
        names: Vec<String>,
        readings: Vec<Analysis<'a>>,
    ) -> Self {
        let (program, handle) = match program {
            Ok((program, handle)) => (Ok(program), handle),
            Err(none) => (Err(none), None),
        };
        let own = own_of(&words, &readings);
        let mut text = readings.first().map(|reading| reading.text.clone()).unwrap_or_default();
        for reading in readings.iter().skip(1) {
            let mut other = reading.text.clone();
            other.sort_unstable();
            text.retain(|argument| other.binary_search(argument).is_ok());
        }
        text.sort_unstable();
        let values = values_of(&readings);
        Self { words, start, program, handle, names, readings, own, values, text_arguments: text }
    }

    /// The program as written.
    pub fn spelled(&self) -> &OsStr {
        self.words.first().map_or(OsStr::new(""), |word| &word.text)
    }

    /// The names by which it is judged, except for the written one.
    pub(super) fn other_names(&self) -> Vec<String> {
        let spelled = Path::new(self.spelled()).file_name().unwrap_or_default();
        self.names.iter().filter(|name| spelled != name.as_str()).cloned().collect()
    }

    /// The position of the subcommand, if options precede it.
    pub(super) fn subcommand(&self) -> Option<usize> {
        let name = self.readings.iter().find_map(|reading| reading.subcommand.as_deref())?;
        let name = name.split(' ').next().unwrap_or(name);
        let at = self.words.iter().skip(1).position(|word| *word.text == *name)?;
        Some(at.saturating_add(1)).filter(|at| *at > 1)
    }

    /// The argument of the call that names the program.
    pub fn argument(&self) -> usize {
        self.words.first().map_or(0, |word| word.argument)
    }

    /// The command that the kernel runs for a script in the project: the interpreter's words, the
    /// script and the arguments.
    pub(super) fn interpreter(&self) -> Option<Vec<Word<'a>>> {
        let program =
            self.program.as_ref().ok().filter(|program| program.place == ProgramLocation::Root)?;
        let argument = self.argument();
        let words = program.shebang.iter().map(|text| Word::part(text.clone(), argument));
        let words: Vec<_> = words.chain(self.words.iter().cloned()).collect();
        (words.len() > self.words.len()).then_some(words)
    }

    /// The command as started in another folder, if its program is a relative path.
    pub(super) fn started_in(
        &self,
        folder: &OsStr,
        resolver: &PathResolver<'_>,
    ) -> Option<Vec<Word<'a>>> {
        let spelled = self.spelled().as_bytes();
        if !spelled.contains(&b'/') || spelled.starts_with(b"/") {
            return None;
        }
        let path = OsString::from_vec([folder.as_bytes(), b"/", spelled].concat());
        if matches!(resolver.resolve(&path), Resolution::Inside { exists: false, .. }) {
            return None;
        }
        let program = Word::part(path, self.argument());
        Some([program].into_iter().chain(self.words.iter().skip(1).cloned()).collect())
    }

    /// Whether the program is a system file, so that its name says what it does.
    pub fn is_of_the_system(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.place == ProgramLocation::System)
    }

    /// The arguments that belong to no inner command.
    pub fn own_arguments(&self) -> impl Iterator<Item = &Word<'a>> {
        self.own.iter()
    }

    /// The same words, starting with the program.
    pub fn own_words(&self) -> impl Iterator<Item = &Word<'a>> {
        self.words.iter().take(1).chain(self.own_arguments())
    }

    /// The offset of an option's value in a word that holds both, if known.
    pub fn value_in(&self, word: &Word<'_>) -> Option<usize> {
        self.values.get(&word.argument).copied().filter(|_| word.is_whole())
    }

    /// Whether an argument is plain data: neither a path nor shell code. Only system programs are
    /// trusted to be what their name says.
    pub fn is_text(&self, argument: usize) -> bool {
        self.is_of_the_system() && self.text_arguments.binary_search(&argument).is_ok()
    }
}

/// The words after the program that belong to no inner command.
///
/// Words that were split out of one argument (`env -S 'xargs -a F ls'`) share its index, so they
/// are told apart by their text, from the end: inner commands come last.
fn own_of<'a>(words: &[Word<'a>], readings: &[Analysis<'a>]) -> Vec<Word<'a>> {
    let inner =
        || readings.iter().flat_map(|reading| &reading.inner).flat_map(|inner| &inner.words);
    let whole: HashSet<usize> =
        inner().filter(|word| word.is_whole()).map(|word| word.argument).collect();
    let key = |word: &Word<'_>| (word.argument, word.text.to_os_string());
    let mut parts: HashMap<(usize, OsString), usize> = HashMap::new();
    let mut split = HashSet::new();
    for word in inner().filter(|word| !word.is_whole()) {
        let count = parts.entry(key(word)).or_default();
        *count = count.saturating_add(1);
        split.insert(word.argument);
    }
    let mut own = Vec::with_capacity(words.len());
    for word in words.iter().skip(1) {
        if word.is_whole() && split.contains(&word.argument) {
            own.extend(pieces(word));
        } else if !(word.is_whole() && whole.contains(&word.argument)) {
            own.push(word.clone());
        }
    }
    own.reverse();
    own.retain(|word| {
        let count = if word.is_whole() { None } else { parts.get_mut(&key(word)) };
        match count.filter(|count| **count > 0) {
            Some(count) => {
                *count = count.saturating_sub(1);
                false
            }
            None => true,
        }
    });
    own.reverse();
    own
}

/// The words in one argument, or the whole argument if they cannot be told apart.
fn pieces<'a>(word: &Word<'a>) -> Vec<Word<'a>> {
    match shlex::bytes::split(word.text.as_bytes()) {
        Some(parts) => parts
            .into_iter()
            .map(|part| Word::part(OsString::from_vec(part), word.argument))
            .collect(),
        None => vec![word.clone()],
    }
}

/// The value offsets of the arguments that all readings agree on.
fn values_of(readings: &[Analysis<'_>]) -> HashMap<usize, usize> {
    let mut readings = readings.iter().map(|reading| {
        let glued = reading.glued.iter();
        glued.map(|glued| (glued.argument, glued.offset)).collect::<HashMap<_, _>>()
    });
    let mut values = readings.next().unwrap_or_default();
    for other in readings {
        values.retain(|argument, offset| other.get(argument) == Some(offset));
    }
    values
}

/// The names to judge by: those of the file, or the written one if there is no file.
pub(super) fn names_of(spelled: &OsStr, program: Option<&Program>) -> Vec<String> {
    match program {
        Some(program) => program.names.clone(),
        None => {
            let base = Path::new(spelled).file_name().unwrap_or(spelled);
            vec![base.to_string_lossy().into_owned()]
        }
    }
}

/// The summary of one command in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSummary {
    /// Its words, as written if they are unknown. Empty for a bare redirection.
    pub words: Vec<OsString>,
    /// Which of the words are known.
    pub known: Vec<bool>,
    /// Whether some of it is only known at run time: words, or the program behind a name.
    pub dynamic: bool,
    /// Whether words are added that the call does not contain: by `xargs`, by `find`.
    pub open: bool,
    /// Its place in the shell line.
    pub span: Option<Span>,
    /// The names by which it is judged beside the written one: through links, by identity.
    pub names: Vec<String>,
    /// The position of the subcommand, if it is not the second word.
    pub subcommand: Option<usize>,
    /// The index of the command that starts it.
    pub wrapper: Option<usize>,
    /// What starts it, if not the call itself: `$(…)`, `xargs`, `function f`.
    pub via: Vec<String>,
    /// The variables that are set for it alone, with their values if known.
    pub environment: Vec<(String, Option<String>)>,
    /// The folders in which it may run; empty if unknown.
    pub folders: Vec<PathBuf>,
    /// The folders that it changes to, from which its paths may start as well: `git -C DIR`.
    pub entered: Vec<PathBuf>,
    /// The paths and hosts that it uses.
    pub targets: Vec<Target>,
    /// Whether it changes nothing.
    pub nature: Purity,
    /// Whether it runs on another machine, so that its paths are not local.
    pub remote: bool,
    /// Whether a shell line feeds its standard input, by a pipe or a redirection of its own.
    pub input: ProgramInput,
}

/// A path or host that a command reads, writes, deletes, runs or connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The effect.
    pub kind: EffectKind,
    /// The path or host, as written if it is unknown.
    pub text: OsString,
    /// Whether the text is exactly what the program gets.
    pub known: bool,
    /// The shell word that expands to the path.
    pub field: Option<Field>,
    /// Its place in the shell line.
    pub span: Option<Span>,
    /// Whether the shell opens it, for a redirection.
    pub redirected: bool,
}

impl Target {
    /// Whether it may be any path.
    pub fn is_open(&self) -> bool {
        !self.known && self.field.as_ref().is_none_or(|field| !field.is_pattern())
    }
}

impl CommandSummary {
    /// The summary of a command of an argument vector, whose words are all known.
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
            input: ProgramInput::Nothing,
        }
    }

    /// The words, if all are known.
    pub fn argv(&self) -> Option<&[OsString]> {
        self.known.iter().all(|known| *known).then_some(self.words.as_slice())
    }

    /// The paths that a target may mean, one for each possible folder.
    pub fn places(&self, target: &Target) -> Vec<PathBuf> {
        let path = Path::new(&target.text);
        if path.is_absolute() || self.folders.is_empty() {
            return vec![lexical(Path::new(""), path)];
        }
        self.folders.iter().chain(&self.entered).map(|folder| lexical(folder, path)).collect()
    }

    /// Its targets of one kind.
    pub fn targets(&self, kind: EffectKind) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(move |target| target.kind == kind)
    }
}

/// Whether a command changes nothing, with its words and redirections.
pub(super) fn nature(command: &Command<'_>, targets: &[Target]) -> Purity {
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
        return Purity::Unknown;
    }
    let is_trusted = command.is_of_the_system() || is_builtin(&command.spelled().to_string_lossy());
    let natures = command.readings.iter().map(|reading| reading.nature);
    let nature = natures.min().filter(|_| is_trusted).unwrap_or_default();
    let is_known = command.words.iter().all(Word::is_known);
    if nature != Purity::Reads && !is_known { Purity::Unknown } else { nature }
}
