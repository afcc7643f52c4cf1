//! The tools that can be called besides those for programs, lines, source and files: declared in the
//! policy, or closures of the host. One declaration is all that a tool needs.

pub mod answer;
mod builder;
pub mod calc;
mod inline;
mod typed;

use std::ffi::OsString;
use std::path::Path;

pub use builder::ToolBuilder;
pub use inline::{Closure, Endured, endure};
pub use typed::{Typed, typed};

use crate::policy::tool::{Declaration, PolicyTool, Runs};

/// Calls a Python function with an input, and prints nothing but its value.
const FUNCTION: &str = include_str!("registry/function.py");

/// Every tool by its name.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: Vec<Registered>,
}

/// One tool: what is known of it, and what runs.
#[derive(Debug, Clone)]
pub struct Registered {
    /// What is known of it.
    pub declaration: Declaration,
    /// What runs.
    pub works: Works,
}

/// How a tool does its work.
#[derive(Debug, Clone)]
pub enum Works {
    /// A closure in this process.
    Inline(Closure),
    /// A program, with these words.
    Program {
        /// The program and its arguments.
        words: Vec<OsString>,
        /// What it needs to read besides the project.
        reads: Option<std::path::PathBuf>,
    },
}

impl Registry {
    /// What is shipped, and what a policy declares.
    pub fn of(tools: &[PolicyTool]) -> Self {
        let declared = tools
            .iter()
            .map(|tool| Registered { declaration: tool.declaration.clone(), works: works(tool) });
        Self { tools: builder::shipped().into_iter().chain(declared).collect() }
    }

    /// The same with one more. A name that is there already is refused.
    pub fn with(mut self, tool: Registered) -> Result<Self, Duplicate> {
        let name = tool.declaration.name.to_string();
        if let Some(other) = self.get(&name) {
            let place = other.declaration.source.clone();
            return Err(Duplicate { name, place: place.unwrap_or_else(|| "the host".to_owned()) });
        }
        self.tools.push(tool);
        Ok(self)
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.tools.iter().find(|tool| tool.declaration.name.as_str() == name)
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<&Registered> {
        let mut all: Vec<&Registered> = self.tools.iter().collect();
        all.sort_by(|a, b| a.declaration.name.cmp(&b.declaration.name));
        all
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.declaration.name.as_str())
    }
}

/// Two tools of one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("register the tool {name:?}: {place} has one already")]
pub struct Duplicate {
    name: String,
    place: String,
}

fn works(tool: &PolicyTool) -> Works {
    match &tool.runs {
        Runs::Command(words) => {
            let words = words.iter().enumerate();
            let words = words.map(|(at, word)| placed(word, at == 0, &tool.folder)).collect();
            Works::Program { words, reads: Some(tool.folder.clone()) }
        }
        Runs::Python { module, function } => {
            let target = format!("{module}:{function}");
            let words = ["python3", "-I", "-c", FUNCTION, &target].map(OsString::from);
            let folder = tool.folder.clone().into_os_string();
            let words = words.into_iter().chain([folder]).collect();
            Works::Program { words, reads: Some(tool.folder.clone()) }
        }
    }
}

/// A word of a command: a relative path begins at the folder of the file that names it.
fn placed(word: &str, is_program: bool, folder: &Path) -> OsString {
    let is_relative = word.starts_with("./") || word.starts_with("../");
    let is_path = is_relative || (is_program && word.contains('/') && !word.starts_with('/'));
    if is_path {
        folder.join(word.strip_prefix("./").unwrap_or(word)).into_os_string()
    } else {
        OsString::from(word)
    }
}
