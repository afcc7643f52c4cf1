//! Sockets of this process in the network of a sandbox. A shim enters that network, creates them, and exits.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::Pid;

use crate::channel::{Incoming, Timeout};
use crate::handshake::failed;
use crate::pidfd::has_ended;
use crate::protocol::plan::{NONE, new};
use crate::protocol::step::Step;
use crate::protocol::{Report, Request, SocketRequest, family, form, kind};
use crate::session::namespace_kind;
use crate::spawn::StartingShim;
use crate::start::{At, StartError};

/// The network of a sandbox, in which this process can have sockets.
#[derive(Debug)]
pub struct SandboxNetwork {
    user: OwnedFd,
    network: OwnedFd,
    /// The user and group that own it, if they differ from the caller's.
    owner: Option<(u32, u32)>,
}

/// TCP sockets in the network of a sandbox. None is bound or connected, and none blocks.
#[derive(Debug, Default)]
pub struct SandboxSockets {
    /// For IPv4.
    pub v4: Vec<OwnedFd>,
    /// For IPv6; empty where the kernel has none.
    pub v6: Vec<OwnedFd>,
}

impl SandboxNetwork {
    /// The network of a process of a sandbox. Fails if it is that of this process.
    pub(crate) fn of(process: Pid, pidfd: &OwnedFd, owner: Option<(u32, u32)>) -> io::Result<Self> {
        let path = format!("/proc/{}/ns/net", process.as_raw_nonzero());
        let network = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // As long as the process lives, its id cannot mean another one.
        if has_ended(pidfd) {
            return Err(Errno::SRCH.into());
        }
        let own = open("/proc/self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        if namespace_kind(network.as_fd()) != Some(new::NET) || is_same(&network, &own)? {
            return Err(Errno::INVAL.into());
        }
        let user = owner_of(&network)?;
        Ok(Self { user, network, owner })
    }

    /// Creates this many sockets of each family. Needs Linux 5.14.
    pub fn sockets(&self, count: u32) -> Result<SandboxSockets, StartError> {
        let shim = StartingShim::unasked()?;
        shim.ask(&Request { form: form::SOCKETS, ..Request::empty() }, &[])?;
        let owner = self.owner.unwrap_or((NONE, NONE));
        let request = SocketRequest { outer_uid: owner.0, outer_gid: owner.1, count, padding: 0 };
        let namespaces = [self.user.as_fd(), self.network.as_fd()];
        shim.channel().send(&request, &namespaces).at(Step::SendRequest)?;
        let own = own_socket().at(Step::MakeSockets)?;
        let own = network_cookie(&own).at(Step::MakeSockets)?;
        let mut sockets = SandboxSockets::default();
        loop {
            let (family, socket) = match shim.channel().receive(Timeout::Handshake) {
                Ok(Incoming::Message(Report { kind: kind::SOCKET, step, .. }, Some(socket))) => {
                    (step, socket)
                }
                Ok(Incoming::Message(report, _)) => return Err(failed(report.step, report.errno)),
                Ok(Incoming::Closed) => return sockets.if_complete(count),
                Ok(Incoming::Nothing) => return Err(error(Errno::TIMEDOUT)),
                Err(errno) => return Err(error(errno)),
            };
            // A socket of the host's network in place of one of the sandbox's would connect to the host.
            if network_cookie(&socket).at(Step::MakeSockets)? == own {
                return Err(error(Errno::PROTO));
            }
            match family {
                family::INET => sockets.v4.push(socket),
                family::INET6 => sockets.v6.push(socket),
                _ => return Err(error(Errno::PROTO)),
            }
        }
    }
}

impl SandboxSockets {
    fn if_complete(self, count: u32) -> Result<Self, StartError> {
        if u32::try_from(self.v4.len()) == Ok(count) { Ok(self) } else { Err(error(Errno::PIPE)) }
    }
}

const fn error(errno: Errno) -> StartError {
    StartError { step: Step::MakeSockets, errno }
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> rustix::io::Result<bool> {
    let (one, other) = (fstat(one)?, fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// The user namespace that owns a namespace.
fn owner_of(namespace: &OwnedFd) -> io::Result<OwnedFd> {
    // NS_GET_USERNS of linux/nsfs.h.
    const GET_OWNER: libc::Ioctl = 0xb701;
    // SAFETY: this request takes no argument, and the caller has seen that it is a namespace.
    let owner = unsafe { libc::ioctl(namespace.as_raw_fd(), GET_OWNER) };
    if owner < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this caller.
    Ok(unsafe { OwnedFd::from_raw_fd(owner) })
}

fn own_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// The number of the network namespace of a socket, which no other has while the machine is up.
fn network_cookie(socket: &OwnedFd) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut len = libc::socklen_t::try_from(size_of_val(&cookie)).unwrap_or_default();
    // SAFETY: the kernel writes no more than `len` bytes, the size of the number.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut len,
        )
    };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}
