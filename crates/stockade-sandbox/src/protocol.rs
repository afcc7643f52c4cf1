//! The messages on the control socket: one request, a command to kill, a few reports.
//!
//! Host and shim are built from this same file, for the same machine. The strings of a request are
//! two tables of offsets, each closed by a zero, then the strings. They travel in a sealed memory
//! file, or, if they are short and the program is for a sandbox, in the message.

// Host and shim find these files at the same place, whichever of them is compiled.
#[path = "protocol/landlock_access.rs"]
pub(crate) mod landlock_access;
#[path = "protocol/mechanism.rs"]
pub(crate) mod mechanism;
#[path = "protocol/plan.rs"]
pub(crate) mod plan;
#[path = "protocol/step.rs"]
pub(crate) mod step;
#[cfg(feature = "fault-injection")]
#[path = "protocol/step_trace.rs"]
pub(crate) mod step_trace;

/// Raised with every change of layout; the shim refuses a request with another number.
pub(crate) const VERSION: u32 = 16;

/// The host's command to kill the tree and report.
pub(crate) const KILL: u32 = 0x4b49_4c4c;

/// Stands for "no limit on the number of processes".
pub(crate) const UNLIMITED: u32 = u32::MAX;

/// The purpose of a request.
pub(crate) mod form {
    /// A program without a sandbox.
    pub(crate) const PLAIN: u64 = 0;
    /// A program with locks, for which a plan follows in a message of its own.
    pub(crate) const LOCKED: u64 = 1;
    /// A sandbox, for which a plan follows; its program comes later, by another socket.
    pub(crate) const BOXED: u64 = 2;
    /// Sockets in the network of a sandbox, for which a [`SocketRequest`](super::SocketRequest) follows.
    pub(crate) const SOCKETS: u64 = 3;
}

/// The requirement on the working directory of a program in a sandbox.
pub(crate) mod cwd {
    /// Whatever is at its path.
    pub(crate) const ANY: u64 = 0;
    /// The folder that was judged.
    pub(crate) const JUDGED: u64 = 1;
    /// One that the sandbox has made itself.
    pub(crate) const OWN: u64 = 2;
}

/// The terminal of a program.
pub(crate) mod terminal {
    /// There is none.
    pub(crate) const NONE: u64 = 0;
    /// There is one: rows and columns are in the bits below.
    pub(crate) const IS_THERE: u64 = 1 << 32;

    /// One of this size.
    #[expect(clippy::as_conversions, reason = "this is const, and nothing is lost")]
    pub(crate) const fn of(rows: u16, columns: u16) -> u64 {
        IS_THERE | (rows as u64) << 16 | columns as u64
    }
}

/// The most limits that a request can carry.
pub(crate) const RLIMITS_MAX: usize = 8;

/// Where each descriptor stands in the request's message. A program for a sandbox that is waiting
/// comes with the first few only; the scope is optional, so last.
pub(crate) mod slot {
    /// The program's standard input.
    pub(crate) const STDIN: usize = 0;
    /// The program's standard output.
    pub(crate) const STDOUT: usize = 1;
    /// The program's standard error.
    pub(crate) const STDERR: usize = 2;
    /// The program, as an `O_PATH` descriptor.
    pub(crate) const PROGRAM: usize = 3;
    /// How many a program for a waiting sandbox comes with, if its strings come in the message.
    pub(crate) const FOR_BOX: usize = 4;
    /// The memory file with the strings.
    pub(crate) const STRINGS: usize = 4;
    /// A pidfd of the supervisor, readable once it is dead.
    pub(crate) const SUPERVISOR: usize = 5;
    /// The working directory, as an `O_PATH` descriptor.
    pub(crate) const CWD: usize = 6;
    /// A Landlock ruleset that scopes signals.
    pub(crate) const SCOPE: usize = 7;
    /// How many descriptors there can be.
    pub(crate) const COUNT: usize = 8;
}

/// One resource limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Rlimit {
    /// The kernel's number of the resource.
    pub(crate) resource: u64,
    /// The soft limit.
    pub(crate) soft: u64,
    /// The hard limit.
    pub(crate) hard: u64,
}

/// The request's fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Request {
    /// Always [`VERSION`].
    pub(crate) version: u32,
    /// How many descriptors come with it: [`slot::COUNT`], one less without a scope,
    /// [`slot::FOR_BOX`] or one more for a waiting sandbox; to make one the supervisor, and perhaps
    /// a cgroup of version 2 for an init that is made at once.
    pub(crate) descriptors: u32,
    /// How many arguments the first table has.
    pub(crate) argc: u32,
    /// How many variables the second table has.
    pub(crate) envc: u32,
    /// The length of the memory file, tables included.
    pub(crate) strings_len: u64,
    /// Where the script's path starts in the memory file, or zero.
    pub(crate) script: u64,
    /// How many processes may live at once, or [`UNLIMITED`].
    pub(crate) processes_max: u32,
    /// How many of the limits below count.
    pub(crate) rlimit_count: u32,
    /// One of [`form`].
    pub(crate) form: u64,
    /// For a waiting sandbox, where the program's path in it starts in the memory file.
    pub(crate) program: u64,
    /// For a waiting sandbox, where the working directory's path in it starts.
    pub(crate) cwd: u64,
    /// The requirement on that folder, one of [`cwd`].
    pub(crate) cwd_is: u64,
    /// The inode of the folder that was judged.
    pub(crate) cwd_inode: u64,
    /// The device of that folder, major and minor.
    pub(crate) cwd_device: [u32; 2],
    /// True if standard input is empty: in a sandbox it is the sandbox's own `/dev/null` then.
    pub(crate) is_stdin_empty: u64,
    /// Whether the program's streams are a terminal of the sandbox's own, one of [`terminal`].
    pub(crate) terminal: u64,
    /// True if the last descriptor is the log of steps of a test.
    pub(crate) is_traced: u64,
    /// Resource limits.
    pub(crate) rlimits: [Rlimit; RLIMITS_MAX],
}

impl Request {
    /// A request for nothing yet.
    pub(crate) const fn empty() -> Self {
        Self {
            version: VERSION,
            descriptors: 0,
            argc: 0,
            envc: 0,
            strings_len: 0,
            script: 0,
            processes_max: UNLIMITED,
            rlimit_count: 0,
            form: form::PLAIN,
            program: 0,
            cwd: 0,
            cwd_is: cwd::ANY,
            cwd_inode: 0,
            cwd_device: [0; 2],
            is_stdin_empty: 0,
            terminal: terminal::NONE,
            is_traced: 0,
            rlimits: [Rlimit { resource: 0, soft: 0, hard: 0 }; RLIMITS_MAX],
        }
    }
}

/// A program for a waiting sandbox: the request, and its strings if they are short.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct ExecMessage {
    /// The request.
    pub(crate) request: Request,
    /// As many as [`Request::strings_len`] says; nothing if that is more than there is room for, and then
    /// they are in a memory file.
    pub(crate) strings: [u64; STRINGS_WORDS],
}

/// How many words of strings come with a message.
pub(crate) const STRINGS_WORDS: usize = 448;

/// How many bytes that is.
pub(crate) const STRINGS_BYTES: usize = STRINGS_WORDS * 8;

impl ExecMessage {
    /// Nothing yet.
    pub(crate) const fn empty() -> Self {
        Self { request: Request::empty(), strings: [0; STRINGS_WORDS] }
    }
}

/// The sockets that a host wants to have in the network of a sandbox. Two namespaces come along: the
/// network, and before it the user namespace that owns it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct SocketRequest {
    /// The user that the shim becomes first, or [`plan::NONE`].
    pub(crate) outer_uid: u32,
    /// The group that the shim becomes first, or [`plan::NONE`].
    pub(crate) outer_gid: u32,
    /// How many for each of [`family`].
    pub(crate) count: u32,
    /// Always zero.
    pub(crate) padding: u32,
}

/// The address families of sockets, from `linux/socket.h`.
pub(crate) mod family {
    /// IPv4.
    pub(crate) const INET: u32 = 2;
    /// IPv6.
    pub(crate) const INET6: u32 = 10;
}

/// The kind of a report.
pub(crate) mod kind {
    /// The program's process announces itself before it executes anything; its pidfd comes along.
    pub(crate) const FORKED: u32 = 1;
    /// The program was executed.
    pub(crate) const STARTED: u32 = 2;
    /// A step failed and nothing was executed.
    pub(crate) const FAILED: u32 = 3;
    /// The tree is gone.
    pub(crate) const ENDED: u32 = 4;
    /// As [`FORKED`]; the host's folders are about to be unmounted, which [`LEFT`] reports.
    pub(crate) const LEAVING: u32 = 5;
    /// They are gone.
    pub(crate) const LEFT: u32 = 6;
    /// A namespace of a new session; its descriptor comes along, its place is in the step's place.
    pub(crate) const NAMESPACE: u32 = 7;
    /// The working directory in which the program has ended; its descriptor comes along.
    pub(crate) const FOLDER: u32 = 8;
    /// The path of that directory in the sandbox; a pipe from which it is read comes along.
    pub(crate) const FOLDER_PATH: u32 = 9;
    /// A socket in the network of a sandbox; it comes along, its family is in the step's place.
    pub(crate) const SOCKET: u32 = 10;
}

/// Why the tree was killed.
pub(crate) mod cause {
    /// The program ended by itself.
    pub(crate) const EXITED: u32 = 1;
    /// The host sent [`super::KILL`].
    pub(crate) const KILLED: u32 = 2;
    /// More processes than allowed lived at once.
    pub(crate) const PROCESSES: u32 = 3;
}

/// A message from the shim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Report {
    /// One of [`kind`].
    pub(crate) kind: u32,
    /// The failed step's number.
    pub(crate) step: u32,
    /// The failed step's error.
    pub(crate) errno: i32,
    /// The program's process id.
    pub(crate) pid: i32,
    /// The program's wait status, as the kernel gave it.
    pub(crate) status: i32,
    /// One of [`cause`].
    pub(crate) cause: u32,
    /// How many processes were still there when the program had ended, and were killed.
    pub(crate) leftovers: u32,
    /// How many could not be killed in time.
    pub(crate) survivors: u32,
    /// How many processes the program has left running; another report follows when these have ended.
    pub(crate) left_running: u32,
    /// One if a pinned folder that was to become read-only did not.
    pub(crate) unsealed: u32,
    /// User and system time of every process that was reaped.
    pub(crate) cpu_ns: u64,
    /// User and system time of the program itself.
    pub(crate) program_cpu_ns: u64,
    /// The largest resident set of one process.
    pub(crate) peak_rss_bytes: u64,
}

/// The message of a child that could not execute the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Failure {
    /// The failed step's number.
    pub(crate) step: u32,
    /// The failed step's error.
    pub(crate) errno: i32,
}

/// A type that is nothing but its bytes, so that it can cross a socket.
///
/// # Safety
///
/// The type has no padding, holds no pointer, and every bit pattern is a value of it.
pub(crate) unsafe trait Plain: Copy {
    /// The bytes of the value.
    fn bytes(&self) -> &[u8] {
        let start = core::ptr::from_ref(self).cast::<u8>();
        // SAFETY: the reference is valid for size_of::<Self>() bytes, and the trait promises that
        // none of them is padding, so all are initialised.
        unsafe { core::slice::from_raw_parts(start, size_of::<Self>()) }
    }

    /// The bytes of the value, to be overwritten.
    fn bytes_mut(&mut self) -> &mut [u8] {
        let start = core::ptr::from_mut(self).cast::<u8>();
        // SAFETY: the reference is valid and unique for size_of::<Self>() bytes, and the trait
        // promises that whatever is written there is a value.
        unsafe { core::slice::from_raw_parts_mut(start, size_of::<Self>()) }
    }
}

// SAFETY: twelve u32, ten u64 and an array of u64 triples: the assertion below shows no padding.
unsafe impl Plain for Request {}
// SAFETY: a request, whose size is a multiple of eight, and words.
unsafe impl Plain for ExecMessage {}
// SAFETY: integers.
unsafe impl Plain for [u64; STRINGS_WORDS] {}
// SAFETY: ten 32-bit and three 64-bit integers: the assertion below shows no padding.
unsafe impl Plain for Report {}
// SAFETY: two 32-bit integers.
unsafe impl Plain for Failure {}
// SAFETY: four 32-bit integers.
unsafe impl Plain for SocketRequest {}
// SAFETY: an integer.
unsafe impl Plain for u64 {}

const _: () = assert!(slot::COUNT == slot::SCOPE + 1);
const _: () = assert!(size_of::<Rlimit>() == 24);
const _: () = assert!(size_of::<Request>() == 112 + 24 * RLIMITS_MAX);
const _: () = assert!(size_of::<ExecMessage>() == size_of::<Request>() + STRINGS_BYTES);
const _: () = assert!(size_of::<Report>() == 64);
const _: () = assert!(size_of::<Failure>() == 8);
const _: () = assert!(size_of::<SocketRequest>() == 16);
