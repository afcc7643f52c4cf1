//! Promises about a run that a person understands, and how well each was kept.

use std::fmt;

use serde::Serialize;

/// What Stockade can promise about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// Writes only in listed folders.
    Writes,
    /// Reads only of listed folders, secrets hidden.
    Reads,
    /// Protected paths never written or created.
    Protected,
    /// No network, or only listed hosts.
    Network,
    /// Processes signalled or left over: none but its own.
    Processes,
    /// No new privileges, no capabilities, a filtered set of system calls.
    Privileges,
    /// Memory, processes and CPU bounded for the whole tree.
    TreeLimits,
    /// Wall time, CPU time, file size, open files and core dumps bounded.
    Limits,
    /// Room on the disk and files that a run adds bounded.
    Disk,
    /// Output bounded, the supervisor's memory flat.
    Output,
    /// The environment holds only what is listed, and the supervisor's cannot be read.
    Environment,
    /// A kernel of its own.
    Kernel,
}

impl Guarantee {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 12] = [
        Self::Writes,
        Self::Reads,
        Self::Protected,
        Self::Network,
        Self::Processes,
        Self::Privileges,
        Self::TreeLimits,
        Self::Limits,
        Self::Disk,
        Self::Output,
        Self::Environment,
        Self::Kernel,
    ];

    /// The name in the report and in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Protected => "protected",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Privileges => "privileges",
            Self::TreeLimits => "tree_limits",
            Self::Limits => "limits",
            Self::Disk => "disk",
            Self::Output => "output",
            Self::Environment => "environment",
            Self::Kernel => "kernel",
        }
    }

    /// The guarantee of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guarantee| guarantee.name() == name)
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How well a guarantee was kept, from not at all to wholly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Nothing keeps it in this tier on this machine.
    None,
    /// It was kept at first and then lost.
    Lost,
    /// A breach would have been seen, not prevented.
    Detected,
    /// Kept in part; the note says which part is not.
    Partial,
    /// Kept.
    Full,
}

impl Kept {
    /// The name in the report and in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lost => "lost",
            Self::Detected => "detected",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

/// One line of the report's `enforcement`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Enforced {
    /// What was promised.
    pub guarantee: Guarantee,
    /// How well it was kept.
    pub kept: Kept,
    /// The mechanisms that kept it.
    pub by: Vec<&'static str>,
    /// What is not kept, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Enforced {
    /// A guarantee that these mechanisms keep wholly.
    pub fn full(guarantee: Guarantee, by: &[&'static str]) -> Self {
        Self { guarantee, kept: Kept::Full, by: by.to_vec(), note: None }
    }

    /// A guarantee that these mechanisms keep in part.
    pub fn partial(guarantee: Guarantee, by: &[&'static str], note: &str) -> Self {
        Self { guarantee, kept: Kept::Partial, by: by.to_vec(), note: Some(note.to_owned()) }
    }

    /// A guarantee that nothing keeps.
    pub fn none(guarantee: Guarantee, note: &str) -> Self {
        Self { guarantee, kept: Kept::None, by: Vec::new(), note: Some(note.to_owned()) }
    }
}
