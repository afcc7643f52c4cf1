//! The plan of a sandbox, which follows the request: a second message and a second sealed memory
//! file.
//!
//! It is shared by host and shim. Every offset points into the memory file, whose
//! last byte is zero; an offset of zero says that there is none.

use crate::protocol::Plain;

/// The most descriptors that the second message can carry; the kernel allows 253.
pub(crate) const DESCRIPTORS_MAX: usize = 240;

/// How many mounts can be taken aside.
pub(crate) const ASIDE_MAX: usize = 32;

/// Stands for a descriptor that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// Namespaces, from `linux/sched.h`.
pub(crate) mod new {
    /// Mounts.
    pub(crate) const MOUNT: u64 = 0x0002_0000;
    /// Cgroups, unshared once they are entered.
    pub(crate) const CGROUP: u64 = 0x0200_0000;
    /// Host name.
    pub(crate) const UTS: u64 = 0x0400_0000;
    /// System V IPC and message queues.
    pub(crate) const IPC: u64 = 0x0800_0000;
    /// Ids and capabilities.
    pub(crate) const USER: u64 = 0x1000_0000;
    /// Process ids.
    pub(crate) const PID: u64 = 0x2000_0000;
    /// Network.
    pub(crate) const NET: u64 = 0x4000_0000;
}

/// The second message's fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Plan {
    /// How many descriptors come with it; the first is the memory file.
    pub(crate) descriptors: u32,
    /// One of `1 << n` for each of [`option`].
    pub(crate) options: u32,
    /// The memory file's length.
    pub(crate) len: u64,
    /// The namespaces, of [`new`].
    pub(crate) namespaces: u64,
    /// The user that the shim becomes first, or [`NONE`].
    pub(crate) outer_uid: u32,
    /// The group that the shim becomes first, or [`NONE`].
    pub(crate) outer_gid: u32,
    /// The text of `uid_map`.
    pub(crate) uid_map: u64,
    /// The text of `gid_map`.
    pub(crate) gid_map: u64,
    /// The host name, or zero.
    pub(crate) host_name: u64,
    /// An existing folder of the host that the new root is mounted on, or zero for no new root.
    pub(crate) base: u64,
    /// The options of the new root's file system.
    pub(crate) root_options: u64,
    /// The array of operations that fill the root.
    pub(crate) ops: u64,
    /// How many they are.
    pub(crate) op_count: u64,
    /// The array of Landlock rules.
    pub(crate) rules: u64,
    /// How many they are.
    pub(crate) rule_count: u64,
    /// The array of the filter's instructions, each a word.
    pub(crate) filter: u64,
    /// How many they are; zero for no filter.
    pub(crate) filter_count: u64,
    /// The array of names that must not be made.
    pub(crate) forbidden: u64,
    /// How many they are.
    pub(crate) forbidden_count: u64,
    /// The array of pinned folders that become read-only with the end of the program.
    pub(crate) sealed: u64,
    /// How many they are.
    pub(crate) sealed_count: u64,
    /// The number of the first descriptor of a file that enters a cgroup; that of version 2 first.
    pub(crate) entrances: u32,
    /// How many of those files there are.
    pub(crate) entrance_count: u32,
    /// The number of the descriptor of a cgroup of version 2 to be cloned into, or [`NONE`].
    pub(crate) unified: u32,
    /// The number of the socket by which the host hears of the sandbox, and rules it.
    pub(crate) channel: u32,
    /// The number of the Landlock ruleset's descriptor, or [`NONE`].
    pub(crate) ruleset: u32,
    /// The number of the socket at which the program's process waits for what to execute; without
    /// a sandbox, for leave to execute. [`NONE`] if it does not wait.
    pub(crate) exec_channel: u32,
    /// The number of the supervisor's pidfd, for a template.
    pub(crate) supervisor: u32,
    /// How many processes may live in the sandbox at once, its first one not counted.
    pub(crate) processes_max: u32,
    /// How names are created, one of [`names`].
    pub(crate) names: u32,
    /// The number of the descriptor of the log of creations, or [`NONE`].
    pub(crate) creation_log: u32,
    /// The number of the first of the descriptors of a session, in the order of [`session`], or [`NONE`].
    pub(crate) session: u32,
    /// The process id after which those of the sandbox begin; best effort.
    pub(crate) pid_base: u32,
    /// Fault injection of test builds: a step's number plus one, or zero.
    pub(crate) fail_at: u32,
    /// Fault injection of test builds: a bit for each mechanism that is left out.
    pub(crate) left_out: u32,
}

/// Bits of [`Plan::options`].
pub(crate) mod option {
    /// Switch the loopback interface on.
    pub(crate) const LOOPBACK: u32 = 1;
    /// No user namespace can be made in the sandbox.
    pub(crate) const NO_NESTING: u32 = 1 << 1;
    /// Nothing runs in this sandbox: its init makes others like it, as copies.
    pub(crate) const TEMPLATE: u32 = 1 << 2;
    /// The sandbox is a copy of a template, whose root it has: only some of it is made anew.
    pub(crate) const COPY: u32 = 1 << 3;
    /// There are no locks: the program makes sandboxes itself.
    pub(crate) const UNLOCKED: u32 = 1 << 4;
    /// Nothing runs in this sandbox: its init sends its namespaces, which make a session, and ends.
    pub(crate) const SESSION: u32 = 1 << 5;
    /// The network namespace is that of the session.
    pub(crate) const SESSION_NETWORK: u32 = 1 << 6;
    /// Processes that the program leaves running stay.
    pub(crate) const KEEPS_LEFT: u32 = 1 << 7;
    /// The host is told in which working directory the program has ended.
    pub(crate) const REPORTS_FOLDER: u32 = 1 << 8;
}

/// The descriptors of a session, from [`Plan::session`] on.
pub(crate) mod session {
    /// The user namespace, which owns the others.
    pub(crate) const USER: usize = 0;
    /// The network namespace.
    pub(crate) const NETWORK: usize = 1;
    /// The IPC namespace.
    pub(crate) const IPC: usize = 2;
    /// The mount namespace in which the shared folder is mounted.
    pub(crate) const MOUNTS: usize = 3;
    /// How many they are.
    pub(crate) const COUNT: usize = 4;
    /// Where the shared folder is in that mount namespace.
    pub(crate) const FOLDER: &core::ffi::CStr = c"/session";
}

/// How the program creates names.
pub(crate) mod names {
    /// By itself.
    pub(crate) const FREE: u32 = 0;
    /// By itself, but init hears of every call before, and refuses those for a path that
    /// must not be created.
    pub(crate) const REFUSED: u32 = 1;
    /// Init creates them.
    pub(crate) const BROKERED: u32 = 2;
}

/// The log of creations: a file in memory that init writes and the host reads, of words.
pub(crate) mod creation_log {
    /// The length of the file.
    pub(crate) const BYTES: usize = 8192;
    /// Where the epoch is. It grows when the first call is let through and when all are known to have
    /// returned. So it is odd while the program may be creating something.
    pub(crate) const EPOCH: usize = 0;
    /// Where the number of calls is that were let through.
    pub(crate) const LET_THROUGH: usize = 1;
    /// Where the word of the first path is: its state in the lowest byte, above it how often it was
    /// refused.
    pub(crate) const PATHS: usize = 8;
    /// How many paths there is room for.
    pub(crate) const PATHS_MAX: usize = 512;
    /// One refusal.
    pub(crate) const REFUSAL: u64 = 0x100;

    /// A path that did not exist when it was checked last.
    pub(crate) const MISSING: u8 = 0;
    /// A path that appeared while no call of the program was under way.
    pub(crate) const BY_OTHERS: u8 = 1;
    /// A path that appeared while one was.
    pub(crate) const BY_PROGRAM: u8 = 2;
}

/// The messages on the exec channel, each in the place of a failed step's number.
pub(crate) mod exec_channel {
    /// The program's process is ready, and nothing was seen of Landlock.
    pub(crate) const READY: u32 = u32::MAX;
    /// The program's process is ready, and Landlock kept it from reading a file, as it should.
    pub(crate) const READY_LANDLOCKED: u32 = u32::MAX - 1;
    /// The host's leave to execute.
    pub(crate) const GO: u32 = u32::MAX - 2;
    /// The program's terminal, whose other end comes along.
    pub(crate) const TERMINAL: u32 = u32::MAX - 3;
    /// In the place of an error: the broker kept it from making a name, as it should.
    pub(crate) const BROKER_REFUSES: i32 = 1;
}

impl Plan {
    /// A plan for nothing yet.
    pub(crate) const fn empty() -> Self {
        Self {
            descriptors: 0,
            options: 0,
            len: 0,
            namespaces: 0,
            outer_uid: NONE,
            outer_gid: NONE,
            uid_map: 0,
            gid_map: 0,
            host_name: 0,
            base: 0,
            root_options: 0,
            ops: 0,
            op_count: 0,
            rules: 0,
            rule_count: 0,
            filter: 0,
            filter_count: 0,
            forbidden: 0,
            forbidden_count: 0,
            sealed: 0,
            sealed_count: 0,
            entrances: NONE,
            entrance_count: 0,
            unified: NONE,
            channel: NONE,
            ruleset: NONE,
            exec_channel: NONE,
            supervisor: NONE,
            processes_max: u32::MAX,
            names: names::FREE,
            creation_log: NONE,
            session: NONE,
            pid_base: 0,
            fail_at: 0,
            left_out: 0,
        }
    }
}

/// The Landlock rights allowed beneath a path of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PathRule {
    /// The path.
    pub(crate) path: u64,
    /// The rights.
    pub(crate) rights: u64,
}

/// A path of one of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ListedPath {
    /// The path in the sandbox.
    pub(crate) path: u64,
}

/// One operation that fills the root of a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Op {
    /// One of [`op`].
    pub(crate) kind: u32,
    /// For a bind the number of the source's descriptor, for what is taken aside its own number.
    pub(crate) source: u32,
    /// Attributes of the mount, as `mount_setattr` has them.
    pub(crate) attributes: u64,
    /// The path in the sandbox.
    pub(crate) target: u64,
    /// For a bind the source's path, for a link its target, for a file its content, for a file
    /// system its options.
    pub(crate) text: u64,
    /// For a file the length of its content.
    pub(crate) len: u64,
    /// For a bind with other owners: the text of `uid_map`, or zero.
    pub(crate) uid_map: u64,
    /// For a bind with other owners: the text of `gid_map`.
    pub(crate) gid_map: u64,
    /// Permissions of what is made.
    pub(crate) mode: u32,
    /// Bits of [`op`].
    pub(crate) flags: u32,
}

/// Kinds and flags of an [`Op`].
pub(crate) mod op {
    /// Mount a file or folder of the host.
    pub(crate) const BIND: u32 = 1;
    /// Mount an empty folder in memory.
    pub(crate) const MEMORY: u32 = 2;
    /// Mount the sandbox's own `/proc`.
    pub(crate) const PROC: u32 = 3;
    /// Make a folder.
    pub(crate) const FOLDER: u32 = 4;
    /// Make a file.
    pub(crate) const FILE: u32 = 5;
    /// Make a symbolic link.
    pub(crate) const LINK: u32 = 6;
    /// Cover a file or folder with one that cannot be opened.
    pub(crate) const HIDE: u32 = 7;
    /// Mount a file or folder on itself, with the attributes.
    pub(crate) const COVER: u32 = 8;
    /// Take what is mounted at the path aside, with all beneath it.
    pub(crate) const ASIDE: u32 = 9;
    /// Put back what was taken aside.
    pub(crate) const BACK: u32 = 10;
    /// Mount the sandbox's own pseudo-terminals.
    pub(crate) const TERMINALS: u32 = 11;
    /// Mount the folder of the session.
    pub(crate) const SESSION: u32 = 12;

    /// The source is a file, not a folder.
    pub(crate) const IS_FILE: u32 = 1;
    /// With all that is mounted beneath.
    pub(crate) const DEEP: u32 = 1 << 1;
    /// The target may be made: it is not in a folder of the host.
    pub(crate) const MAY_MAKE: u32 = 1 << 2;
    /// The target is in the sandbox's `/proc`, which a copy makes anew.
    pub(crate) const IN_PROC: u32 = 1 << 3;
    /// The program starts in the hidden folder, so that it can be entered.
    pub(crate) const ENTERED: u32 = 1 << 4;
    /// What is taken aside does not stay where it was.
    pub(crate) const MOVED: u32 = 1 << 5;
    /// The folder is in that of the session: an earlier call may have made it, and closed it.
    pub(crate) const SHARED: u32 = 1 << 6;
}

// SAFETY: integers only, and the assertion below shows no padding.
unsafe impl Plain for Plan {}
// SAFETY: integers only, and the assertion below shows no padding.
unsafe impl Plain for Op {}

// SAFETY: two words.
unsafe impl Plain for PathRule {}

// SAFETY: one word.
unsafe impl Plain for ListedPath {}

const _: () = assert!(size_of::<PathRule>() == 16);
const _: () = assert!(size_of::<Plan>() == 18 * 4 + 17 * 8);
const _: () = assert!(size_of::<Op>() == 4 * 4 + 6 * 8);
