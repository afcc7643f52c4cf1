//! Profiles of coding agents: what an agent that runs in the sandbox as a whole has of the home folder. They
//! are data, in `policies/agents`; nothing that a project says chooses or changes one.

mod copied;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Deserialize;
use stockade_shell::pattern::{Dialect, Pattern};

pub use self::copied::{CopiedFile, KeptKey};
use crate::Variable;

/// The shipped profiles and their names.
const SHIPPED: [(&str, &str); 3] = [
    ("claude", include_str!("../../../policies/agents/claude.toml")),
    ("codex", include_str!("../../../policies/agents/codex.toml")),
    ("gemini", include_str!("../../../policies/agents/gemini.toml")),
];

/// What an agent has of the home folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProfile {
    /// The name by which a person chooses it.
    pub name: String,
    /// The programs for which it is taken.
    pub programs: Vec<String>,
    /// The agent's folder, a name in the home folder.
    pub folder: String,
    /// The variable that moves the folder.
    pub variable: Option<String>,
    /// The variables that the agent gets.
    pub environment: Vec<Variable>,
    /// Folders in the agent's folder that it writes.
    pub write: Vec<String>,
    /// Files there that it writes.
    pub write_files: Vec<String>,
    /// What it may not make or change there.
    pub protect: Vec<String>,
    /// What it does not see of the folder.
    pub private: Vec<String>,
    /// Files of which it gets a copy.
    pub copied: Vec<CopiedFile>,
}

/// Why a text is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read the agent profile {name:?}: {message}")]
pub struct ProfileError {
    name: String,
    message: String,
}

/// A profile as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    programs: Vec<String>,
    folder: String,
    variable: Option<String>,
    #[serde(default)]
    environment: Vec<String>,
    #[serde(default)]
    write: Vec<String>,
    #[serde(default)]
    write_files: Vec<String>,
    #[serde(default)]
    protect: Vec<String>,
    #[serde(default)]
    private: Vec<String>,
    #[serde(default)]
    copied: Vec<CopiedTable>,
}

/// One `[[copied]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CopiedTable {
    path: String,
    #[serde(default)]
    beside: bool,
    #[serde(default)]
    keep: Vec<String>,
}

impl ProfileFile {
    fn check_names(&self) -> Result<(), String> {
        if self.programs.is_empty() {
            return Err("`programs` is empty".to_owned());
        }
        plain_name(&self.folder)?;
        let lists = [&self.programs, &self.write, &self.write_files, &self.protect];
        lists.into_iter().flatten().try_for_each(|name| plain_name(name))?;
        self.copied.iter().try_for_each(|one| plain_name(&one.path))?;
        self.private.iter().try_for_each(|name| file_name(name))
    }
}

impl AgentProfile {
    /// The names of the shipped profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.into_iter().map(|(name, _)| name)
    }

    /// The shipped profile of this name.
    pub fn named(name: &str) -> Result<Option<Self>, ProfileError> {
        let found = SHIPPED.into_iter().find(|(known, _)| *known == name);
        found.map(|(name, text)| Self::parse(name, text)).transpose()
    }

    /// The shipped profile for the program that a word names.
    pub fn of_program(program: &OsStr) -> Result<Option<Self>, ProfileError> {
        let program = Path::new(program).file_name();
        for (name, text) in SHIPPED {
            let profile = Self::parse(name, text)?;
            if profile.programs.iter().any(|known| Some(OsStr::new(known)) == program) {
                return Ok(Some(profile));
            }
        }
        Ok(None)
    }

    /// Reads a profile.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let failed = |message: String| ProfileError { name: name.to_owned(), message };
        let file: ProfileFile = toml::from_str(text).map_err(|error| failed(error.to_string()))?;
        Self::of_file(name, file).map_err(failed)
    }

    fn of_file(name: &str, file: ProfileFile) -> Result<Self, String> {
        file.check_names()?;
        let environment: Vec<Variable> = file
            .environment
            .iter()
            .map(|text| Variable::parse(text).ok_or_else(|| format!("{text:?} is no variable")))
            .collect::<Result<_, _>>()?;
        if let Some(text) = &file.variable
            && !matches!(Variable::parse(text), Some(Variable::Inherited(_)))
        {
            return Err(format!("{text:?} is no name of a variable"));
        }
        let copied = |one: CopiedTable| CopiedFile::of(one.path, one.beside, &one.keep);
        let copied = file.copied.into_iter().map(copied).collect::<Result<_, _>>()?;
        let profile = Self {
            name: name.to_owned(),
            programs: file.programs,
            folder: file.folder,
            variable: file.variable,
            environment,
            write: file.write,
            write_files: file.write_files,
            protect: file.protect,
            private: file.private,
            copied,
        };
        profile.refuse_two_meanings()?;
        Ok(profile)
    }

    /// Refuses a name that several lists have: it would not be told which of them holds.
    fn refuse_two_meanings(&self) -> Result<(), String> {
        let copied = self.copied.iter().map(|one| &one.name);
        let lists = self.write.iter().chain(&self.write_files).chain(&self.protect).chain(copied);
        let mut seen = BTreeSet::new();
        for name in lists {
            if !seen.insert(name) || self.is_private(OsStr::new(name)) {
                return Err(format!("{name:?} is in two lists"));
            }
        }
        Ok(())
    }

    /// Whether what has this name in the agent's folder is not shown.
    pub fn is_private(&self, name: &OsStr) -> bool {
        let is_it = |text: &String| Pattern::new(text, Dialect::Name).matches(name.as_bytes());
        self.private.iter().any(is_it)
    }
}

fn plain_name(name: &str) -> Result<(), String> {
    file_name(name)?;
    if Pattern::new(name, Dialect::Name).is_literal() {
        Ok(())
    } else {
        Err(format!("{name:?} is a pattern, which only `private` takes"))
    }
}

fn file_name(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    if is_name { Ok(()) } else { Err(format!("{name:?} is not the name of one file")) }
}

#[cfg(test)]
mod tests;
