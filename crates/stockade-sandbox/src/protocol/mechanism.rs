//! The mechanisms of a sandbox, by name: what was asked for, what was seen, what a test leaves out.

use core::fmt;

macro_rules! mechanisms {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One mechanism that a sandbox is kept by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum Mechanism {
            $($(#[$doc])* $name,)*
        }

        impl Mechanism {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

mechanisms! {
    /// Its own user namespace.
    UserNamespace = "user-namespace",
    /// Its own mounts.
    MountNamespace = "mount-namespace",
    /// Its own process ids, whose init takes all others with it.
    PidNamespace = "pid-namespace",
    /// Its own System V IPC and message queues.
    IpcNamespace = "ipc-namespace",
    /// Its own host name.
    UtsNamespace = "uts-namespace",
    /// Its own view of cgroups.
    CgroupNamespace = "cgroup-namespace",
    /// Its own network.
    NetworkNamespace = "network-namespace",
    /// A user that is not root, outside.
    OtherUser = "other-user",
    /// A root of its own that cannot be written.
    Root = "root",
    /// Folders of the host that cannot be written.
    ReadOnlyBinds = "read-only-binds",
    /// Empty files and folders over hidden ones.
    HiddenPaths = "hidden-paths",
    /// Read-only mounts over protected paths, and pinned parents.
    ProtectedPaths = "protected-paths",
    /// No user namespaces inside.
    NoNesting = "no-nesting",
    /// Empty sets of capabilities.
    NoCapabilities = "no-capabilities",
    /// `no_new_privs`.
    NoNewPrivileges = "no-new-privileges",
    /// Landlock.
    Landlock = "landlock",
    /// The filter of system calls.
    Filter = "seccomp",
    /// Init makes names for the program, but those that must not be made.
    Broker = "broker",
    /// Limits for all processes together.
    Cgroup = "cgroup",
    /// No set-user-ID files and no device files in folders of the host.
    MountFlags = "mount-flags",
    /// Limits of each process.
    Rlimits = "rlimits",
    /// No descriptor of the host but the standard streams.
    ClosedDescriptors = "closed-descriptors",
    /// Covers stay over paths as long as anybody has a handle there, also when the sandbox is gone.
    LockedMounts = "locked-mounts",
}

impl Mechanism {
    /// Its bit in a set of mechanisms.
    #[expect(clippy::as_conversions, reason = "the discriminant of a repr(u32) enum")]
    pub const fn bit(self) -> u32 {
        1 << (self as u32)
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
