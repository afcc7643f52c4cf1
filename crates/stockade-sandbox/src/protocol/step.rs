//! The numbered steps of a launch: which one failed is what a start error says.

use core::fmt;

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One step of a launch; its text completes "could not …".
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum Step {
            $($(#[$doc])* $name,)*
        }

        impl Step {
            const ALL: &[Self] = &[$(Self::$name,)*];

            const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

steps! {
    /// Host: the pipes and `/dev/null` for the program's standard streams.
    OpenStreams = "open the program's standard streams",
    /// Host: the socket pair between host and shim.
    OpenControl = "open the control socket",
    /// Host: the sealed memory file with arguments and environment.
    PackRequest = "pack the arguments and the environment",
    /// Host: what the sandbox is made of, opened and written down.
    PrepareBox = "prepare the sandbox",
    /// Host: the shim's executable, as a sealed memory file or a file.
    LoadShim = "load the shim",
    /// Host: the shim's process.
    SpawnShim = "start the shim",
    /// Host: the request to the shim.
    SendRequest = "send the request to the shim",
    /// Host: what can be seen of the sandbox from outside, before the program is executed.
    Attest = "verify the sandbox from outside",
    /// Host: the shim's answer.
    AwaitShim = "receive an answer from the shim",
    /// Shim: its own descriptors, session, signals and protection.
    SetUpShim = "set up the shim",
    /// Shim: the adoption of orphans.
    AdoptOrphans = "adopt the program's orphans",
    /// Shim: the request and its descriptors.
    ReadRequest = "read the request in the shim",
    /// Shim: the process lists in `/proc`.
    ListProcesses = "list child processes in /proc",
    /// Shim: the room for counting processes.
    CountProcesses = "allocate memory to count processes",
    /// Shim: the Landlock scope around the whole tree, and its self-test.
    ScopeTree = "close the signal scope around the tree",
    /// Shim: the user that root becomes for a sandbox.
    ChangeUser = "become the user outside the sandbox",
    /// Shim: the namespaces and the folder of a session.
    EnterSession = "enter the session",
    /// Shim: the network of a sandbox, for sockets of the host.
    EnterNetwork = "enter the network of the sandbox",
    /// Shim: sockets in the network of a sandbox.
    MakeSockets = "create sockets in the network of the sandbox",
    /// Shim: the sandbox's init, in its namespaces.
    CloneBox = "clone init into the namespaces of the sandbox",
    /// Shim: init, which was killed before the program was executed.
    AwaitInit = "receive an answer from the init of the sandbox",
    /// Init: the user and group of the sandbox.
    MapIds = "map the user and group of the sandbox",
    /// Init: its cgroups, and the namespace of them.
    JoinCgroups = "join the cgroups of the sandbox",
    /// Init: the host name.
    NameHost = "set the host name of the sandbox",
    /// Init: the loopback interface.
    RaiseLoopback = "switch on the loopback interface of the sandbox",
    /// Init: user namespaces inside the sandbox.
    ForbidNesting = "forbid user namespaces in the sandbox",
    /// Shim: the folders that the sandbox shows with other owners.
    MapOwners = "map the owners of a folder for the sandbox",
    /// Shim as root, or init: a file or folder of the host.
    TakeSource = "open a folder of the host for the sandbox",
    /// Init: the new root.
    MakeRoot = "create the root of the sandbox",
    /// Init: the place of a mount, folder, file or link.
    FindPlace = "find or create a mount point in the sandbox",
    /// Init: a folder of the host, in its place.
    BindFolder = "mount a folder of the host in the sandbox",
    /// Init: a folder in memory.
    MountMemory = "mount a folder in memory in the sandbox",
    /// Init: the list of processes.
    MountProc = "mount /proc in the sandbox",
    /// Init: its mounts, so that none is taken away before what it covers.
    LockMounts = "lock the mounts of the sandbox",
    /// Init: the folder of the session.
    MountSession = "mount the folder of the session in the sandbox",
    /// Init: the pseudo-terminals.
    MountTerminals = "mount the pseudo-terminals of the sandbox",
    /// Init: a folder, file or link.
    MakeEntry = "create a folder, file or link in the sandbox",
    /// Init: an empty file or folder over a hidden one.
    HidePath = "hide a path in the sandbox",
    /// Init: a path that cannot be changed or moved.
    ProtectPath = "protect a path in the sandbox",
    /// Init: the root, which nothing can be written to.
    SealRoot = "make the root of the sandbox read-only",
    /// Init: the sandbox's root as its own.
    EnterRoot = "enter the root of the sandbox",
    /// Init: the host's folders.
    LeaveHost = "leave the folders of the host",
    /// Init: the names that must not be made.
    LearnNames = "read the names that must not be created",
    /// Shim, or the sandbox's init: the program's process.
    Fork = "fork the program's process",
    /// Child: its handle, sent to the host.
    Announce = "announce the program's process to the host",
    /// Child: the session and process group.
    OpenSession = "open a session for the program",
    /// Child: the signal that it gets when the shim dies.
    TieToShim = "tie the program's life to the shim",
    /// Child: standard input, output and error.
    PlaceStreams = "place the program's standard streams",
    /// Child: the terminal of its session.
    OpenTerminal = "open a terminal in the sandbox",
    /// Child: the working directory.
    EnterDirectory = "enter the working directory",
    /// Child: the program at its path in the sandbox, the same file that was judged.
    FindProgram = "find the judged program at its path in the sandbox",
    /// Child: resource limits.
    LimitResources = "limit the program's resources",
    /// Child: every set of capabilities.
    DropCapabilities = "give up all capabilities",
    /// Child: `no_new_privs`.
    RefusePrivileges = "refuse new privileges",
    /// Child: the Landlock rules and scopes of the sandbox.
    RestrictFiles = "restrict files with Landlock",
    /// Child: a file that Landlock must keep from being read.
    TestLandlock = "verify that Landlock refuses a file",
    /// Child: the filter of system calls.
    FilterCalls = "filter system calls",
    /// Child: a name that the broker must refuse to make.
    TestBroker = "verify that the broker refuses a name",
    /// Child: the host's permission, after attestation.
    AwaitRelease = "wait for the host to verify the sandbox",
    /// Child: the program's own Landlock signal scope.
    ScopeProgram = "close the signal scope around the program",
    /// Child: the signal mask.
    ClearSignals = "clear the signal mask",
    /// Child: every descriptor above standard error.
    CloseDescriptors = "close inherited descriptors",
    /// Child: the script's path still names the file that was judged.
    RecheckScript = "find the judged script at its path",
    /// Child: the program itself.
    Execute = "execute the program",
}

impl Step {
    /// The step with this number, if there is one.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|step| step.number() == number)
    }

    /// The number that crosses the control socket.
    #[expect(clippy::as_conversions, reason = "the discriminant of a repr(u32) enum")]
    pub const fn number(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
