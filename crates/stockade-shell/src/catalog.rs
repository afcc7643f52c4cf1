//! What is known about programs: wrappers, interpreters and flags that execute or write.
//!
//! The knowledge is data, in `policies/programs/`; this module reads a command by it and states
//! what it finds. Each entry carries examples of both kinds, which the tests check.

mod address;
mod awk;
mod call;
mod code;
mod data;
mod effect;
mod environment;
mod example;
mod find;
mod glob;
mod grammar;
mod index;
mod interpreter;
mod narrowing;
mod purity;
mod program;
mod analysis;
mod rule;
mod scan;
mod schema;
mod sed;
#[cfg(test)]
mod source;
mod split;
#[cfg(test)]
mod tests;
mod text;
mod wrapper;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

use environment::Variables;
use index::Index;
use program::Program;

pub use analysis::{
    Analysis, Code, Effect, EffectKind, GluedOption, Hazard, HazardKind, Inner, PathValue, Purity,
    Runner, Word, WordForm,
};
pub use schema::Class;
pub use sed::sed_edits_only;

/// The knowledge base.
#[derive(Debug)]
pub struct Catalog {
    index: Index,
    variables: Variables,
    /// All programs as JSON, with their examples.
    examples: &'static str,
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
pub struct BrokenEntry {
    file: &'static str,
    line: usize,
    message: String,
}

impl Catalog {
    /// The knowledge that is built in.
    pub fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Catalog> = OnceLock::new();
        SHIPPED.get_or_init(|| Self::new(Index::built_in(), data::EXAMPLES))
    }

    fn new(index: Index, examples: &'static str) -> Self {
        Self { index, variables: Variables::new(data::VARIABLES), examples }
    }

    /// Reads a command of the program called `name`, a file name without its folder.
    ///
    /// The first word is the program as it was written. `None` means that nothing is known.
    pub fn read<'a>(
        &self,
        name: &str,
        words: &[Word<'a>],
    ) -> Result<Option<Analysis<'a>>, BrokenEntry> {
        let program = self.program(name)?;
        Ok(program.map(|program| program.read(&self.variables, words)))
    }

    /// The hazard of setting this variable for a command, if it is one.
    pub fn variable(&self, name: &OsStr, argument: usize) -> Result<Option<Hazard>, BrokenEntry> {
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
        self.index.names.iter().map(|(name, _)| *name)
    }

    /// Whether a word names a known program, or a subcommand of one.
    pub fn is_word(&self, word: &str) -> bool {
        let is_listed = || !word.contains('\n') && data::WORDS.contains(&format!("\n{word}\n"));
        self.index.find(word).is_some() || is_listed()
    }

    /// Loads everything and runs every example.
    pub fn check(&self) -> Result<Summary, Vec<BrokenEntry>> {
        let mut broken = self.index.faults();
        let (entries, names) = (self.index.blocks.len(), self.index.names.len());
        let mut summary = Summary { entries, names, ..Summary::default() };
        let examples: Result<Vec<schema::Program>, _> = serde_json::from_str(self.examples);
        for (at, block) in self.index.blocks.iter().enumerate() {
            let program = match self.index.program(at) {
                Some(Ok(program)) => program,
                Some(Err(error)) => {
                    broken.push(error);
                    continue;
                }
                None => continue,
            };
            let checked = match &examples {
                Ok(examples) => match examples.get(at) {
                    Some(examples) => example::check(self, program, examples),
                    None => Err("it has no examples".to_owned()),
                },
                Err(error) => Err(format!("the examples do not load: {error}")),
            };
            match checked {
                Ok(count) => summary.add(program, count),
                Err(message) => broken.push(block.broken(message)),
            }
        }
        match self.variables.check() {
            Ok(count) => summary.variables = count,
            Err(error) => broken.push(error),
        }
        if broken.is_empty() { Ok(summary) } else { Err(broken) }
    }

    fn program(&self, name: &str) -> Result<Option<&Program>, BrokenEntry> {
        self.index.find(name).and_then(|block| self.index.program(block)).transpose()
    }
}

impl Summary {
    fn add(&mut self, program: &Program, examples: usize) {
        self.examples = self.examples.saturating_add(examples);
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
