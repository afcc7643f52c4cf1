//! How strong the box is. Each tier describes what it keeps and by which steps; it does nothing.

pub mod container;
pub mod gvisor;
pub mod inline;
pub mod jail;
pub mod locks;
mod making;
pub mod process;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

pub use making::Making;

use crate::confine::{Confinement, Keep};
use crate::guarantee::{Enforced, Guarantee, Kept};

/// The rungs of the isolation ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
            Self::Inline | Self::Process => (&process::IS_FOR, &[]),
            Self::Jail | Self::Microvm | Self::Cluster => (&jail::IS_FOR, &[]),
            Self::Container => (&jail::IS_FOR, &container::ALSO_FOR),
            Self::Gvisor => (&jail::IS_FOR, &gvisor::ALSO_FOR),
        };
        usual.iter().chain(also).copied()
    }

    /// What it would do and keep here where user namespaces are refused, if it has such a form.
    pub fn describe_locks(
        self,
        confinement: &Confinement,
        machine: Machine,
    ) -> Option<Description> {
        (self == Self::Jail).then(|| locks::describe(confinement, machine)).flatten()
    }

    /// What this tier would do and keep here, or `None` if this version cannot do it.
    pub fn describe(self, confinement: &Confinement, machine: Machine) -> Option<Description> {
        match self {
            Self::Process => Some(process::describe(confinement, machine)),
            Self::Jail => Some(jail::describe(confinement, machine)),
            Self::Container => Some(container::describe(confinement)),
            Self::Gvisor => Some(gvisor::describe(confinement)),
            Self::Inline | Self::Microvm | Self::Cluster => None,
        }
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
#[error("{0:?} is no tier: inline, process, jail, container, gvisor, microvm or cluster")]
pub struct UnknownTier(String);

/// What was found out about this machine that a tier's description depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the machine")]
pub struct Machine {
    /// The ABI of Landlock, if it can lock files.
    pub landlock_abi: Option<u32>,
    /// Landlock can keep a program from signalling and tracing what is not its own (ABI 6).
    pub signal_scope: bool,
    /// The supervisor runs as root.
    pub is_root: bool,
    /// The supervisor has made itself non-dumpable.
    pub supervisor_hidden: bool,
    /// The first process of a box can be told of calls that create names, and refuse them.
    pub refuses_names: bool,
    /// The kernel honours a limit on a process's address space; macOS takes it and ignores it.
    pub bounds_address_space: bool,
}

/// What a tier would do, and what that keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// In the order in which they are done.
    pub steps: Vec<Step>,
    /// One line for every guarantee.
    pub enforcement: Vec<Enforced>,
}

/// One step of a launch, as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a private folder that is `HOME` and `TMPDIR`.
    Scratch,
    /// Build the environment from these names.
    Environment(Vec<String>),
    /// Start the process that keeps the tree together and outlives the supervisor.
    Keeper,
    /// Give it namespaces for users, mounts, processes, IPC, names and cgroups.
    Namespaces,
    /// Give it a network namespace with nothing in it.
    NoNetwork,
    /// Make a root with the system's folders to read, and private folders for the rest.
    NewRoot,
    /// Show this folder, to be written.
    Writable(PathBuf),
    /// Show this file or folder, to be read.
    Readable(PathBuf),
    /// Show something empty in place of this.
    Hide(PathBuf),
    /// Keep this from being written, renamed or removed.
    Protect(PathBuf),
    /// Hide or protect all that a rule means by a pattern.
    Seek(Keep, String),
    /// Something that a container or a box of `runsc` is made by.
    Making(Making),
    /// Let it read the system's folders and `/proc`, and use the harmless devices.
    AllowSystem,
    /// Let it write this folder.
    AllowWriting(PathBuf),
    /// Let it read this file or folder.
    AllowReading(PathBuf),
    /// Refuse sockets, but for connected pairs.
    NoSockets,
    /// Refuse calls that create a protected path.
    RefuseCreation,
    /// Make every name for the program, but protected and hidden ones that are not there.
    Broker,
    /// Limit memory and tasks of the whole tree, where there are cgroups.
    Cgroup,
    /// Give up every capability.
    DropCapabilities,
    /// Lock files, signals and abstract sockets a second time.
    Landlock,
    /// Filter system calls.
    Filter,
    /// Set a resource limit.
    Rlimit(&'static str, u64),
    /// Let the user have this many processes more than there are now.
    ProcessCeiling(u32),
    /// Count the tree's processes, and end it above this many.
    CountProcesses(u32),
    /// Watch what is added to the disk, and end the tree above this.
    WatchDisk {
        /// Room.
        bytes: Option<u64>,
        /// Files.
        files: Option<u64>,
    },
    /// Forbid new privileges.
    NoNewPrivileges,
    /// Keep signals and tracing within the tree.
    SignalScope,
    /// Give up the capabilities with which root reads the memory of others, past Landlock.
    DropCapabilitiesToLook,
    /// Close every descriptor but the standard three.
    CloseDescriptors,
    /// Read and write by handles beneath the root, here.
    ByHandle,
    /// Run a closure of the host on a thread of its own.
    Closure,
    /// Run the program by its handle.
    Exec,
    /// Kill everything after this many seconds.
    Deadline(std::time::Duration),
    /// Keep at most this many bytes of each stream.
    Capture(u64),
    /// Kill what is left, remove the scratch folder.
    CleanUp,
}

impl From<Making> for Step {
    fn from(step: Making) -> Self {
        Self::Making(step)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scratch => f.write_str("make a private scratch folder for HOME and TMPDIR"),
            Self::Environment(names) => write!(f, "build the environment: {}", names.join(" ")),
            Self::Keeper => f.write_str("start the keeper, which ends the tree even if we die"),
            Self::Namespaces => f.write_str("make namespaces: user mount pid ipc uts cgroup"),
            Self::NoNetwork => f.write_str("make a network namespace with nothing in it"),
            Self::NewRoot => {
                f.write_str("make a root: system folders to read, private /tmp /dev /proc")
            }
            Self::Writable(path) => write!(f, "show {path:?}, to be written"),
            Self::Readable(path) => write!(f, "show {path:?}, to be read"),
            Self::Hide(path) => write!(f, "show something empty in place of {path:?}"),
            Self::Protect(path) => write!(f, "protect {path:?}"),
            Self::Seek(Keep::Hidden, rule) => write!(f, "look for what {rule} means, and hide it"),
            Self::Seek(Keep::Protected, rule) => {
                write!(f, "look for what {rule} means, and protect it")
            }
            Self::Making(step) => step.fmt(f),
            Self::AllowSystem => f.write_str(
                "let it read the system's folders and /proc, and use /dev/null and such",
            ),
            Self::AllowWriting(path) => write!(f, "let it write {path:?}"),
            Self::AllowReading(path) => write!(f, "let it read {path:?}"),
            Self::NoSockets => f.write_str("refuse sockets, but for connected pairs (seccomp)"),
            Self::RefuseCreation => {
                f.write_str("refuse to create protected paths (seccomp notification)")
            }
            Self::Broker => {
                f.write_str("make every new name for it, but protected and hidden ones (broker)")
            }
            Self::Cgroup => f.write_str("limit the whole tree by cgroups, where there are any"),
            Self::DropCapabilities => f.write_str("drop every capability"),
            Self::Landlock => f.write_str("lock files, signals and abstract sockets (Landlock)"),
            Self::Filter => f.write_str("filter system calls (seccomp)"),
            Self::Rlimit(name, value) => write!(f, "limit {name} to {value}"),
            Self::ProcessCeiling(most) => {
                write!(f, "limit the user's processes to those there are now and {most} more")
            }
            Self::CountProcesses(most) => write!(f, "end the tree above {most} processes"),
            Self::WatchDisk { bytes, files } => {
                let bytes = bytes.map(|most| format!("{most} bytes"));
                let files = files.map(|most| format!("{most} files"));
                let most: Vec<String> = bytes.into_iter().chain(files).collect();
                write!(f, "end the tree once it has added {} to the disk", most.join(" or "))
            }
            Self::NoNewPrivileges => f.write_str("forbid new privileges"),
            Self::SignalScope => f.write_str("keep signals and tracing within the tree (Landlock)"),
            Self::DropCapabilitiesToLook => {
                f.write_str("drop CAP_SYS_ADMIN and CAP_PERFMON, which read past that")
            }
            Self::CloseDescriptors => f.write_str("close every descriptor but the standard three"),
            Self::Closure => f.write_str("run a closure of the host, on a thread of its own"),
            Self::ByHandle => {
                f.write_str("read and write by handles beneath the root, without a program")
            }
            Self::Exec => f.write_str("run the program by its handle"),
            Self::Deadline(seconds) => write!(f, "kill the whole tree after {seconds:?}"),
            Self::Capture(most) => write!(f, "keep at most {most} bytes of each output stream"),
            Self::CleanUp => f.write_str("kill what is left and remove the scratch folder"),
        }
    }
}
