//! The host's end of a socket to a keeper, or to a box.
//!
//! Closing it is an order too: who listens at the other end kills its tree and ends.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, Result};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send,
    sendmsg, socketpair,
};

use crate::keeper::boxed::DESCRIPTORS_MAX;
use crate::keeper::wire::{Failure, KILL, Plain, Report};

/// Our end of a socket.
#[derive(Debug)]
pub(crate) struct Line(OwnedFd);

/// How long to wait for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until there is one.
    Endless,
    /// As long as a box takes to be made, and a program to be executed, on the busiest of machines: who
    /// says nothing for longer was stopped.
    Generous,
    /// Not at all.
    None,
}

/// What came over the line.
#[derive(Debug)]
pub(crate) enum Heard<T> {
    /// A message, perhaps with a descriptor.
    Message(T, Option<OwnedFd>),
    /// Nothing yet.
    Nothing,
    /// The other end is closed.
    Closed,
}

/// How long is waited for who has never taken as long: they were stopped. Tests wait for it.
pub(crate) const GENEROUS: Timespec =
    Timespec { tv_sec: if cfg!(feature = "sabotage") { 10 } else { 30 }, tv_nsec: 0 };

impl Line {
    /// Our end and theirs.
    pub(crate) fn pair() -> Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self(ours), theirs))
    }

    /// The same for a test that plays the other.
    #[cfg(test)]
    pub(crate) fn both() -> Result<(Self, Self)> {
        Self::pair().map(|(ours, theirs)| (ours, Self(theirs)))
    }

    /// Sends a message with its descriptors.
    pub(crate) fn send(&self, message: &impl Plain, rights: &[BorrowedFd<'_>]) -> Result<()> {
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        if !rights.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(rights)) {
            return Err(Errno::NOBUFS);
        }
        let bytes = [IoSlice::new(message.bytes())];
        sendmsg(&self.0, &bytes, &mut ancillary, SendFlags::NOSIGNAL).map(drop)
    }

    /// Orders the death of the tree. Who is gone has seen to it already.
    pub(crate) fn order_kill(&self) -> Result<()> {
        let order = Failure { step: KILL, errno: 0 };
        match send(&self.0, order.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            // A full queue holds such an order already.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Whether somebody has said something, or has gone.
    pub(crate) fn has_news(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&now)) != Ok(0)
    }

    /// Takes the next report.
    pub(crate) fn hear(&self, patience: Patience) -> Result<Heard<Report>> {
        self.hear_as(Report::default(), patience)
    }

    /// Takes the next message of a kind.
    pub(crate) fn hear_as<T: Plain>(&self, mut into: T, patience: Patience) -> Result<Heard<T>> {
        let flags = RecvFlags::CMSG_CLOEXEC
            | match patience {
                Patience::Endless => RecvFlags::empty(),
                Patience::Generous | Patience::None => RecvFlags::DONTWAIT,
            };
        loop {
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut room);
            let mut bytes = [IoSliceMut::new(into.bytes_mut())];
            match recvmsg(&self.0, &mut bytes, &mut ancillary, flags) {
                // One that ends with an unread order resets the line once; its report waits
                // behind that.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(Errno::AGAIN) if patience == Patience::Generous => {
                    let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
                    match poll(&mut polled, Some(&GENEROUS)) {
                        Ok(0) => return Ok(Heard::Nothing),
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(errno) => return Err(errno),
                    }
                }
                Err(Errno::AGAIN) => return Ok(Heard::Nothing),
                Err(errno) => return Err(errno),
                Ok(message) if message.bytes == 0 => return Ok(Heard::Closed),
                // Something came along for which this process has no descriptor left.
                Ok(message) if message.flags.contains(ReturnFlags::CTRUNC) => {
                    return Err(Errno::MFILE);
                }
                Ok(message) if message.bytes != size_of::<T>() => return Err(Errno::PROTO),
                Ok(_) => return Ok(Heard::Message(into, first_descriptor(&mut ancillary))),
            }
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn first_descriptor(ancillary: &mut RecvAncillaryBuffer<'_>) -> Option<OwnedFd> {
    ancillary.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut rights) = message { rights.next() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_lost_its_descriptors_is_told_as_a_want_of_them() {
        let (near, far) = Line::both().unwrap();
        let too_many = [near.as_fd(); DESCRIPTORS_MAX];
        far.send(&Failure::default(), &too_many).unwrap();
        let heard = near.hear_as(Failure::default(), Patience::None);
        assert_eq!(heard.map(drop), Err(Errno::MFILE));
    }
}
