//! The operations of a launch, as data. The list that is executed is the list that is printed: a
//! launcher turns each of them into what the sandbox is made of, and takes nothing from elsewhere.

mod text;

use std::ffi::OsString;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use stockade_sandbox::{CgroupLimits, Filter};

use crate::confine::{
    AgentFolder, EngineName, ImageName, Keep, Leftovers, ListedChanges, Network, Origin, OwnPath,
    PathPattern, Pull, ToolchainPath,
};
use crate::limits::ByteCount;

/// One operation, with all that it takes to carry it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Record the state of the directories that can be written, to report what changes.
    Survey(Survey),
    /// Make sure that one of Stockade's own paths can be hidden or protected, or start nothing.
    GuardOwn(OwnPath),
    /// Report that no sandbox can enforce what a rule denies.
    Unenforced(Keep, Origin, String),
    /// Create a private directory, which is removed afterwards.
    Scratch(Scratch),
    /// Build the environment of the program.
    Environment(Environment),
    /// Start the process that holds the tree together and outlives the supervisor.
    Shim,
    /// Create namespaces of these kinds.
    Namespaces(&'static [&'static str]),
    /// Give the program this network.
    Network(Network),
    /// Share System V IPC, a folder and a loopback, if that is its network, with the calls of the session.
    JoinSession {
        /// What becomes of processes that the program leaves running.
        leftovers: Leftovers,
        /// The network of the call. If it is a loopback, no operation makes one.
        network: Network,
    },
    /// Relay connections from this port of the machine's loopback to the same port of the sandbox's.
    Publish(NonZeroU16),
    /// Relay connections from this port of the sandbox's loopback to the same port of the machine's.
    HostPort(NonZeroU16),
    /// Set the host name of the sandbox.
    HostName(&'static str),
    /// Forbid user namespaces in the sandbox, in which a program would have capabilities again.
    ForbidNesting,
    /// Create an empty root.
    NewRoot,
    /// Show something in the root.
    Mount(Mount),
    /// Hide this: it cannot be opened.
    Hide(Target),
    /// Keep this from being written, renamed or removed.
    Protect(Target),
    /// Check that this is out of the program's reach, where no mount can hide or protect it.
    Check(Keep, Target),
    /// Make the root read-only and enter it.
    SealRoot,
    /// Put the whole tree into a cgroup with these limits, where there are cgroups.
    Cgroup(CgroupLimits),
    /// Create every name for the program, except protected and hidden ones that are not there.
    Broker,
    /// Refuse calls that create a protected path.
    RefuseCreation,
    /// Give up every capability.
    DropCapabilities,
    /// Forbid new privileges.
    NoNewPrivileges,
    /// Keep signals and tracing within the tree.
    SignalScope {
        /// Root also gives up the capabilities that see through the scope.
        is_root: bool,
    },
    /// Allow something that [`Op::Landlock`] would refuse.
    Allow(Allow),
    /// Restrict files, signals and abstract sockets.
    Landlock,
    /// Filter system calls.
    Seccomp(Filter),
    /// Compare the sandbox with the plan, from outside, before the program runs.
    Attest,
    /// Set a resource limit of each process.
    Rlimit(Rlimit),
    /// Close every descriptor but the standard three.
    CloseDescriptors,
    /// Execute the program by its handle.
    Exec,
    /// Something that an engine or `runsc` does.
    Oci(Oci),
    /// Something that Stockade does itself, without a program.
    Inline(Inline),
    /// A limit that the supervisor holds while the program runs.
    Watch(Watch),
    /// Kill what is left and remove the private directory.
    CleanUp,
}

/// The directories whose changes are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The project.
    pub root: PathBuf,
    /// The directories.
    pub folders: Vec<PathBuf>,
    /// Which changes are reported.
    pub watched: ListedChanges,
}

/// A private directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// What it is for.
    pub content: Content,
    /// What it must not lie in, if that can be arranged.
    pub outside: Vec<PathBuf>,
}

/// What a private directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// What the program writes: it is its `HOME` and `TMPDIR`.
    OfProgram,
    /// A few small files of the launch itself.
    OfLaunch,
}

/// The environment of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The variables, but for `HOME` and `TMPDIR` where these are not among them.
    pub variables: Vec<(OsString, OsString)>,
    /// `HOME` and `TMPDIR` in the sandbox; the private directory if there are none.
    pub home: Option<[&'static str; 2]>,
}

/// Something that a sandbox shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// The directories of the system that exist, read-only.
    System(&'static [&'static str]),
    /// A `/dev` with harmless devices and shared memory of its own.
    Devices {
        /// How much shared memory.
        shared_memory_bytes: u64,
    },
    /// The processes of the sandbox.
    Proc,
    /// A file of `/proc` that is hidden, if it exists.
    HideInProc(&'static str),
    /// An empty directory in memory.
    Memory {
        /// Its path.
        path: &'static str,
        /// How much it can hold.
        bytes: u64,
        /// How many files it can hold.
        files: u64,
    },
    /// The folder that the calls of a session share.
    Session {
        /// Its path.
        path: &'static str,
    },
    /// The project.
    Project(PathBuf, Access),
    /// A file or directory of the machine.
    Path(PathBuf, Access),
    /// The program's home directory, in memory.
    Home(&'static str),
    /// A directory in a protected one that stays writable, if it exists.
    Exception(PathBuf),
    /// The parents of what follows, so that none can be moved aside with what it holds.
    Pins,
    /// A toolchain of the home directory, read-only, and links to it.
    Toolchain(ToolchainPath),
    /// The folder of an agent, with parts of the machine's in it, and a link to it.
    Agent(AgentFolder),
}

/// Whether a path can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It can be read and executed.
    ReadOnly,
    /// It can be written too.
    Writable,
}

/// What is hidden, protected or checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path, and who names it.
    Path(PathBuf, Origin),
    /// All that matches a pattern when the sandbox is made.
    Pattern(PathPattern),
}

/// What Landlock allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// Read the system's directories.
    System(&'static [&'static str]),
    /// Read `/proc`.
    Proc,
    /// Use these devices.
    Devices(&'static [&'static str]),
    /// Write the private directory.
    Scratch,
    /// Read the project.
    Project(PathBuf),
    /// Read this.
    Read(PathBuf),
    /// Read a toolchain of the home directory, and find it by links.
    Toolchain(ToolchainPath),
    /// Write this.
    Write(PathBuf),
}

/// A resource limit of each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rlimit {
    /// `RLIMIT_CPU`, in seconds.
    Cpu(u64),
    /// `RLIMIT_FSIZE`, in bytes.
    FileSize(u64),
    /// `RLIMIT_CORE`, in bytes.
    Core(u64),
    /// `RLIMIT_NPROC`: tasks of the user, or of the sandbox where it has a user namespace.
    Tasks {
        /// The limit.
        most: u64,
        /// How many more where a cgroup limits tasks, which has to refuse first.
        above_cgroup: u64,
    },
    /// `RLIMIT_NPROC`: this many more than the user has now.
    MoreTasks(u32),
    /// `RLIMIT_NOFILE`.
    OpenFiles(u64),
    /// `RLIMIT_AS`, in bytes.
    AddressSpace {
        /// The limit.
        bytes: u64,
        /// Whether a cgroup that limits memory replaces it: some programs reserve far more than they use.
        unless_cgroup: bool,
    },
}

/// What an engine or `runsc` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oci {
    /// Create a container, named by the call, and do not start it.
    Container {
        /// The image.
        image: Option<ImageName>,
        /// The engine; the first that answers if there is none.
        engine: Option<EngineName>,
        /// The runtime of the engine; its own choice if there is none.
        runtime: Option<String>,
        /// Whether the image may be fetched.
        pull: Pull,
    },
    /// Write a bundle for `runsc`; without an image it has the system's directories.
    Bundle(Option<ImageName>),
    /// Make the root read-only.
    ReadOnlyRoot,
    /// Run the program as a user that is not root.
    OtherUser,
    /// Filter system calls by the engine's own list.
    EngineFilter,
    /// Start the container.
    Start,
    /// Execute the program in a container that waits for this many calls.
    ExecInWaiting(std::num::NonZeroU32),
    /// Kill the container and remove it.
    Remove,
    /// Start the program on a kernel of its own.
    OwnKernel,
}

/// What Stockade does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inline {
    /// Read and write files by handles beneath the root.
    ByHandle,
    /// Write no file that is larger than this.
    FileSize(ByteCount),
    /// Run a closure of the host on a thread of its own.
    Closure,
}

/// A limit that the supervisor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Count the processes of the tree, and end it above this many.
    Processes(u32),
    /// Sample what the tree uses, and end it above this.
    Usage {
        /// CPU time.
        cpu: Option<Duration>,
        /// Memory, where no cgroup limits it.
        memory: Option<ByteCount>,
    },
    /// Watch what is added to the disk, and end the tree above this.
    Disk {
        /// Room.
        bytes: Option<ByteCount>,
        /// Files.
        files: Option<u64>,
    },
    /// Kill the tree after this time.
    Deadline(Duration),
    /// Keep this many bytes of each output stream.
    Output {
        /// What is kept.
        kept: ByteCount,
        /// What ends the tree.
        flood: ByteCount,
    },
}
