//! System calls for processes: what one is, its children, and what it executes.

use core::ffi::CStr;
use core::ptr;

use super::files::AT_EMPTY_PATH;
use super::{Errno, Fd, Pid, Result, call, nr, plain_call, sig};
use crate::protocol::Rlimit;

/// Options of prctl(2), from `linux/prctl.h`.
pub(crate) mod pr {
    /// A signal for this process when its parent dies.
    pub(crate) const SET_PDEATHSIG: usize = 1;
    /// Allows or forbids other processes of the same user to read this one.
    pub(crate) const SET_DUMPABLE: usize = 4;
    /// Orphans among the descendants become children of this process.
    pub(crate) const SET_CHILD_SUBREAPER: usize = 36;
    /// No set-user-ID and no file capabilities from here on.
    pub(crate) const SET_NO_NEW_PRIVS: usize = 38;
}

/// Sets a process attribute that is a number.
pub(crate) fn prctl(option: usize, value: usize) -> Result<()> {
    plain_call(nr::PRCTL, [option, value, 0, 0]).map(drop)
}

/// Sets the process name, for process lists.
pub(crate) fn set_name(name: &CStr) {
    const PR_SET_NAME: usize = 15;
    // SAFETY: PR_SET_NAME reads at most 16 bytes and stops at the NUL.
    let _cosmetic =
        unsafe { call(nr::PRCTL, [PR_SET_NAME, name.as_ptr().expose_provenance(), 0, 0, 0, 0]) };
}

/// This process's id.
pub(crate) fn getpid() -> Pid {
    plain_call(nr::GETPID, [0; 4]).map_or(0, |pid| pid as Pid)
}

/// The user and the group of this process, as its own user namespace has them.
pub(crate) fn ids() -> (u32, u32) {
    let id = |number| plain_call(number, [0; 4]).map_or(u32::MAX, |id| id as u32);
    (id(nr::GETUID), id(nr::GETGID))
}

/// The parent's id.
pub(crate) fn getppid() -> Pid {
    plain_call(nr::GETPPID, [0; 4]).map_or(0, |pid| pid as Pid)
}

/// The process group of a process.
pub(crate) fn getpgid(pid: Pid) -> Result<Pid> {
    plain_call(nr::GETPGID, [pid as usize, 0, 0, 0]).map(|group| group as Pid)
}

/// Starts a session.
pub(crate) fn setsid() -> Result<()> {
    plain_call(nr::SETSID, [0; 4]).map(drop)
}

/// Which side of a fork one is on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ForkSide {
    /// The child.
    Child,
    /// The parent, with the child's id.
    Parent(Pid),
}

/// Forks.
pub(crate) fn fork() -> Result<ForkSide> {
    // SAFETY: without CLONE_VM the child works on a copy of the memory, as after fork(2); the
    // shim has one thread and no locks.
    let pid = unsafe { call(nr::CLONE, [sig::CHLD, 0, 0, 0, 0, 0]) }?;
    Ok(if pid == 0 { ForkSide::Child } else { ForkSide::Parent(pid as Pid) })
}

/// Sends a signal to a process, to a group (negative) or to all that may be signalled (-1).
pub(crate) fn kill(pid: Pid, signal: usize) -> Result<()> {
    plain_call(nr::KILL, [pid as usize, signal, 0, 0]).map(drop)
}

/// A handle on a process, close-on-exec.
pub(crate) fn pidfd_open(pid: Pid) -> Result<Fd> {
    plain_call(nr::PIDFD_OPEN, [pid as usize, 0, 0, 0]).map(|fd| fd as Fd)
}

/// Fails if the process behind a pidfd may not be signalled.
pub(crate) fn may_signal(pidfd: Fd) -> Result<()> {
    plain_call(nr::PIDFD_SEND_SIGNAL, [pidfd as usize, 0, 0, 0]).map(drop)
}

const WNOHANG: usize = 1;
const WALL: usize = 0x4000_0000;

/// Reaps one child that has ended, if any has.
pub(crate) fn reap() -> Result<Option<(Pid, i32)>> {
    let (pid, status) = wait(WNOHANG | WALL)?;
    Ok(if pid == 0 { None } else { Some((pid, status)) })
}

/// Waits until a child ends, and reaps it.
pub(crate) fn reap_next() -> Result<(Pid, i32)> {
    wait(WALL)
}

fn wait(options: usize) -> Result<(Pid, i32)> {
    const ANY: usize = (-1_isize) as usize;
    let mut status: i32 = 0;
    let out = ptr::from_mut(&mut status).expose_provenance();
    // SAFETY: the kernel writes one int; the usage pointer is null.
    let pid = unsafe { call(nr::WAIT4, [ANY, out, options, 0, 0, 0]) }?;
    Ok((pid as Pid, status))
}

/// The usage of the reaped children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu_ns: u64,
    /// The largest resident set of one of them.
    pub(crate) peak_rss_bytes: u64,
}

/// The usage of the reaped children, including their own reaped children.
pub(crate) fn children_usage() -> Usage {
    const RUSAGE_CHILDREN: usize = (-1_isize) as usize;
    // struct rusage: two timevals, ru_maxrss in KiB, thirteen more longs.
    let mut usage = [0_u64; 18];
    let out = usage.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one struct rusage, 18 words.
    let _always = unsafe { call(nr::GETRUSAGE, [RUSAGE_CHILDREN, out, 0, 0, 0, 0]) };
    let [user, user_micros, system, system_micros, maxrss_kib, ..] = usage;
    let seconds = user.saturating_add(system);
    let micros = user_micros.saturating_add(system_micros);
    Usage {
        cpu_ns: seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1000)),
        peak_rss_bytes: maxrss_kib.saturating_mul(1024),
    }
}

/// Lowers a limit of this process; what is already lower stays.
pub(crate) fn lower_limit(limit: Rlimit) -> Result<()> {
    let mut current = [0_u64; 2];
    let old = current.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one rlimit64, two words; the new limit is null.
    unsafe { call(nr::PRLIMIT64, [0, limit.resource as usize, 0, old, 0, 0]) }?;
    let hard = limit.hard.min(current[1]);
    let wanted = [limit.soft.min(hard), hard];
    let new = wanted.as_ptr().expose_provenance();
    // SAFETY: the kernel reads one rlimit64, two words; the old limit is null.
    unsafe { call(nr::PRLIMIT64, [0, limit.resource as usize, new, 0, 0, 0]) }.map(drop)
}

/// Executes the file behind a descriptor. Returns only on failure.
///
/// # Safety
///
/// Both tables end with a null pointer and the others point to strings with a NUL.
pub(crate) unsafe fn execute_fd(
    program: Fd,
    argv: *const *const u8,
    envp: *const *const u8,
) -> Errno {
    let empty = c"".as_ptr().expose_provenance();
    let (argv, envp) = (argv.expose_provenance(), envp.expose_provenance());
    // SAFETY: the caller promises the tables; the kernel copies them before the memory goes.
    let result =
        unsafe { call(nr::EXECVEAT, [program as usize, empty, argv, envp, AT_EMPTY_PATH, 0]) };
    result.err().unwrap_or(Errno::INVAL)
}

/// Executes the file at a path. Returns only on failure.
///
/// # Safety
///
/// The path is a string with a NUL; the tables are as for [`execute_fd`].
pub(crate) unsafe fn execute_path(
    path: *const u8,
    argv: *const *const u8,
    envp: *const *const u8,
) -> Errno {
    let path = path.expose_provenance();
    let (argv, envp) = (argv.expose_provenance(), envp.expose_provenance());
    // SAFETY: the caller promises path and tables; the kernel copies them before the memory goes.
    let result = unsafe { call(nr::EXECVE, [path, argv, envp, 0, 0, 0]) };
    result.err().unwrap_or(Errno::INVAL)
}
