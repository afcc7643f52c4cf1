//! What the calls of one session share: a network with its loopback, System V IPC, and a folder in
//! memory.
//!
//! A session is descriptors and nothing else. No process is in it, and its folder has no path on the
//! host. A call of it has a user namespace inside that of the session, so that it has no rights over
//! what it shares, and process ids and mounts of its own.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::fstat;
use rustix::io::Errno;

use crate::channel::{Channel, Incoming, Timeout};
use crate::handshake::failed;
use crate::jail::encode::{PerBoxFds, encode_session};
use crate::mechanisms::identity::Identity;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{new, session};
use crate::protocol::step::Step;
use crate::protocol::{Report, kind};
use crate::spawn::StartingShim;
use crate::start::{At, StartError};

/// The namespaces and the folder that the calls of a session share. Dropping it ends neither, while a
/// call has them.
#[derive(Debug)]
pub struct SessionSpace {
    fds: [OwnedFd; session::COUNT],
}

/// How much the folder of a session can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderLimits {
    /// In bytes.
    pub bytes_max: u64,
    /// Files and folders.
    pub files_max: u64,
}

/// A call of a session.
#[derive(Debug, Clone)]
pub struct InSession {
    /// What its sandbox shares with other calls.
    pub space: Arc<SessionSpace>,
    /// The process ids of the sandbox begin above this, where the kernel allows that.
    pub pid_base: u32,
    /// Whether processes that the program leaves running stay, or end with it.
    pub leftovers: Leftovers,
}

/// What becomes of processes that a program leaves running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// They are killed.
    End,
    /// They go on: [`Running::keep_left`](crate::Running::keep_left).
    Stay,
}

impl SessionSpace {
    /// How many descriptors a session is made of.
    pub const DESCRIPTORS: usize = session::COUNT;

    /// Makes a session of the calling user.
    pub fn create(limits: FolderLimits) -> Result<Self, StartError> {
        let identity = Identity::of_caller();
        let plan = encode_session(identity, limits).at(Step::PrepareBox)?;
        let (channel, far) = Channel::pair().at(Step::OpenControl)?;
        let fds = PerBoxFds {
            channel: Some(far.as_fd()),
            exec_channel: None,
            cgroup: None,
            supervisor: None,
            creation_log: None,
        };
        let _shim = StartingShim::begin()?.make_sandbox(&plan, &fds)?;
        drop(far);
        let mut received = Vec::with_capacity(session::COUNT);
        while received.len() < session::COUNT {
            received.push(receive(&channel)?);
        }
        Self::from_descriptors(received).at(Step::EnterSession)
    }

    /// A session by the descriptors of another process of this user. Fails if they are anything else than
    /// namespaces.
    pub fn from_descriptors(descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let fds: [OwnedFd; session::COUNT] =
            descriptors.try_into().map_err(|_others: Vec<_>| Errno::INVAL)?;
        let kinds = [
            (session::USER, new::USER),
            (session::NETWORK, new::NET),
            (session::IPC, new::IPC),
            (session::MOUNTS, new::MOUNT),
        ];
        let is_right = |(at, kind)| {
            fds.get(at).and_then(|fd: &OwnedFd| namespace_kind(fd.as_fd())) == Some(kind)
        };
        if kinds.into_iter().all(is_right) { Ok(Self { fds }) } else { Err(Errno::INVAL.into()) }
    }

    /// Its descriptors, for another process of this user.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; session::COUNT] {
        self.fds.each_ref().map(AsFd::as_fd)
    }

    /// The network and IPC namespaces as `/proc` names them. One that cannot be looked at has a name that
    /// no namespace has.
    pub(crate) fn shared(&self) -> [(Mechanism, CString); 2] {
        let name = |at: usize, kind: &str| {
            let inode =
                self.fds.get(at).and_then(|fd| fstat(fd).ok()).map_or(0, |stat| stat.st_ino);
            CString::new(format!("{kind}:[{inode}]")).unwrap_or_default()
        };
        [
            (Mechanism::NetworkNamespace, name(session::NETWORK, "net")),
            (Mechanism::IpcNamespace, name(session::IPC, "ipc")),
        ]
    }

    /// The number of its network namespace, which no other session has.
    pub fn id(&self) -> io::Result<u64> {
        let network = self.fds.get(session::NETWORK).ok_or(Errno::BADF)?;
        Ok(fstat(network)?.st_ino)
    }
}

/// The kind of the namespace behind a descriptor, as clone(2) names it; `None` if it is none.
pub(crate) fn namespace_kind(fd: BorrowedFd<'_>) -> Option<u64> {
    // NS_GET_NSTYPE of linux/nsfs.h.
    const GET_KIND: libc::Ioctl = 0xb703;
    // SAFETY: this request takes no argument, and files that do not know it refuse it.
    let kind = unsafe { libc::ioctl(fd.as_raw_fd(), GET_KIND) };
    u64::try_from(kind).ok()
}

fn receive(channel: &Channel) -> Result<OwnedFd, StartError> {
    match channel.receive(Timeout::Handshake).at(Step::AwaitInit)? {
        Incoming::Message(Report { kind: kind::NAMESPACE, .. }, Some(fd)) => Ok(fd),
        Incoming::Message(report, _) => Err(failed(report.step, report.errno)),
        Incoming::Nothing => Err(StartError { step: Step::AwaitInit, errno: Errno::TIMEDOUT }),
        Incoming::Closed => Err(StartError { step: Step::AwaitInit, errno: Errno::PIPE }),
    }
}
