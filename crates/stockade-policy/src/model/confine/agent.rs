//! What an agent that runs in a sandbox as a whole has of the home folder.

use std::path::PathBuf;

/// The folder of an agent: its own, with parts of the machine's in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentFolder {
    /// Where the sandbox shows it: at the place of the machine's.
    pub path: PathBuf,
    /// Its name in the home folder of the sandbox, where a link leads to it.
    pub name: String,
    /// The folder of the machine that it is. It goes with the call.
    pub private: PathBuf,
    /// The parts that are the machine's.
    pub parts: Vec<AgentPart>,
}

/// A file or folder of the machine in an agent's folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentPart {
    /// Its path in the sandbox.
    pub path: PathBuf,
    /// The real path of what is there.
    pub source: PathBuf,
    /// Whether the agent writes it.
    pub is_written: bool,
}
