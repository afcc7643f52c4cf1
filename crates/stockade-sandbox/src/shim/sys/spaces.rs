//! System calls for namespaces and ids.

use core::ffi::CStr;

use super::{Errno, Fd, ForkSide, Pid, Result, call, nr, plain_call, sig};

/// `CLONE_INTO_CGROUP` of `linux/sched.h`.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// `CLONE_NEWCGROUP` of `linux/sched.h`.
const CLONE_NEWCGROUP: usize = 0x0200_0000;

/// Forks into the namespaces that the flags name, and into the cgroup of version 2 if one is given.
pub(crate) fn fork_into(namespaces: u64, cgroup: Option<Fd>) -> Result<ForkSide> {
    let Some(cgroup) = cgroup else {
        // SAFETY: without CLONE_VM the child works on a copy of the memory, as after fork(2); the
        // shim has one thread and no locks.
        let pid = unsafe { call(nr::CLONE, [namespaces as usize | sig::CHLD, 0, 0, 0, 0, 0]) }?;
        return Ok(forked(pid));
    };
    // struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size,
    // tls, set_tid, set_tid_size, cgroup.
    let flags = namespaces | CLONE_INTO_CGROUP;
    let args = [flags, 0, 0, 0, sig::CHLD as u64, 0, 0, 0, 0, 0, cgroup as u64];
    let at = args.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the eleven words of clone_args; the child is a copy, as above.
    let pid = unsafe { call(nr::CLONE3, [at, size_of_val(&args), 0, 0, 0, 0]) }?;
    Ok(forked(pid))
}

/// Gives processes of this process's own pid namespace ids above this one.
pub(crate) fn begin_pids_after(pid: u32) -> Result<()> {
    // A number that begins with zeros is octal there.
    write_file(c"/proc/sys/kernel/ns_last_pid", Decimal::of(pid).text())
}

/// A number in decimal digits, without leading zeros.
pub(crate) struct Decimal([u8; Self::DIGITS]);

impl Decimal {
    const DIGITS: usize = 10;

    pub(crate) fn of(number: u32) -> Self {
        let mut digits = [b'0'; Self::DIGITS];
        let mut rest = number;
        for place in digits.iter_mut().rev() {
            *place = b'0'.wrapping_add((rest % 10) as u8);
            rest /= 10;
        }
        Self(digits)
    }

    pub(crate) fn text(&self) -> &[u8] {
        let last = Self::DIGITS.wrapping_sub(1);
        let first = self.0.iter().position(|digit| *digit != b'0').unwrap_or(last);
        self.0.get(first..).unwrap_or(&[])
    }
}

/// Goes on in a user namespace inside its own and in a copy of its mounts, which the kernel locks.
pub(crate) fn unshare_user_and_mounts() -> Result<()> {
    const BOTH: usize = 0x1000_0000 | 0x0002_0000;
    plain_call(nr::UNSHARE, [BOTH, 0, 0, 0]).map(drop)
}

/// Enters a namespace of this kind.
pub(crate) fn enter(namespace: Fd, kind: u64) -> Result<()> {
    plain_call(nr::SETNS, [namespace as usize, kind as usize, 0, 0]).map(drop)
}

fn forked(pid: usize) -> ForkSide {
    if pid == 0 { ForkSide::Child } else { ForkSide::Parent(pid as Pid) }
}

/// Makes the current cgroups the root of what this process sees of them.
pub(crate) fn unshare_cgroups() -> Result<()> {
    plain_call(nr::UNSHARE, [CLONE_NEWCGROUP, 0, 0, 0]).map(drop)
}

/// Becomes this user and group, without supplementary groups, and keeps the capabilities that are
/// permitted. For root only.
pub(crate) fn become_user(uid: u32, gid: u32) -> Result<()> {
    const PR_SET_KEEPCAPS: usize = 8;
    plain_call(nr::PRCTL, [PR_SET_KEEPCAPS, 1, 0, 0])?;
    leave_groups()?;
    take_on(uid, gid)
}

/// Leaves every supplementary group. For root only.
fn leave_groups() -> Result<()> {
    // A list of no groups: its pointer is not followed.
    plain_call(nr::SETGROUPS, [0; 4]).map(drop)
}

/// Takes this user and group on, wholly.
fn take_on(uid: u32, gid: u32) -> Result<()> {
    let (uid, gid) = (uid as usize, gid as usize);
    plain_call(nr::SETRESGID, [gid, gid, gid, 0])?;
    plain_call(nr::SETRESUID, [uid, uid, uid, 0]).map(drop)
}

/// Names the machine as this process sees it.
pub(crate) fn set_host_name(name: &CStr) -> Result<()> {
    let at = name.as_ptr().expose_provenance();
    // SAFETY: the kernel reads as many bytes as the string has.
    unsafe { call(nr::SETHOSTNAME, [at, name.count_bytes(), 0, 0, 0, 0]) }.map(drop)
}

/// Switches the loopback interface on.
pub(crate) fn raise_loopback() -> Result<()> {
    const AF_INET: usize = 2;
    const SOCK_DGRAM_CLOEXEC: usize = 0o2_000_002;
    const SIOCSIFFLAGS: usize = 0x8914;
    const IFF_UP: u16 = 1;
    // struct ifreq: the name, 16 bytes, then a union of 24.
    let mut request = [0_u8; 40];
    for (place, byte) in request.iter_mut().zip(*b"lo") {
        *place = byte;
    }
    for (place, byte) in request.iter_mut().skip(16).zip(IFF_UP.to_ne_bytes()) {
        *place = byte;
    }
    let socket = plain_call(nr::SOCKET, [AF_INET, SOCK_DGRAM_CLOEXEC, 0, 0])?;
    let at = request.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads one struct ifreq, 40 bytes, and may write it back.
    let raised = unsafe { call(nr::IOCTL, [socket, SIOCSIFFLAGS, at, 0, 0, 0]) };
    super::close(socket as Fd);
    raised.map(drop)
}

/// Lets programs listen on every port of this network namespace. It is the sandbox's own, so no port in
/// it is worth protecting.
pub(crate) fn open_low_ports() -> Result<()> {
    write_file(c"/proc/sys/net/ipv4/ip_unprivileged_port_start", b"0")
}

/// Writes a whole small file in one call, as the files of `/proc` want it.
pub(crate) fn write_file(path: &CStr, text: &[u8]) -> Result<()> {
    write_file_in(super::AT_FDCWD, path, text)
}

/// The same for a file in a folder.
pub(crate) fn write_file_in(dir: Fd, path: &CStr, text: &[u8]) -> Result<()> {
    let file = super::open_for_writing(dir, path)?;
    let written = super::write(file, text);
    super::close(file);
    match written {
        Ok(len) if len == text.len() => Ok(()),
        Ok(_) => Err(Errno::INVAL),
        Err(errno) => Err(errno),
    }
}
