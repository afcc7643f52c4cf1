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
    /// Host: the socket pair between host and keeper.
    OpenControl = "open the control socket",
    /// Host: the sealed memory file with arguments and environment.
    PackRequest = "pack the arguments and the environment",
    /// Host: what the box is made of, opened and written down.
    PrepareBox = "prepare the box",
    /// Host: the keeper's executable, as a sealed memory file or a file.
    LoadKeeper = "load the keeper",
    /// Host: the keeper's process.
    SpawnKeeper = "start the keeper",
    /// Host: the request to the keeper.
    SendRequest = "send the request to the keeper",
    /// Host: what can be seen of the box from outside, before the program is executed.
    Attest = "see from outside that the box is as it was asked for",
    /// Host: the keeper's answer.
    HearKeeper = "hear from the keeper",
    /// Keeper: its own descriptors, session, signals and protection.
    BecomeKeeper = "set up the keeper",
    /// Keeper: the adoption of orphans.
    AdoptOrphans = "adopt the program's orphans",
    /// Keeper: the request and its descriptors.
    ReadRequest = "read the request in the keeper",
    /// Keeper: the process lists in `/proc`.
    ListProcesses = "list child processes in /proc",
    /// Keeper: the room for counting processes.
    CountProcesses = "make room to count processes",
    /// Keeper: the Landlock scope around the whole tree, and its self-test.
    ScopeTree = "close the signal scope around the tree",
    /// Keeper: the user that root becomes for a box.
    ChangeUser = "become the user outside the box",
    /// Keeper: the box's first process, in its namespaces.
    CloneBox = "clone the first process into the namespaces of the box",
    /// Keeper: the first process, which was killed before the program was executed.
    HearFirst = "hear from the first process of the box",
    /// First process: the user and group of the box.
    MapIds = "map the user and group of the box",
    /// First process: its cgroups, and the namespace of them.
    JoinCgroups = "join the cgroups of the box",
    /// First process: the host name.
    NameHost = "set the host name of the box",
    /// First process: the loopback interface.
    RaiseLoopback = "switch on the loopback interface of the box",
    /// First process: user namespaces inside the box.
    ForbidNesting = "forbid user namespaces in the box",
    /// Keeper: the folders that the box shows with other owners.
    MapOwners = "map the owners of a folder for the box",
    /// Keeper as root, or the first process: a file or folder of the host.
    TakeSource = "take a folder of the host for the box",
    /// First process: the new root.
    MakeRoot = "make the root of the box",
    /// First process: the place of a mount, folder, file or link.
    FindPlace = "find or make a place in the box",
    /// First process: a folder of the host, in its place.
    BindFolder = "mount a folder of the host in the box",
    /// First process: a folder in memory.
    MountMemory = "mount a folder in memory in the box",
    /// First process: the list of processes.
    MountProc = "mount /proc in the box",
    /// First process: a folder, file or link.
    MakeEntry = "make a folder, file or link in the box",
    /// First process: an empty file or folder over a hidden one.
    HidePath = "hide a path in the box",
    /// First process: a path that cannot be changed or moved.
    ProtectPath = "protect a path in the box",
    /// First process: the root, which nothing can be written to.
    SealRoot = "make the root of the box read-only",
    /// First process: the box's root as its own.
    EnterRoot = "enter the root of the box",
    /// First process: the host's folders.
    LeaveHost = "leave the folders of the host",
    /// First process: the names that must not be made.
    LearnNames = "learn the names that must not be made",
    /// Keeper, or the box's first process: the program's process.
    Fork = "fork the program's process",
    /// Child: its handle, sent to the host.
    Announce = "announce the program's process to the host",
    /// Child: the session and process group.
    OpenSession = "open a session for the program",
    /// Child: the signal that it gets when the keeper dies.
    TieToKeeper = "tie the program's life to the keeper",
    /// Child: standard input, output and error.
    PlaceStreams = "place the program's standard streams",
    /// Child: the working directory.
    EnterDirectory = "enter the working directory",
    /// Child: the program at its path in the box, the same file that was judged.
    FindProgram = "find the judged program at its path in the box",
    /// Child: resource limits.
    LimitResources = "limit the program's resources",
    /// Child: every set of capabilities.
    DropCapabilities = "give up all capabilities",
    /// Child: `no_new_privs`.
    RefusePrivileges = "refuse new privileges",
    /// Child: the Landlock rules and scopes of the box.
    RestrictFiles = "restrict files with Landlock",
    /// Child: a file that Landlock must keep from being read.
    TestLandlock = "see Landlock at work",
    /// Child: the filter of system calls.
    FilterCalls = "filter system calls",
    /// Child: a name that the broker must refuse to make.
    TestBroker = "see the broker refuse a name",
    /// Child: the host's word, after it has looked at everything.
    AwaitRelease = "wait for the host to look at the box",
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
