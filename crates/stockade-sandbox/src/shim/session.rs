//! What the calls of one session share: namespaces and a folder in memory, held by descriptors alone.

use super::received_plan::ReceivedPlan;
use super::run::{At, StepError};
use super::sys::mounts::{self, Depth};
use super::sys::{self, AT_FDCWD, Errno, Fd, ForkSide};
use crate::protocol::plan::{new, option, session};
use crate::protocol::step::Step;
use crate::protocol::{Failure, Report, kind};

/// The namespaces of this process, in the order of [`session`].
pub(crate) struct Namespaces([Fd; session::COUNT]);

impl Namespaces {
    /// Opens them while the host's `/proc` is there.
    pub(crate) fn open_in_child() -> sys::Result<Self> {
        let mut fds = [-1; session::COUNT];
        fds[session::USER] = sys::open(AT_FDCWD, c"/proc/self/ns/user")?;
        fds[session::NETWORK] = sys::open(AT_FDCWD, c"/proc/self/ns/net")?;
        fds[session::IPC] = sys::open(AT_FDCWD, c"/proc/self/ns/ipc")?;
        fds[session::MOUNTS] = sys::open(AT_FDCWD, c"/proc/self/ns/mnt")?;
        Ok(Self(fds))
    }

    /// Sends them to the host, which keeps the session by them.
    pub(crate) fn send_in_child(&self, channel: Fd) -> sys::Result<()> {
        for (step, fd) in (0..).zip(self.0) {
            let namespace = Report { kind: kind::NAMESPACE, step, ..Report::default() };
            sys::send(channel, &namespace, Some(fd))?;
        }
        Ok(())
    }
}

/// Enters the session of a call, before init is cloned: init has a user namespace inside that of the
/// session, and so no rights over what it shares with other calls.
pub(crate) fn enter(plan: &mut ReceivedPlan) -> Result<(), StepError> {
    let Some(fds) = plan.session().at(Step::ReadRequest)? else { return Ok(()) };
    plan.session_folder = take_folder(&fds).at(Step::EnterSession)?;
    sys::spaces::enter(fds[session::USER], new::USER).at(Step::EnterSession)?;
    if plan.has(option::SESSION_NETWORK) {
        sys::spaces::enter(fds[session::NETWORK], new::NET).at(Step::EnterSession)?;
    }
    sys::spaces::enter(fds[session::IPC], new::IPC).at(Step::EnterSession)
}

/// Takes a copy of the mount of the folder. Only a process in its mount namespace can, and an ordinary
/// user cannot return from there, so another process does it.
fn take_folder(fds: &[Fd; session::COUNT]) -> sys::Result<Fd> {
    let [ours, theirs] = sys::socket_pair()?;
    if let ForkSide::Child = sys::fork()? {
        let taken = copy_folder_in_child(fds);
        let errno = taken.as_ref().err().map_or(0, |errno| errno.0);
        let told = sys::send(theirs, &Failure { step: 0, errno }, taken.ok());
        sys::exit(i32::from(told.is_err()));
    }
    sys::close(theirs);
    let (mut word, mut received) = (Failure::default(), [-1; 2]);
    let heard = loop {
        match sys::receive(ours, &mut word, &mut received) {
            Err(Errno::INTR) => {}
            other => break other,
        }
    };
    sys::close(ours);
    match (heard?, word.errno) {
        ((_, 1), 0) => Ok(received[0]),
        (_, 0) => Err(Errno::BADMSG),
        (_, errno) => Err(Errno(errno)),
    }
}

fn copy_folder_in_child(fds: &[Fd; session::COUNT]) -> sys::Result<Fd> {
    sys::spaces::enter(fds[session::USER], new::USER)?;
    sys::spaces::enter(fds[session::MOUNTS], new::MOUNT)?;
    mounts::clone_mount(mounts::handle(session::FOLDER)?, Depth::One)
}
