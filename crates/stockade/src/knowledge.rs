//! What is known about programs: wrappers, interpreters and flags that execute or write.
//!
//! The knowledge is data, in `policies/programs/`; this module reads a command by it and states
//! what it finds. Each entry carries examples of both kinds, and an entry whose examples do not
//! hold is an error, never a guess.

mod address;
mod awk;
mod call;
mod code;
mod effect;
mod environment;
mod example;
mod file;
mod find;
mod glob;
mod grammar;
mod index;
mod interpreter;
mod narrowing;
mod nature;
mod program;
mod reading;
mod rule;
mod scan;
mod schema;
mod sed;
mod shipped;
mod split;
#[cfg(test)]
mod tests;
mod text;
pub(crate) mod wild;
mod wrapper;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

use environment::Variables;
use file::{File, Slot};
use index::{Index, Place};
use program::Program;

pub use reading::{
    Code, Effect, EffectKind, Form, Glued, Hazard, HazardKind, Inner, Nature, PathValue, Reading,
    Runner, Word,
};
pub use schema::Class;
pub(crate) use sed::sed_edits_only;

/// The knowledge base.
#[derive(Debug)]
pub struct Knowledge {
    files: &'static [File],
    index: Index,
    variables: Variables,
}

/// What the data holds, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Blocks in the data.
    pub entries: usize,
    /// Names of programs in them.
    pub names: usize,
    /// Examples that hold.
    pub examples: usize,
    /// Entries for dangerous variables.
    pub variables: usize,
    /// Names of programs of which effects are known.
    pub effects: usize,
    /// Names of programs some commands of which change nothing.
    pub readers: usize,
    /// How many names each class has.
    pub classes: BTreeMap<Class, usize>,
}

/// An entry of the data that does not load or whose examples do not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read what is known about programs, {file}:{line}: {message}")]
pub struct Broken {
    file: &'static str,
    line: usize,
    message: String,
}

impl Broken {
    fn new(file: &'static str, line: usize, message: String) -> Self {
        Self { file, line, message }
    }
}

impl Knowledge {
    /// The knowledge that is built in.
    pub fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Knowledge> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            Self::of((shipped::PROGRAMS, &shipped::NAMES, &shipped::PLACES), shipped::ENVIRONMENT)
        })
    }

    fn of(
        (files, names, places): (&'static [File], &'static [Slot], &'static [Place]),
        environment: (&'static str, &'static str),
    ) -> Self {
        Self {
            files,
            index: Index::new(files, names, places),
            variables: Variables::new(environment.0, environment.1),
        }
    }

    /// Reads a command of the program called `name`, a file name without its folder.
    ///
    /// The first word is the program as it was written. `None` means that nothing is known.
    pub fn read<'a>(&self, name: &str, words: &[Word<'a>]) -> Result<Option<Reading<'a>>, Broken> {
        let Some(entry) = self.index.find(name) else { return Ok(None) };
        let program = entry.program()?;
        // What is built in cannot change after its tests, which hold every example, so that a
        // released program does not try them again each time that it starts.
        if cfg!(debug_assertions) || cfg!(test) {
            let examples = || example::check(self, program).map_err(|text| entry.broken(text));
            entry.checked.get_or_init(examples).clone()?;
        }
        Ok(Some(program.read(&self.variables, words)))
    }

    /// The hazard of setting this variable for a command, if it is one.
    pub fn variable(&self, name: &OsStr, argument: usize) -> Result<Option<Hazard>, Broken> {
        let found = self.variables.find(name.as_encoded_bytes())?;
        Ok(found.map(|variable| Hazard {
            kind: HazardKind::Environment,
            argument,
            flag: name.to_string_lossy().chars().take(80).collect(),
            why: Arc::clone(&variable.why),
            instead: variable.instead.clone(),
            classes: Arc::from([].as_slice()),
        }))
    }

    /// The names of all programs, without versions and patterns.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.index.entries().flat_map(index::Entry::names)
    }

    /// Whether a word names a known program, or a subcommand of one.
    pub fn is_word(&self, word: &str) -> bool {
        self.index.find(word).is_some() || shipped::is_word(word)
    }

    /// Loads everything and runs every example.
    pub fn check(&self) -> Result<Summary, Vec<Broken>> {
        let mut broken = self.index.twice();
        broken.extend(Index::faults_of(self.files));
        let mut summary = Summary { entries: self.index.entries().count(), ..Summary::default() };
        for entry in self.index.entries() {
            summary.names = summary.names.saturating_add(entry.names().count());
            let checked = entry.program().and_then(|program| {
                example::check(self, program).map_err(|message| entry.broken(message))?;
                Ok(program)
            });
            match checked {
                Ok(program) => summary.add(program),
                Err(error) => broken.push(error),
            }
        }
        match self.variables.count() {
            Ok(count) => summary.variables = count,
            Err(error) => broken.push(error),
        }
        if broken.is_empty() { Ok(summary) } else { Err(broken) }
    }

    /// The program of this name, its examples not yet run.
    fn program(&self, name: &str) -> Result<Option<&Program>, Broken> {
        self.index.find(name).map(index::Entry::program).transpose()
    }
}

impl Summary {
    fn add(&mut self, program: &Program) {
        self.examples = self.examples.saturating_add(example::count(program));
        let names = program.data.names.len();
        let count = |rules: bool| if rules { names } else { 0 };
        self.effects = self.effects.saturating_add(count(!program.data.effect.is_empty()));
        self.readers = self.readers.saturating_add(count(!program.data.reads.is_empty()));
        for class in program.classes.iter() {
            let count = self.classes.entry(*class).or_default();
            *count = count.saturating_add(names);
        }
    }
}
