//! Who is at the other end of a local socket, and whether a sandbox holds them. Only the kernel is asked.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{pidfd, proc};

/// The user at the other end, as this process sees users.
///
/// The process id that the kernel has beside it is 0 where this process cannot see the other one (unix(7)),
/// which is no process id for `rustix`.
pub fn peer_uid(socket: impl AsFd) -> io::Result<u32> {
    Ok(credentials(socket)?.uid)
}

/// How the process at the other end differs from this one in what holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerDifference {
    /// Its mounts, or its root, are others.
    Mounts,
    /// It has another number of filters of system calls.
    Filters,
    /// One of the two cannot gain privileges, which is so in sandboxes and a few services.
    NoNewPrivileges,
}

/// How the process at the other end is held otherwise than this one, as a process in a sandbox is; none if
/// it is not.
///
/// The process is the one that has connected, or, as seen from there, the one that has called `listen` last.
/// An error means that nothing is known of it, as of one that has ended meanwhile: it has to be refused.
///
/// Without privileges the namespaces of a process cannot be read if it is not dumpable, as the command line
/// is not. Mounts are told by the id of the first one instead, which everybody can read, and which no two
/// mount namespaces share.
pub fn peer_difference(socket: impl AsFd) -> io::Result<Option<PeerDifference>> {
    let peer = peer_process(socket)?;
    let number = pidfd::number_in_proc(&peer)?;
    let there = Facts::of(&format!("/proc/{}", number.as_raw_nonzero()))?;
    // The number was not given to another process meanwhile.
    if pidfd::has_ended(&peer) {
        return Err(Errno::SRCH.into());
    }
    Ok(there.difference(&Facts::of("/proc/self")?))
}

/// The process at the other end.
///
/// Before Linux 6.5 there is its number only. Where that process has ended, and the number was given to
/// another one before this call, it is the other one.
fn peer_process(socket: impl AsFd) -> io::Result<OwnedFd> {
    /// `asm-generic/socket.h`; the `libc` crate does not have it.
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut pidfd: libc::c_int = -1;
    let mut length =
        libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    // SAFETY: `pidfd` and `length` live to the end of this call, and the kernel writes no more than `length`
    // bytes, which is the size of `pidfd`; any bytes are a value of it.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut pidfd).cast(),
            &raw mut length,
        )
    };
    if done == 0 {
        // SAFETY: the kernel has made this descriptor for the caller, and nothing else owns it.
        return Ok(unsafe { OwnedFd::from_raw_fd(pidfd) });
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOPROTOOPT) {
        return Err(error);
    }
    let peer = Pid::from_raw(credentials(socket)?.pid).ok_or(Errno::SRCH)?;
    Ok(pidfd_open(peer, PidfdFlags::empty())?)
}

/// What `/proc` tells everybody of how a process is confined.
#[derive(Debug)]
struct Facts {
    /// The id of the first mount beneath its root.
    first_mount: u64,
    no_new_privileges: bool,
    filters: u32,
}

impl Facts {
    fn of(process: &str) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(process, flags, Mode::empty())?;
        let file =
            |name: &str| openat(&folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let status = proc::read_from(file("status")?)?;
        let mut mounts = [0; 32];
        let length = rustix::io::read(file("mountinfo")?, &mut mounts)?;
        Self::parse(&status, mounts.get(..length).unwrap_or_default())
            .ok_or_else(|| io::Error::other("its status is not as expected"))
    }

    fn parse(status: &str, mounts: &[u8]) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = status.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(field, _)| *field == name).map(|(_, value)| value.trim())
        };
        // Linux counts them since 5.9.
        let counted = field("Seccomp_filters").map_or(Some(1), |count| count.parse().ok())?;
        let first = mounts.split(|byte| *byte == b' ').next()?;
        Some(Self {
            first_mount: str::from_utf8(first).ok()?.parse().ok()?,
            no_new_privileges: field("NoNewPrivs")? == "1",
            filters: if field("Seccomp")? == "2" { counted } else { 0 },
        })
    }

    fn difference(&self, other: &Self) -> Option<PeerDifference> {
        if self.first_mount != other.first_mount {
            Some(PeerDifference::Mounts)
        } else if self.filters != other.filters {
            Some(PeerDifference::Filters)
        } else if self.no_new_privileges != other.no_new_privileges {
            Some(PeerDifference::NoNewPrivileges)
        } else {
            None
        }
    }
}

fn credentials(socket: impl AsFd) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut length =
        libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
    // SAFETY: `peer` and `length` live to the end of this call, and the kernel writes no more than `length`
    // bytes, which is the size of `peer`; any bytes are a value of it.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(peer) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn facts(status: &str, mounts: &str) -> Option<Facts> {
        Facts::parse(status, mounts.as_bytes())
    }

    #[test]
    fn a_process_does_not_differ_from_itself() {
        let (one, other) = UnixStream::pair().unwrap();
        assert_eq!(peer_difference(&one).unwrap(), None);
        assert_eq!(peer_uid(&other).unwrap(), rustix::process::geteuid().as_raw());
    }

    #[test]
    fn what_differs_is_named() {
        let free = facts("Name:\tx\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n", "22 27 x");
        let free = free.unwrap();
        for (status, mounts, expected) in [
            ("NoNewPrivs: 0\nSeccomp: 0\nSeccomp_filters: 0\n", "22 2", None),
            ("NoNewPrivs: 0\nSeccomp: 0\n", "22 2", None),
            ("NoNewPrivs: 0\nSeccomp: 0\n", "221 2", Some(PeerDifference::Mounts)),
            ("NoNewPrivs: 1\nSeccomp: 0\n", "22 2", Some(PeerDifference::NoNewPrivileges)),
            ("NoNewPrivs: 1\nSeccomp: 2\n", "22 2", Some(PeerDifference::Filters)),
            (
                "NoNewPrivs: 0\nSeccomp: 2\nSeccomp_filters: 1\n",
                "22 2",
                Some(PeerDifference::Filters),
            ),
        ] {
            let other = facts(status, mounts).unwrap();
            assert_eq!(other.difference(&free), expected, "{status} {mounts}");
            assert_eq!(other.difference(&other), None);
        }
        // Nothing is guessed.
        for (status, mounts) in [
            ("", "22 2"),
            ("NoNewPrivs: 0\n", "22 2"),
            ("NoNewPrivs: 0\nSeccomp: 0\n", ""),
            ("NoNewPrivs: 0\nSeccomp: 2\nSeccomp_filters: x\n", "22 2"),
        ] {
            assert!(facts(status, mounts).is_none(), "{status} {mounts}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any process will do")]
    fn of_a_process_that_has_ended_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let script =
            "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n";
        let mut python = std::process::Command::new("python3");
        assert!(python.args(["-c", script]).arg(&path).status().unwrap().success());
        let (line, _) = listener.accept().unwrap();
        assert!(peer_difference(&line).is_err());
    }
}
