//! System calls by number, as small functions that cannot be misused from safe code.
//!
//! One function a call, no logic. Descriptors are plain numbers: the shim is one short-lived program
//! that owns them all.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "registers are words: every argument and result is converted at this border"
)]

mod files;
pub(crate) mod locks;
mod messages;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod notices;
#[cfg_attr(target_arch = "x86_64", path = "sys/nr/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "sys/nr/aarch64.rs")]
pub(crate) mod nr;
mod processes;
mod scheduling;
mod signals;
pub(crate) mod spaces;
pub(crate) mod terminals;
mod time;
mod vfork;

pub(crate) use self::files::{
    AT_FDCWD, CLOSE_RANGE_CLOEXEC, Stat, close, close_from, dup3, fchdir, getdents, map,
    map_shared, map_whole, move_to, open, open_as, open_for_writing, pipe, pread, read, stat,
    umask, unmap, write,
};
pub(crate) use self::messages::{receive, send, socket_pair, tcp_socket};
pub(crate) use self::processes::{
    ForkSide, children_usage, execute_fd, execute_path, fork, getpgid, getpid, getppid, ids, kill,
    lower_limit, may_signal, pidfd_open, pr, prctl, reap, reap_next, set_name, setsid,
};
pub(crate) use self::scheduling::{
    Scheduling, is_scheduled_normally, nice, schedule_first, set_nice,
};
pub(crate) use self::signals::{
    await_child_signal, block_signals, child_signals, default_signals, heed_children,
    ignore_children, sig, unblock_signals,
};
pub(crate) use self::time::{Poll, now_ns, poll, step_aside, used_by_ns, used_ns};
pub(crate) use self::vfork::{Leftover, SharedChild, sleep_while, wake};
use super::raw::system_call;

/// A descriptor's number.
pub(crate) type Fd = i32;
/// A process id.
pub(crate) type Pid = i32;

/// An error number, as the kernel gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub i32);

impl Errno {
    /// No such device, or no peer at the other end.
    pub(crate) const NXIO: Self = Self(6);
    /// Not an open descriptor.
    pub(crate) const BADF: Self = Self(9);
    /// Try again.
    pub(crate) const AGAIN: Self = Self(11);
    /// An address that is not mapped.
    pub(crate) const FAULT: Self = Self(14);
    /// In use.
    pub(crate) const BUSY: Self = Self(16);
    /// Not a folder.
    pub(crate) const NOTDIR: Self = Self(20);
    /// A folder.
    pub(crate) const ISDIR: Self = Self(21);
    /// A name that is too long.
    pub(crate) const NAMETOOLONG: Self = Self(36);
    /// No such system call.
    pub(crate) const NOSYS: Self = Self(38);
    /// Too many links.
    pub(crate) const LOOP: Self = Self(40);
    /// No such file.
    pub(crate) const NOENT: Self = Self(2);
    /// No such process.
    pub(crate) const SRCH: Self = Self(3);
    /// Interrupted.
    pub(crate) const INTR: Self = Self(4);
    /// Not permitted.
    pub(crate) const PERM: Self = Self(1);
    /// Permission denied.
    pub(crate) const ACCES: Self = Self(13);
    /// It exists already.
    pub(crate) const EXIST: Self = Self(17);
    /// No room left.
    pub(crate) const NOSPC: Self = Self(28);
    /// Invalid argument.
    pub(crate) const INVAL: Self = Self(22);
    /// An address family that the kernel does not have.
    pub(crate) const AFNOSUPPORT: Self = Self(97);
    /// A handle that no longer names what it did.
    pub(crate) const STALE: Self = Self(116);
    /// The error of a step that a test makes fail.
    pub(crate) const NOTRECOVERABLE: Self = Self(131);
    /// The host did not let the program go.
    pub(crate) const CANCELED: Self = Self(125);
    /// A message that does not make sense.
    pub(crate) const BADMSG: Self = Self(74);
}

/// The result of a system call.
pub(crate) type Result<T> = core::result::Result<T, Errno>;

/// Makes a system call.
///
/// # Safety
///
/// As [`system_call`]'s: every pointer among the arguments is valid for what the kernel does with it.
unsafe fn call(number: usize, args: [usize; 6]) -> Result<usize> {
    // SAFETY: the caller answers for the memory.
    checked(unsafe { system_call(number, args) })
}

pub(crate) fn checked(result: isize) -> Result<usize> {
    // The last 4095 values are negated error numbers: MAX_ERRNO in linux/err.h.
    if (-4095..0).contains(&result) {
        Err(Errno(result.wrapping_neg() as i32))
    } else {
        Ok(result as usize)
    }
}

/// Makes a system call that takes numbers only.
fn plain_call(number: usize, args: [usize; 4]) -> Result<usize> {
    // SAFETY: no argument of the calls made through this function is a pointer.
    unsafe { call(number, [args[0], args[1], args[2], args[3], 0, 0]) }
}

/// Ends the process.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        let _never = plain_call(nr::EXIT_GROUP, [code as usize, 0, 0, 0]);
    }
}
