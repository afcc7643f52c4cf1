//! One command in a call: the call's own, or one that a wrapper in it would run.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use super::program::{NoProgram, Place, Program};
use super::view::{Landing, View};
use crate::knowledge::{Reading, Word};

/// A command with all that is known about it.
#[derive(Debug)]
pub struct Command<'a> {
    /// Its words, the program first; never empty.
    pub words: Vec<Word<'a>>,
    /// What starts it.
    pub start: Start,
    /// The file behind the first word.
    pub program: Result<Arc<Program>, NoProgram>,
    /// That file, opened, where it is what would be started.
    pub handle: Option<OwnedFd>,
    /// The names by which the command is judged.
    pub names: Vec<String>,
    /// What the knowledge base says about each of the names it knows.
    pub readings: Vec<Reading<'a>>,
    /// The words that no inner command has, without the program.
    pub own: Vec<Word<'a>>,
    /// Where the values of options begin in the arguments that hold both.
    pub values: HashMap<usize, usize>,
    /// The arguments of the call that are plain data to the program, in order.
    pub text_arguments: Vec<usize>,
}

/// What starts a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The call itself.
    Call,
    /// A wrapper, with the words that are written.
    Wrapper,
    /// A wrapper that adds words which are not known before the run.
    Open,
    /// A wrapper that enters a folder first, in which the program is looked up.
    Entered,
    /// The first line of a script, which names its interpreter.
    Script,
}

impl<'a> Command<'a> {
    /// Puts together what was found out.
    pub(super) fn new(
        words: Vec<Word<'a>>,
        start: Start,
        program: Result<(Arc<Program>, Option<OwnedFd>), NoProgram>,
        names: Vec<String>,
        readings: Vec<Reading<'a>>,
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

    /// The program as it is written.
    pub fn spelled(&self) -> &OsStr {
        self.words.first().map_or(OsStr::new(""), |word| &word.text)
    }

    /// The names by which it is judged, but for the written one.
    pub(super) fn other_names(&self) -> Vec<String> {
        let spelled = Path::new(self.spelled()).file_name().unwrap_or_default();
        self.names.iter().filter(|name| spelled != name.as_str()).cloned().collect()
    }

    /// Where its subcommand stands, if options stand before it.
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

    /// The command that the kernel makes of a script in the project: its interpreter's words, the
    /// script and the arguments.
    pub(super) fn interpreter(&self) -> Option<Vec<Word<'a>>> {
        let program = self.program.as_ref().ok().filter(|program| program.place == Place::Root)?;
        let argument = self.argument();
        let words = program.shebang.iter().map(|text| Word::part(text.clone(), argument));
        let words: Vec<_> = words.chain(self.words.iter().cloned()).collect();
        (words.len() > self.words.len()).then_some(words)
    }

    /// The same command as it starts in another folder, where its program is named relative to it.
    pub(super) fn started_in(&self, folder: &OsStr, view: &View<'_>) -> Option<Vec<Word<'a>>> {
        let spelled = self.spelled().as_bytes();
        if !spelled.contains(&b'/') || spelled.starts_with(b"/") {
            return None;
        }
        let path = OsString::from_vec([folder.as_bytes(), b"/", spelled].concat());
        if matches!(view.land(&path), Landing::Inside { exists: false, .. }) {
            return None;
        }
        let program = Word::part(path, self.argument());
        Some([program].into_iter().chain(self.words.iter().skip(1).cloned()).collect())
    }

    /// Whether the file is one of the system's, so that its name says what it does.
    pub fn is_of_the_system(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.place == Place::System)
    }

    /// The arguments that no inner command has.
    pub fn own_arguments(&self) -> impl Iterator<Item = &Word<'a>> {
        self.own.iter()
    }

    /// The same with the program first.
    pub fn own_words(&self) -> impl Iterator<Item = &Word<'a>> {
        self.words.iter().take(1).chain(self.own_arguments())
    }

    /// Where the value of an option begins in a word that holds both, where that is known.
    pub fn value_in(&self, word: &Word<'_>) -> Option<usize> {
        self.values.get(&word.argument).copied().filter(|_| word.is_whole())
    }

    /// Whether an argument is plain data for the program: never a path, never for a shell.
    /// Only the system's own programs are taken at their name's word.
    pub fn is_text(&self, argument: usize) -> bool {
        self.is_of_the_system() && self.text_arguments.binary_search(&argument).is_ok()
    }
}

/// The words after the program that no inner command has.
///
/// Words that were split out of one argument (`env -S 'xargs -a F ls'`) share its index, so they
/// are told apart by their text, from the end: inner commands come last.
fn own_of<'a>(words: &[Word<'a>], readings: &[Reading<'a>]) -> Vec<Word<'a>> {
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

/// The words in one argument, or the argument where they cannot be told apart.
fn pieces<'a>(word: &Word<'a>) -> Vec<Word<'a>> {
    match shlex::bytes::split(word.text.as_bytes()) {
        Some(parts) => parts
            .into_iter()
            .map(|part| Word::part(OsString::from_vec(part), word.argument))
            .collect(),
        None => vec![word.clone()],
    }
}

/// Where values begin, for the arguments about which all readings agree.
fn values_of(readings: &[Reading<'_>]) -> HashMap<usize, usize> {
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

/// The names to judge by: those of the file, or the written one where there is no file.
pub(super) fn names_of(spelled: &OsStr, program: Option<&Program>) -> Vec<String> {
    match program {
        Some(program) => program.names.clone(),
        None => {
            let base = Path::new(spelled).file_name().unwrap_or(spelled);
            vec![base.to_string_lossy().into_owned()]
        }
    }
}
