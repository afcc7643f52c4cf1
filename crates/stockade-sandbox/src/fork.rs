//! A supervisor of its own for the calls of this process, so that what they leave running can stay when
//! the command that was typed has ended.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

/// Which of the two processes this is after [`fork_supervisor`]. They have a socket between them, which
/// closes with either.
#[derive(Debug)]
pub enum ForkSide {
    /// The one that was started, which waits for the other.
    FrontEnd {
        /// The supervisor.
        supervisor: Pid,
        /// Its socket.
        socket: OwnedFd,
    },
    /// The one that makes calls.
    Supervisor(OwnedFd),
}

/// Closes the descriptors that this process has inherited besides its streams, but for one, which is taken
/// over. A process that outlives its caller must not hold the caller's pipes open.
///
/// All that this process opens itself is closed on exec, so that a descriptor which is not was inherited.
pub fn take_inherited(wanted: Option<u8>) -> io::Result<Option<OwnedFd>> {
    let mut taken = None;
    let listed: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in listed.into_iter().filter(|fd| *fd > libc::STDERR_FILENO) {
        // SAFETY: this call takes no memory, and an unknown descriptor is an error.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        if flags == -1 || flags & libc::FD_CLOEXEC != 0 {
            continue;
        }
        // SAFETY: nothing in this process owns it: what is opened here is closed on exec.
        let inherited = unsafe { OwnedFd::from_raw_fd(fd) };
        if wanted.is_some_and(|wanted| i32::from(wanted) == fd) {
            fcntl_setfd(&inherited, FdFlags::CLOEXEC)?;
            taken = Some(inherited);
        }
    }
    Ok(taken)
}

/// Continues in two processes, the second a copy of this one. Fails where this process has more than one
/// thread: the others would be missing in the copy, with whatever they had locked. `SIGCHLD` gets its default
/// action, so that the first process learns the status of the second.
pub fn fork_supervisor() -> io::Result<ForkSide> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("this process has threads"));
    }
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // A caller that ignores SIGCHLD passes that on over exec, and the kernel would forget the status of the
    // copy (wait(2)).
    // SAFETY: SIG_DFL is no function of ours that would run in a handler, and the one thread of this process
    // is here.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    // SAFETY: this process has one thread, which was checked above and which runs this code, so that the
    // copy is whole.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => Ok(ForkSide::Supervisor(theirs)),
        1.. => {
            let supervisor = Pid::from_raw(pid).ok_or_else(io::Error::last_os_error)?;
            Ok(ForkSide::FrontEnd { supervisor, socket: ours })
        }
        _ => Err(io::Error::last_os_error()),
    }
}
