//! The host's end of a socket to a shim, or to a sandbox.
//!
//! Closing it is an order too: the peer kills its tree and exits.

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

use crate::protocol::plan::DESCRIPTORS_MAX;
use crate::protocol::{Failure, KILL, Plain, Report};

/// Our end of a socket.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// The time to wait for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Until there is one.
    Infinite,
    /// As long as making a sandbox and executing a program take on the busiest of machines. A peer
    /// that stays silent for longer has been stopped.
    Handshake,
    /// Not at all.
    None,
}

/// The result of receiving.
#[derive(Debug)]
pub(crate) enum Incoming<T> {
    /// A message, perhaps with a descriptor.
    Message(T, Option<OwnedFd>),
    /// Nothing yet.
    Nothing,
    /// The other end is closed.
    Closed,
}

/// Handshake timeout. A peer that stays silent this long has been stopped. Shorter in tests.
pub(crate) const HANDSHAKE_TIMEOUT: Timespec =
    Timespec { tv_sec: if cfg!(feature = "fault-injection") { 10 } else { 30 }, tv_nsec: 0 };

impl Channel {
    /// Our end and theirs.
    pub(crate) fn pair() -> Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self(ours), theirs))
    }

    /// The same for a test that plays the other.
    #[cfg(any(test, feature = "fuzzing"))]
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

    /// Orders the shim to kill the tree. A peer that has exited has already done so.
    pub(crate) fn order_kill(&self) -> Result<()> {
        let order = Failure { step: KILL, errno: 0 };
        match send(&self.0, order.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            // A full queue holds such an order already.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Returns whether a message or the end of the peer is waiting.
    pub(crate) fn is_readable(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&now)) != Ok(0)
    }

    /// Takes the next report.
    pub(crate) fn receive(&self, patience: Timeout) -> Result<Incoming<Report>> {
        self.receive_as(Report::default(), patience)
    }

    /// Takes the next message of a kind.
    pub(crate) fn receive_as<T: Plain>(
        &self,
        mut into: T,
        patience: Timeout,
    ) -> Result<Incoming<T>> {
        let flags = RecvFlags::CMSG_CLOEXEC
            | match patience {
                Timeout::Infinite => RecvFlags::empty(),
                Timeout::Handshake | Timeout::None => RecvFlags::DONTWAIT,
            };
        loop {
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut room);
            let mut bytes = [IoSliceMut::new(into.bytes_mut())];
            match recvmsg(&self.0, &mut bytes, &mut ancillary, flags) {
                // A peer that exits with an unread order resets the connection once; its report
                // waits behind that.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(Errno::AGAIN) if patience == Timeout::Handshake => {
                    let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
                    match poll(&mut polled, Some(&HANDSHAKE_TIMEOUT)) {
                        Ok(0) => return Ok(Incoming::Nothing),
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(errno) => return Err(errno),
                    }
                }
                Err(Errno::AGAIN) => return Ok(Incoming::Nothing),
                Err(errno) => return Err(errno),
                Ok(message) if message.bytes == 0 => return Ok(Incoming::Closed),
                // Something came along for which this process has no descriptor left.
                Ok(message) if message.flags.contains(ReturnFlags::CTRUNC) => {
                    return Err(Errno::MFILE);
                }
                Ok(message) if message.bytes != size_of::<T>() => return Err(Errno::PROTO),
                Ok(_) => return Ok(Incoming::Message(into, first_descriptor(&mut ancillary))),
            }
        }
    }
}

impl AsFd for Channel {
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
        let (near, far) = Channel::both().unwrap();
        let too_many = [near.as_fd(); DESCRIPTORS_MAX];
        far.send(&Failure::default(), &too_many).unwrap();
        let heard = near.receive_as(Failure::default(), Timeout::None);
        assert_eq!(heard.map(drop), Err(Errno::MFILE));
    }
}
