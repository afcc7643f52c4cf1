//! The tools that can be called besides those for programs, lines, source and files: declared in the
//! policy, or closures of the host. One declaration is all that a tool needs.

pub mod answer;
mod builder;
pub mod calc;
mod inline;
mod typed;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub use builder::ToolBuilder;
pub use inline::{Closure, Endured, endure};
pub use typed::{Typed, typed};

use crate::policy::tool::{Declaration, PolicyTool, Runs};

/// Calls a Python function with an input, and prints nothing but its value.
const FUNCTION: &str = include_str!("registry/function.py");

/// The tools that are always there, made when the first of them is looked for.
static SHIPPED: LazyLock<Vec<Registered>> = LazyLock::new(builder::shipped);

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
        /// What it needs to read besides the project: its own files, and nothing else beside them.
        reads: Vec<PathBuf>,
    },
}

impl Registry {
    /// What is shipped, and what a policy declares.
    pub fn of(tools: &[PolicyTool]) -> Self {
        let declared = tools
            .iter()
            .map(|tool| Registered { declaration: tool.declaration.clone(), works: works(tool) });
        Self { tools: declared.collect() }
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
        self.each().find(|tool| tool.declaration.name.as_str() == name)
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<&Registered> {
        let mut all: Vec<&Registered> = self.each().collect();
        all.sort_by(|a, b| a.declaration.name.cmp(&b.declaration.name));
        all
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.each().map(|tool| tool.declaration.name.as_str())
    }

    fn each(&self) -> impl Iterator<Item = &Registered> {
        SHIPPED.iter().chain(&self.tools)
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
        Runs::Command(written) => {
            let placed = |(at, word): (usize, &String)| placed(word, at == 0, &tool.folder);
            let own: Vec<Option<PathBuf>> = written.iter().enumerate().map(placed).collect();
            let words = own.iter().zip(written);
            let words = words.map(|(own, word)| match own {
                Some(path) => path.clone().into_os_string(),
                None => OsString::from(word),
            });
            Works::Program { words: words.collect(), reads: own.into_iter().flatten().collect() }
        }
        Runs::Python { module, function } => {
            let target = format!("{module}:{function}");
            let words = ["python3", "-I", "-c", FUNCTION, &target].map(OsString::from);
            let folder = tool.folder.clone().into_os_string();
            let words = words.into_iter().chain([folder]).collect();
            let package = module.split('.').next().unwrap_or_default();
            let places = [tool.folder.join(package), tool.folder.join(format!("{package}.py"))];
            let reads = places.into_iter().filter(|place| place.exists()).collect();
            Works::Program { words, reads }
        }
    }
}

/// A word of a command that is a relative path, from the folder of the file that names it.
fn placed(word: &str, is_program: bool, folder: &Path) -> Option<PathBuf> {
    let is_relative = word.starts_with("./") || word.starts_with("../");
    let is_path = is_relative || (is_program && word.contains('/') && !word.starts_with('/'));
    is_path.then(|| folder.join(word.strip_prefix("./").unwrap_or(word)))
}
