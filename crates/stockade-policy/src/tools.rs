//! A tool as it is declared: its name, its input, what it may do, and where it runs. As data:
//! nothing here runs anything.

mod schema;
mod table;
#[cfg(feature = "tools")]
mod validator;
#[cfg(not(feature = "tools"))]
#[path = "tools/no_validator.rs"]
mod validator;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

pub use schema::{BadSchema, Schema, Violation};
pub(super) use table::ToolTable;

use super::rules;
use crate::config::folders::real_folder;
use crate::limits::{ByteCount, Limits};
use crate::model::tier::Tier;

/// What is known of a tool before it is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// By which name it is called.
    pub name: ToolName,
    /// What it does, in words for the agent.
    pub description: String,
    /// What its input looks like.
    pub input: Schema,
    /// Where it runs.
    pub tier: Tier,
    /// What one run may use.
    pub limits: Limits,
    /// What it does besides computing.
    pub risks: BTreeSet<Risk>,
    /// How often it is tried; more than once only if it may run twice.
    pub attempts: Attempts,
    /// Where it is declared, as `file:line`.
    pub source: Option<String>,
}

impl Declaration {
    /// A tool of this name that takes any object, in the jail, with the limits of code.
    pub fn new(name: ToolName) -> Self {
        Self {
            name,
            description: String::new(),
            input: Schema::any_object(),
            tier: Tier::Jail,
            limits: Limits { output: ANSWER_BYTES_MAX, ..Limits::CODE },
            risks: BTreeSet::new(),
            attempts: Attempts::ONE,
            source: None,
        }
    }

    /// That it runs where its risks are kept: a tool that uses the network needs a tier that has a
    /// say in that.
    pub fn check(&self) -> Result<(), BadTool> {
        if self.risks.contains(&Risk::Network) && self.tier < Tier::Jail {
            return Err(BadTool::Network(self.tier));
        }
        Ok(())
    }
}

/// What is taken of a tool's answer, unless its limits say otherwise.
const ANSWER_BYTES_MAX: ByteCount = ByteCount::mib(1);

/// What runs when a tool of the policy is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Runs {
    /// A program with its arguments.
    Command(Vec<String>),
    /// A function of a Python module, called with the fields of the input.
    Python {
        /// Where it is imported from.
        module: String,
        /// Its name there.
        function: String,
    },
}

/// A tool that a policy declares: the declaration, and what is run for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PolicyTool {
    /// What is known of it.
    pub declaration: Declaration,
    /// What is run.
    pub runs: Runs,
    /// The folder of the file that declares it: relative paths begin there, and so do modules.
    pub folder: PathBuf,
}

/// What a tool does besides computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// It reads files.
    Reads,
    /// It writes files.
    Writes,
    /// It runs other programs.
    Executes,
    /// It uses the network.
    Network,
}

impl Risk {
    /// All of them, the mildest first.
    pub const ALL: [Self; 4] = [Self::Reads, Self::Writes, Self::Executes, Self::Network];

    /// The name in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Executes => "executes",
            Self::Network => "network",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Risk {
    type Err = BadTool;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|risk| risk.name() == text);
        known.ok_or_else(|| BadTool::Risk(text.to_owned()))
    }
}

/// How often a tool is tried, and how long the first pause is; each is twice the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attempts {
    /// At most this often.
    pub most: u32,
    /// The first pause.
    pub pause: Duration,
}

impl Attempts {
    /// Once, for tools that must not run twice.
    pub const ONE: Self = Self { most: 1, pause: Duration::ZERO };
    /// For those that may.
    pub const IDEMPOTENT: Self = Self { most: 3, pause: Duration::from_millis(100) };
    /// More is no patience but a loop.
    pub const MOST: u32 = 10;
    /// No pause is longer.
    pub const PAUSE_MAX: Duration = Duration::from_secs(5);

    /// Whether it may run twice.
    pub fn is_idempotent(self) -> bool {
        self.most > 1
    }

    /// The pause after this many attempts.
    pub fn pause_after(self, attempts: u32) -> Duration {
        let doubled = attempts.saturating_sub(1).min(Self::MOST);
        self.pause.saturating_mul(1_u32 << doubled).min(Self::PAUSE_MAX)
    }
}

/// The tools that are always there.
const SHIPPED: [&str; 1] = ["Calc"];

/// The name of a tool: letters, digits, `_` and `-`, and none of ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(String);

impl ToolName {
    /// The most characters that a name has.
    pub const CHARS_MAX: usize = 64;

    /// Whether a tool of this name is always there.
    pub fn is_shipped(name: &str) -> bool {
        SHIPPED.contains(&name)
    }

    /// The name of a tool that is always there.
    pub fn shipped(name: &'static str) -> Option<Self> {
        SHIPPED.contains(&name).then(|| Self(name.to_owned()))
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ToolName {
    type Err = BadTool;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts_well || text.len() > Self::CHARS_MAX || !text.chars().all(is_plain) {
            return Err(BadTool::Name(text.to_owned()));
        }
        if rules::is_known_tool(text) || SHIPPED.contains(&text) {
            return Err(BadTool::Taken(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Why a tool cannot be declared so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadTool {
    /// Its name has other characters.
    #[error(
        "{0:?} is no name for a tool: 1 to 64 letters, digits, _ and -, the first of them no digit"
    )]
    Name(String),
    /// Its name is one of ours or of a coding agent.
    #[error("{0:?} is the name of a tool that is there already")]
    Taken(String),
    /// No such risk.
    #[error("unknown risk {0:?}; expected reads, writes, executes or network")]
    Risk(String),
    /// The network, and nothing that keeps it.
    #[error(
        "a tool that uses the network runs in a tier that keeps one: jail, container or gvisor, \
         and not {0}"
    )]
    Network(Tier),
    /// What its input has to look like.
    #[error("the schema of its input: {0}")]
    Schema(#[from] BadSchema),
}

/// The real folder of modules and relative paths; as it is written where there is none.
fn folder_of(file: &Path) -> std::io::Result<PathBuf> {
    let file = std::path::absolute(file)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    Ok(real_folder(folder).unwrap_or_else(|_absent| folder.to_owned()))
}
