//! How strong a sandbox is, and what each strength is for.

use std::fmt;
use std::str::FromStr;

use crate::guarantee::{Guarantee, Kept};

/// What it is for: a machine that stays responsive, and nothing left over.
const PROCESS: [(Guarantee, Kept); 4] = [
    (Guarantee::Processes, Kept::Partial),
    (Guarantee::Limits, Kept::Full),
    (Guarantee::Output, Kept::Full),
    (Guarantee::Environment, Kept::Partial),
];

/// What it is for: files, the network, privileges, and no process left over. The tree's memory and
/// processes are not here, because many machines give a user no cgroup.
const JAIL: [(Guarantee, Kept); 9] = [
    (Guarantee::Writes, Kept::Full),
    (Guarantee::Reads, Kept::Full),
    (Guarantee::Protected, Kept::Detected),
    (Guarantee::Network, Kept::Full),
    (Guarantee::Processes, Kept::Full),
    (Guarantee::Privileges, Kept::Full),
    (Guarantee::Limits, Kept::Full),
    (Guarantee::Output, Kept::Full),
    (Guarantee::Environment, Kept::Full),
];

/// What it is for besides what the jail is: limits of the whole tree, which engines have.
const CONTAINER: [(Guarantee, Kept); 1] = [(Guarantee::TreeLimits, Kept::Full)];

/// What it is for besides what the jail is.
const GVISOR: [(Guarantee, Kept); 1] = [(Guarantee::Kernel, Kept::Full)];

/// The rungs of the isolation ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// A Rust closure in this process.
    Inline,
    /// A child process with limits, whose whole tree is killed.
    Process,
    /// Namespaces, Landlock, seccomp and cgroups.
    Jail,
    /// An OCI engine that is already there.
    Container,
    /// The same box on a user-space kernel.
    Gvisor,
    /// The same box in a virtual machine.
    Microvm,
    /// The same call on a distributed engine.
    Cluster,
}

const NAMES: [(Tier, &str); 7] = [
    (Tier::Inline, "inline"),
    (Tier::Process, "process"),
    (Tier::Jail, "jail"),
    (Tier::Container, "container"),
    (Tier::Gvisor, "gvisor"),
    (Tier::Microvm, "microvm"),
    (Tier::Cluster, "cluster"),
];

impl Tier {
    /// The name in policy files and in the report.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(tier, _)| *tier == self).map_or("", |(_, name)| name)
    }

    /// What this tier is for: required of it where a policy lists nothing of its own.
    pub fn is_for(self) -> impl Iterator<Item = (Guarantee, Kept)> {
        let (usual, also): (&[_], &[_]) = match self {
            Self::Inline | Self::Process => (&PROCESS, &[]),
            Self::Jail | Self::Microvm | Self::Cluster => (&JAIL, &[]),
            Self::Container => (&JAIL, &CONTAINER),
            Self::Gvisor => (&JAIL, &GVISOR),
        };
        usual.iter().chain(also).copied()
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = NAMES.iter().find(|(_, name)| *name == text).map(|(tier, _)| *tier);
        named.ok_or_else(|| UnknownTier(text.to_owned()))
    }
}

/// A text that names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown tier {0:?}; expected inline, process, jail, container, gvisor, microvm or cluster"
)]
pub struct UnknownTier(String);
