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

use crate::inspect::Seen;
use crate::policy::hook::script;
use crate::policy::tool::{Declaration, PolicyTool, Runs, ToolName};

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

impl Registered {
    /// The files that it is made of, as far as its declaration names them.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        let seen = match &self.works {
            Works::Program { seen, .. } => Some(seen),
            Works::Inline(_) => None,
        };
        seen.into_iter().flat_map(Seen::paths)
    }

    /// One of these files that is no longer what it was.
    pub fn changed_file(&self) -> Option<&Path> {
        match &self.works {
            Works::Program { seen, .. } => seen.changed(|_| true),
            Works::Inline(_) => None,
        }
    }
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
        /// The files that it is made of, as they were when it was declared.
        seen: Seen,
    },
}

impl Registry {
    /// What is shipped, and what a policy declares for this project.
    pub fn of(tools: &[PolicyTool], root: &Path) -> Self {
        let declared = tools.iter().map(|tool| Registered {
            declaration: tool.declaration.clone(),
            works: works(tool, root),
        });
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
        let is_it = |tool: &&Registered| tool.declaration.name.as_str() == name;
        // Those that are shipped are made for who asks for one of them, and for nobody else.
        let shipped = || ToolName::is_shipped(name).then(|| SHIPPED.iter().find(is_it)).flatten();
        self.tools.iter().find(is_it).or_else(shipped)
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

    /// The files that tools of the policy and of the host are made of.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        self.tools.iter().flat_map(Registered::own_files)
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

fn works(tool: &PolicyTool, root: &Path) -> Works {
    match &tool.runs {
        Runs::Command(written) => {
            let script = script::of(written, &[&tool.folder, root]);
            let placed = |(at, word): (usize, &String)| match &script {
                Some((place, script)) if *place == at => Some(script.clone()),
                Some(_) | None => placed(word, at == 0, &tool.folder),
            };
            let own: Vec<Option<PathBuf>> = written.iter().enumerate().map(placed).collect();
            let words = own.iter().zip(written);
            let words = words.map(|(own, word)| match own {
                Some(path) => path.clone().into_os_string(),
                None => OsString::from(word),
            });
            let words: Vec<OsString> = words.collect();
            let seen = Seen::of(absolute(&words));
            Works::Program { words, reads: own.into_iter().flatten().collect(), seen }
        }
        Runs::Python { module, function } => python(tool, module, function),
    }
}

/// Calls a function of a module that lies beside the declaration, or else of one that is installed.
/// Which of the two, and which file, is found out now and not again: nothing that is put there later
/// takes its place.
fn python(tool: &PolicyTool, module: &str, function: &str) -> Works {
    let package = module.split('.').next().unwrap_or_default();
    let (folder, file) = (tool.folder.join(package), tool.folder.join(format!("{package}.py")));
    // Either may appear and take the place of the other the next time.
    let seen = Seen::of(vec![file.clone()]).and_folder(folder.clone());
    // In the order of Python itself.
    let place = match (folder.join("__init__.py").is_file(), file.is_file(), folder.is_dir()) {
        (true, _, _) | (false, false, true) => Some(folder),
        (false, true, _) => Some(file),
        (false, false, false) => None,
    };
    let target = format!("{module}:{function}");
    let words = ["python3", "-I", "-c", FUNCTION, &target].map(OsString::from);
    let own = place.clone().unwrap_or_default().into_os_string();
    let reads: Vec<PathBuf> = place.into_iter().collect();
    Works::Program { words: words.into_iter().chain([own]).collect(), reads, seen }
}

/// The words that are whole paths of files.
fn absolute(words: &[OsString]) -> Vec<PathBuf> {
    let is_file = |path: &PathBuf| path.is_absolute() && !path.is_dir();
    words.iter().map(PathBuf::from).filter(is_file).collect()
}

/// A word of a command that is a relative path, from the folder of the file that names it.
fn placed(word: &str, is_program: bool, folder: &Path) -> Option<PathBuf> {
    let is_relative = word.starts_with("./") || word.starts_with("../");
    let is_path = is_relative || (is_program && word.contains('/') && !word.starts_with('/'));
    is_path.then(|| folder.join(word.strip_prefix("./").unwrap_or(word)))
}
