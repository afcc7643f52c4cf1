//! Registered tools: declared in the policy, or closures of the host.

pub mod answer;
mod builder;
pub mod calc;
mod inline;
mod builtin;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub use builder::ToolBuilder;
pub use builtin::{BuiltinTool, builtin_tools};
pub use inline::{Closure, ClosureResult, run_closure};

use crate::inspect::FileSnapshot;
use crate::policy::hooks::script;
use crate::policy::tools::{Declaration, PolicyTool, Runs, ToolName};

/// Calls a Python function with an input and prints its value.
const FUNCTION: &str = include_str!("registry/function.py");

/// Built-in tools, created on first use.
static SHIPPED: LazyLock<Vec<RegisteredTool>> = LazyLock::new(builder::shipped);

/// All tools by name.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: Vec<RegisteredTool>,
}

/// One tool: its declaration, and what runs.
#[derive(Debug, Clone)]
pub struct RegisteredTool {
    /// The declaration.
    pub declaration: Declaration,
    /// What runs.
    pub works: ToolWork,
}

impl RegisteredTool {
    /// The files of the tool, as far as its declaration names them.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        let seen = match &self.works {
            ToolWork::Program { seen, .. } => Some(seen),
            ToolWork::Inline(_) => None,
        };
        seen.into_iter().flat_map(FileSnapshot::paths)
    }

    /// A file that has changed since.
    pub fn changed_file(&self) -> Option<&Path> {
        match &self.works {
            ToolWork::Program { seen, .. } => seen.changed(|_| true),
            ToolWork::Inline(_) => None,
        }
    }
}

/// What a tool runs.
#[derive(Debug, Clone)]
pub enum ToolWork {
    /// A closure in this process.
    Inline(Closure),
    /// A program and its arguments.
    Program {
        /// The program and its arguments.
        words: Vec<OsString>,
        /// The paths outside the project that it reads: its own files.
        reads: Vec<PathBuf>,
        /// The files of the tool, as they were when it was declared.
        seen: FileSnapshot,
    },
}

impl Registry {
    /// The built-in tools, and those that a policy declares for this project.
    pub fn of(tools: &[PolicyTool], root: &Path) -> Self {
        let declared = tools.iter().map(|tool| RegisteredTool {
            declaration: tool.declaration.clone(),
            works: works(tool, root),
        });
        Self { tools: declared.collect() }
    }

    /// Adds a tool. A name that exists is an error.
    pub fn with(mut self, tool: RegisteredTool) -> Result<Self, Duplicate> {
        let name = tool.declaration.name.to_string();
        if let Some(other) = self.get(&name) {
            let place = other.declaration.source.clone();
            return Err(Duplicate { name, place: place.unwrap_or_else(|| "the host".to_owned()) });
        }
        self.tools.push(tool);
        Ok(self)
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&RegisteredTool> {
        let is_it = |tool: &&RegisteredTool| tool.declaration.name.as_str() == name;
        // Built-in tools are created on first use.
        let shipped = || ToolName::is_shipped(name).then(|| SHIPPED.iter().find(is_it)).flatten();
        self.tools.iter().find(is_it).or_else(shipped)
    }

    /// All tools, sorted by name.
    pub fn all(&self) -> Vec<&RegisteredTool> {
        let mut all: Vec<&RegisteredTool> = self.each().collect();
        all.sort_by(|a, b| a.declaration.name.cmp(&b.declaration.name));
        all
    }

    /// The names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.each().map(|tool| tool.declaration.name.as_str())
    }

    /// The files of the tools of the policy and of the host.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        self.tools.iter().flat_map(RegisteredTool::own_files)
    }

    fn each(&self) -> impl Iterator<Item = &RegisteredTool> {
        SHIPPED.iter().chain(&self.tools)
    }
}

/// Two tools have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("register the tool {name:?}: {place} has one already")]
pub struct Duplicate {
    name: String,
    place: String,
}

fn works(tool: &PolicyTool, root: &Path) -> ToolWork {
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
            let seen = FileSnapshot::of(absolute(&words));
            ToolWork::Program { words, reads: own.into_iter().flatten().collect(), seen }
        }
        Runs::Python { module, function } => python(tool, module, function),
    }
}

/// Calls a function of a module that lies beside the declaration, or of an installed one. The file
/// is chosen now, so that a file added later cannot take its place.
fn python(tool: &PolicyTool, module: &str, function: &str) -> ToolWork {
    let package = module.split('.').next().unwrap_or_default();
    let (folder, file) = (tool.folder.join(package), tool.folder.join(format!("{package}.py")));
    // Either may appear later and take precedence.
    let seen = FileSnapshot::of(vec![file.clone()]).and_folder(folder.clone());
    // In Python's own order.
    let place = match (folder.join("__init__.py").is_file(), file.is_file(), folder.is_dir()) {
        (true, _, _) | (false, false, true) => Some(folder),
        (false, true, _) => Some(file),
        (false, false, false) => None,
    };
    let target = format!("{module}:{function}");
    let words = ["python3", "-I", "-c", FUNCTION, &target].map(OsString::from);
    let own = place.clone().unwrap_or_default().into_os_string();
    let reads: Vec<PathBuf> = place.into_iter().collect();
    ToolWork::Program { words: words.into_iter().chain([own]).collect(), reads, seen }
}

/// The words that are absolute paths of files.
fn absolute(words: &[OsString]) -> Vec<PathBuf> {
    let is_file = |path: &PathBuf| path.is_absolute() && !path.is_dir();
    words.iter().map(PathBuf::from).filter(is_file).collect()
}

/// A relative path in a command, resolved from the folder of the declaring file.
fn placed(word: &str, is_program: bool, folder: &Path) -> Option<PathBuf> {
    let is_relative = word.starts_with("./") || word.starts_with("../");
    let is_path = is_relative || (is_program && word.contains('/') && !word.starts_with('/'));
    is_path.then(|| folder.join(word.strip_prefix("./").unwrap_or(word)))
}
