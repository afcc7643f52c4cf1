//! System calls with which a broker hears of the calls of others, reads them, and answers.

use core::ptr;

use super::{Errno, Fd, Pid, Result, call, nr, plain_call};

/// `struct seccomp_notif` of `linux/seccomp.h`: a call that waits for its answer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Notice {
    /// Its name, for the answer.
    pub(crate) id: u64,
    /// The thread that makes it, as this process sees it.
    pub(crate) thread: u32,
    flags: u32,
    /// The number of the call.
    pub(crate) number: i32,
    architecture: u32,
    instruction: u64,
    /// Its arguments.
    pub(crate) args: [u64; 6],
}

const _: () = assert!(size_of::<Notice>() == 80);

// _IOWR and _IOW of asm-generic/ioctl.h with '!', the number and the size.
const RECV: usize = 0xc050_2100;
const SEND: usize = 0xc018_2101;
const ID_VALID: usize = 0x4008_2102;
const ADDFD: usize = 0x4018_2103;
const SET_FLAGS: usize = 0x4008_2104;

/// Takes the next call. There may be none any more, because its caller was killed.
pub(crate) fn take(listener: Fd) -> Result<Notice> {
    let mut notice = Notice::default();
    let at = ptr::from_mut(&mut notice).expose_provenance();
    // SAFETY: the kernel writes one struct seccomp_notif, which has to be zero before.
    unsafe { call(nr::IOCTL, [listener as usize, RECV, at, 0, 0, 0]) }?;
    Ok(notice)
}

/// Returns whether the caller still waits. While it does, its thread's number cannot be another's.
pub(crate) fn still_waits(listener: Fd, id: u64) -> bool {
    let at = ptr::from_ref(&id).expose_provenance();
    // SAFETY: the kernel reads eight bytes.
    unsafe { call(nr::IOCTL, [listener as usize, ID_VALID, at, 0, 0, 0]) }.is_ok()
}

/// Lets the call return this. Fails if its caller is gone.
pub(crate) fn answer(listener: Fd, id: u64, result: Result<i64>) -> Result<()> {
    // struct seccomp_notif_resp: id, val, error (negative), flags.
    #[repr(C)]
    struct Response {
        id: u64,
        value: i64,
        error: i32,
        flags: u32,
    }
    let (value, error) = match result {
        Ok(value) => (value, 0),
        Err(Errno(errno)) => (0, errno.wrapping_neg()),
    };
    let answer = Response { id, value, error, flags: 0 };
    let at = ptr::from_ref(&answer).expose_provenance();
    // SAFETY: the kernel reads one struct seccomp_notif_resp of 24 bytes.
    unsafe { call(nr::IOCTL, [listener as usize, SEND, at, 0, 0, 0]) }.map(drop)
}

/// Lets the caller make the call itself, with its arguments as they are by then (Linux 5.5).
pub(crate) fn let_through(listener: Fd, id: u64) -> Result<()> {
    const CONTINUE: u64 = 1;
    // struct seccomp_notif_resp: id, val, error, flags; all but the flag has to be zero.
    let answer = [id, 0, CONTINUE << 32];
    let at = answer.as_ptr().expose_provenance();
    // SAFETY: the kernel reads one struct seccomp_notif_resp of 24 bytes.
    unsafe { call(nr::IOCTL, [listener as usize, SEND, at, 0, 0, 0]) }.map(drop)
}

/// Puts a copy of a descriptor among those of the caller, which goes on waiting: its number there.
pub(crate) fn give(listener: Fd, id: u64, fd: Fd, flags: u32) -> Result<i64> {
    // struct seccomp_notif_addfd: id, flags, srcfd, newfd, newfd_flags.
    #[repr(C)]
    struct FdReply {
        id: u64,
        flags: u32,
        source: u32,
        target: u32,
        target_flags: u32,
    }
    let gift = FdReply { id, flags: 0, source: fd as u32, target: 0, target_flags: flags };
    let at = ptr::from_ref(&gift).expose_provenance();
    // SAFETY: the kernel reads one struct seccomp_notif_addfd of 24 bytes.
    unsafe { call(nr::IOCTL, [listener as usize, ADDFD, at, 0, 0, 0]) }.map(|fd| fd as i64)
}

/// Lets the scheduler know that one side always waits for the other (Linux 6.6).
pub(crate) fn take_turns(listener: Fd) {
    const SYNC_WAKE_UP: usize = 1;
    // Where the kernel does not know it, answers only come later.
    let _slower = plain_call(nr::IOCTL, [listener as usize, SET_FLAGS, SYNC_WAKE_UP, 0]);
}

/// Reads the memory of a thread's process up to the first page that is not there.
pub(crate) fn read_memory(thread: Pid, address: u64, into: &mut [u8]) -> Result<usize> {
    const PAGE: usize = 4096;
    // The kernel reads a part wholly or not at all, so no part crosses into another page.
    let within = PAGE.wrapping_sub(address as usize & PAGE.wrapping_sub(1)).min(into.len());
    let after = into.len().wrapping_sub(within).min(PAGE);
    let local = [into.as_mut_ptr().expose_provenance(), within.wrapping_add(after)];
    let remote = [address as usize, within, (address as usize).wrapping_add(within), after];
    let parts = if after == 0 { 1 } else { 2 };
    let (local, remote) = (local.as_ptr().expose_provenance(), remote.as_ptr().expose_provenance());
    // SAFETY: the kernel writes at most within + after bytes, no more than the buffer has, and
    // reads one struct iovec here and at most two for the other side.
    unsafe { call(nr::PROCESS_VM_READV, [thread as usize, local, 1, remote, parts, 0]) }
}

/// A copy of a descriptor of another thread, close-on-exec.
pub(crate) fn take_descriptor(thread: Pid, leader: Pid, fd: u64) -> Result<Fd> {
    const PIDFD_THREAD: usize = 0o200;
    let handle = match plain_call(nr::PIDFD_OPEN, [thread as usize, PIDFD_THREAD, 0, 0]) {
        // The flag is known since Linux 6.9. Threads share their descriptors but for rare ones,
        // who then give one that is theirs as well.
        Err(Errno::INVAL) => plain_call(nr::PIDFD_OPEN, [leader as usize, 0, 0, 0]),
        other => other,
    }?;
    let copy = plain_call(nr::PIDFD_GETFD, [handle, fd as u32 as usize, 0, 0]);
    super::close(handle as Fd);
    copy.map(|fd| fd as Fd)
}
