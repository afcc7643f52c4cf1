//! The host's end of the control socket, and the keeper at its other end.
//!
//! Closing it is an order too: a keeper whose socket closes kills its tree and ends.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::{Errno, Result};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send, sendmsg, socketpair,
};

use crate::keeper::boxed::{DESCRIPTORS_MAX, Plan};
use crate::keeper::step::Step;
use crate::keeper::wire::{Failure, KILL, Plain, Report, Request, slot};
use crate::keeper::{self, Keeper};
use crate::start::{At, StartError};

/// A keeper and the line to it.
#[derive(Debug)]
pub(crate) struct Line {
    // Closed first when dropped, so that the keeper ends before it is waited for.
    socket: OwnedFd,
    keeper: Keeper,
}

/// How long to wait for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until there is one.
    Endless,
    /// Not at all.
    None,
}

/// What came over the line.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A report, perhaps with a descriptor.
    Report(Report, Option<OwnedFd>),
    /// Nothing yet.
    Nothing,
    /// The keeper is gone.
    Closed,
}

impl Line {
    /// Starts a keeper and opens the line to it.
    pub(crate) fn to_new_keeper() -> std::result::Result<Self, StartError> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .at(Step::OpenControl)?;
        Ok(Self { socket, keeper: keeper::spawn(far.as_fd())? })
    }

    /// Sends the request with its descriptors, the scope last.
    pub(crate) fn send(
        &self,
        request: &Request,
        descriptors: &[BorrowedFd<'_>; slot::SCOPE],
        scope: Option<&OwnedFd>,
    ) -> Result<()> {
        let mut rights = descriptors.to_vec();
        rights.extend(scope.map(AsFd::as_fd));
        self.send_with(request, &rights)
    }

    /// Sends the plan of a box, after the request.
    pub(crate) fn send_plan(&self, plan: &Plan, descriptors: &[BorrowedFd<'_>]) -> Result<()> {
        self.send_with(plan, descriptors)
    }

    fn send_with(&self, message: &impl Plain, rights: &[BorrowedFd<'_>]) -> Result<()> {
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        if !ancillary.push(SendAncillaryMessage::ScmRights(rights)) {
            return Err(Errno::NOBUFS);
        }
        let bytes = [IoSlice::new(message.bytes())];
        sendmsg(&self.socket, &bytes, &mut ancillary, SendFlags::NOSIGNAL).map(drop)
    }

    /// Orders the keeper to kill the tree. A keeper that is gone has done so already.
    pub(crate) fn order_kill(&self) -> Result<()> {
        let order = Failure { step: KILL, errno: 0 };
        match send(&self.socket, order.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            // A full queue holds such an order already.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Takes the next report.
    pub(crate) fn hear(&self, patience: Patience) -> Result<Heard> {
        let flags = RecvFlags::CMSG_CLOEXEC
            | match patience {
                Patience::Endless => RecvFlags::empty(),
                Patience::None => RecvFlags::DONTWAIT,
            };
        let mut report = Report::default();
        loop {
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut room);
            let mut bytes = [IoSliceMut::new(report.bytes_mut())];
            match recvmsg(&self.socket, &mut bytes, &mut ancillary, flags) {
                // A keeper that ends with an unread order resets the line once; its report waits
                // behind that.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(Errno::AGAIN) => return Ok(Heard::Nothing),
                Err(errno) => return Err(errno),
                Ok(message) if message.bytes == 0 => return Ok(Heard::Closed),
                Ok(message) if message.bytes != size_of::<Report>() => return Err(Errno::PROTO),
                Ok(_) => return Ok(Heard::Report(report, first_descriptor(&mut ancillary))),
            }
        }
    }

    /// The descriptor that is readable when there is something to hear.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The keeper's process id.
    pub(crate) fn keeper_id(&self) -> u32 {
        self.keeper.id()
    }
}

fn first_descriptor(ancillary: &mut RecvAncillaryBuffer<'_>) -> Option<OwnedFd> {
    ancillary.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut rights) = message { rights.next() } else { None }
    })
}
