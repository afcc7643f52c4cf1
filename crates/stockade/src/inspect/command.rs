//! One command in a call: the call's own, or one that a wrapper in it would run.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::program::{NoProgram, Place, Program};
use crate::knowledge::{Reading, Word};

/// A command with all that is known about it.
#[derive(Debug)]
pub struct Command<'a> {
    /// Its words, the program first; never empty.
    pub words: Vec<Word<'a>>,
    /// The file behind the first word.
    pub program: Result<Program, NoProgram>,
    /// The names by which the command is judged.
    pub names: Vec<String>,
    /// How it came to be in the call.
    pub via: Via,
    /// What the knowledge base says about each of the names it knows.
    pub readings: Vec<Reading<'a>>,
    /// The arguments of the call that belong to inner commands, in order.
    pub inner_arguments: Vec<usize>,
    /// The arguments of the call that are plain data to the program, in order.
    pub text_arguments: Vec<usize>,
}

/// How a command came to be in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// It is the call, or a wrapper in it runs it.
    Words,
    /// The first line of a script names it.
    Script,
}

impl<'a> Command<'a> {
    /// Puts together what was found out.
    pub(super) fn new(
        words: Vec<Word<'a>>,
        via: Via,
        program: Result<Program, NoProgram>,
        names: Vec<String>,
        readings: Vec<Reading<'a>>,
    ) -> Self {
        let commands = readings.iter().flat_map(|reading| &reading.inner);
        let mut inner: Vec<usize> =
            commands.flat_map(|inner| &inner.words).map(|word| word.argument).collect();
        inner.sort_unstable();
        let mut text = readings.first().map(|reading| reading.text.clone()).unwrap_or_default();
        for reading in readings.iter().skip(1) {
            let mut other = reading.text.clone();
            other.sort_unstable();
            text.retain(|argument| other.binary_search(argument).is_ok());
        }
        text.sort_unstable();
        Self { words, via, program, names, readings, inner_arguments: inner, text_arguments: text }
    }

    /// The program as it is written.
    pub fn spelled(&self) -> &OsStr {
        self.words.first().map_or(OsStr::new(""), |word| &word.text)
    }

    /// The argument of the call that names the program.
    pub fn argument(&self) -> usize {
        self.words.first().map_or(0, |word| word.argument)
    }

    /// Whether the file is one of the system's, so that its name says what it does.
    pub fn is_of_the_system(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.place == Place::System)
    }

    /// The arguments that no inner command has.
    pub fn own_arguments(&self) -> impl Iterator<Item = &Word<'a>> {
        let is_inner = |word: &Word<'_>| self.inner_arguments.binary_search(&word.argument).is_ok();
        self.words.iter().skip(1).filter(move |word| !is_inner(word))
    }

    /// The same with the program first.
    pub fn own_words(&self) -> impl Iterator<Item = &Word<'a>> {
        self.words.iter().take(1).chain(self.own_arguments())
    }

    /// What the script's first line runs, if the program is a script that is not the system's.
    pub(super) fn script_words(&self) -> Option<Vec<Word<'a>>> {
        let program =
            self.program.as_ref().ok().filter(|program| program.place != Place::System)?;
        let line = program.script.as_ref().filter(|line| !line.is_empty())?;
        let script = program.found_at.as_os_str();
        let words = line.iter().map(OsString::as_os_str).chain([script]);
        let argument = self.argument();
        Some(words.map(|text| Word { text: Cow::Owned(text.to_owned()), argument }).collect())
    }

    /// Whether an argument is plain data for the program: never a path, never for a shell.
    /// Only the system's own programs are taken at their name's word.
    pub fn is_text(&self, argument: usize) -> bool {
        self.is_of_the_system() && self.text_arguments.binary_search(&argument).is_ok()
    }
}

/// The names to judge by: those of the file, or the written one where there is no file.
pub(super) fn names_of(spelled: &OsStr, program: &Result<Program, NoProgram>) -> Vec<String> {
    match program {
        Ok(program) => program.names.clone(),
        Err(_) => {
            let base = Path::new(spelled).file_name().unwrap_or(spelled);
            vec![base.to_string_lossy().into_owned()]
        }
    }
}
