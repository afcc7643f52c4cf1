//! System calls for signals.

use core::ptr;

use super::time::timespec;
use super::{Fd, Result, call, nr};

/// Signals, from `asm/signal.h`.
pub(crate) mod sig {
    /// Cannot be caught.
    pub(crate) const KILL: usize = 9;
    /// A child ended.
    pub(crate) const CHLD: usize = 17;
    /// The highest number.
    pub(crate) const MAX: usize = 64;
}

const SIGSET_SIZE: usize = 8;

/// Blocks every signal that can be blocked.
pub(crate) fn block_signals() -> Result<()> {
    set_mask(u64::MAX)
}

/// Lets every signal through.
pub(crate) fn unblock_signals() -> Result<()> {
    set_mask(0)
}

fn set_mask(mask: u64) -> Result<()> {
    const SIG_SETMASK: usize = 2;
    let set = ptr::from_ref(&mask).expose_provenance();
    // SAFETY: the kernel reads eight bytes of the mask and writes nothing, the old set being null.
    unsafe { call(nr::RT_SIGPROCMASK, [SIG_SETMASK, set, 0, SIGSET_SIZE, 0, 0]) }.map(drop)
}

/// Gives every signal its default action.
pub(crate) fn default_signals() {
    // handler, flags, restorer and mask, all zero: SIG_DFL.
    let action = [0_u64; 4];
    for signal in 1..=sig::MAX {
        let new = action.as_ptr().expose_provenance();
        // SAFETY: the kernel reads one 32-byte sigaction and writes nothing, the old one being
        // null. SIGKILL and SIGSTOP are refused, which is their default too.
        let _refused = unsafe { call(nr::RT_SIGACTION, [signal, new, 0, SIGSET_SIZE, 0, 0]) };
    }
}

/// Lets the kernel reap children as they end.
pub(crate) fn ignore_children() -> Result<()> {
    const SIG_IGN: u64 = 1;
    on_child(SIG_IGN)
}

/// Keeps children that have ended to be reaped.
pub(crate) fn heed_children() -> Result<()> {
    const SIG_DFL: u64 = 0;
    on_child(SIG_DFL)
}

fn on_child(handler: u64) -> Result<()> {
    let action = [handler, 0, 0, 0];
    let new = action.as_ptr().expose_provenance();
    // SAFETY: the kernel reads one 32-byte sigaction and writes nothing, the old one being null.
    unsafe { call(nr::RT_SIGACTION, [sig::CHLD, new, 0, SIGSET_SIZE, 0, 0]) }.map(drop)
}

const CHILD_SET: u64 = 1 << (sig::CHLD - 1);

/// A descriptor that is readable while SIGCHLD is pending.
pub(crate) fn child_signals() -> Result<Fd> {
    const SFD_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
    let set = ptr::from_ref(&CHILD_SET).expose_provenance();
    let new = (-1_isize) as usize;
    // SAFETY: the kernel reads eight bytes of the set.
    unsafe { call(nr::SIGNALFD4, [new, set, SIGSET_SIZE, SFD_NONBLOCK_CLOEXEC, 0, 0]) }
        .map(|fd| fd as Fd)
}

/// Waits for a pending SIGCHLD and takes it, or for the time to pass.
pub(crate) fn await_child_signal(timeout_ns: u64) {
    let set = ptr::from_ref(&CHILD_SET).expose_provenance();
    let time = timespec(timeout_ns);
    let timeout = time.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the set and the timespec; the information pointer is null.
    let _either = unsafe { call(nr::RT_SIGTIMEDWAIT, [set, 0, timeout, SIGSET_SIZE, 0, 0]) };
}
