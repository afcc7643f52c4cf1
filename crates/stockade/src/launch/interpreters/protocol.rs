//! The socket between the host and an interpreter that waits in a box.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recv, send, sendmsg, socketpair,
};

/// A word of an interpreter is shorter.
const WORD_BYTES_MAX: usize = 256;

/// Our end.
#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
    heard: Vec<u8>,
}

/// What an interpreter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// It can take a call.
    Ready,
    /// Its call has ended.
    Ended(ExitInfo),
    /// Nothing yet.
    Nothing,
    /// It has closed the channel, or talks nonsense.
    Gone,
}

/// How a call ended, in the words of its interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExitInfo {
    /// The exit code, or less than zero for a signal.
    pub(super) status: i32,
    /// Processor time, of children that were waited for too.
    pub(super) cpu: Duration,
    /// Of the process alone; zero if nobody asked.
    pub(super) own_cpu: Duration,
    pub(super) peak_rss_bytes: u64,
}

impl Channel {
    /// Our end, which does not block, and theirs.
    pub(super) fn pair() -> rustix::io::Result<(Self, OwnedFd)> {
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let (socket, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok((Self { socket, heard: Vec::new() }, theirs))
    }

    /// Sends a few bytes with descriptors.
    pub(super) fn send(&self, text: &[u8], rights: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        if !ancillary.push(SendAncillaryMessage::ScmRights(rights)) {
            return Err(Errno::NOBUFS);
        }
        let sent =
            sendmsg(&self.socket, &[IoSlice::new(text)], &mut ancillary, SendFlags::NOSIGNAL)?;
        if sent == text.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
    }

    /// Asks for the end of the call.
    pub(super) fn interrupt(&self) -> rustix::io::Result<()> {
        send(&self.socket, b"I", SendFlags::NOSIGNAL).map(drop)
    }

    /// Another handle on the same end.
    pub(super) fn handle(&self) -> std::io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// What was said since, without waiting.
    pub(super) fn receive(&mut self) -> Message {
        loop {
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let rest = self.heard.split_off(end.saturating_add(1));
                let word = std::mem::replace(&mut self.heard, rest);
                return std::str::from_utf8(&word).ok().and_then(read).unwrap_or(Message::Gone);
            }
            let mut bytes = [0; WORD_BYTES_MAX];
            match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Message::Gone,
                Ok((count, _)) => self.heard.extend(bytes.iter().take(count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Message::Nothing,
                Err(_) => return Message::Gone,
            }
            if self.heard.len() > WORD_BYTES_MAX && !self.heard.contains(&b'\n') {
                return Message::Gone;
            }
        }
    }

    /// Whether somebody has the other end.
    pub(super) fn is_open(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::empty())];
        matches!(poll(&mut polled, Some(&Timespec::default())), Ok(0))
    }

    /// The next word, if one comes in this time.
    pub(super) fn receive_within(&mut self, patience: Duration) -> Message {
        let word = self.receive();
        if word != Message::Nothing {
            return word;
        }
        let timeout = Timespec::try_from(patience).ok();
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) => Message::Nothing,
            Ok(_) | Err(_) => self.receive(),
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Reads a word: `R`, or `E` with a status, two times in microseconds and kibibytes.
fn read(word: &str) -> Option<Message> {
    let mut parts = word.split_ascii_whitespace();
    let kind = parts.next()?;
    let word = match kind {
        "R" => Message::Ready,
        "E" => {
            let status = parts.next()?.parse().ok().filter(|status| (-64..256).contains(status))?;
            let mut number = || parts.next()?.parse::<u64>().ok();
            let [cpu, own_cpu, peak_kib] = [number()?, number()?, number()?];
            Message::Ended(ExitInfo {
                status,
                cpu: Duration::from_micros(cpu),
                own_cpu: Duration::from_micros(own_cpu),
                peak_rss_bytes: peak_kib.saturating_mul(1024),
            })
        }
        _ => return None,
    };
    parts.next().is_none().then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_strictly() {
        let said = ExitInfo {
            status: -9,
            cpu: Duration::from_micros(10),
            own_cpu: Duration::ZERO,
            peak_rss_bytes: 2048,
        };
        assert_eq!(read("E -9 10 0 2\n"), Some(Message::Ended(said)));
        assert_eq!(read("R\n"), Some(Message::Ready));
        for nonsense in ["", "E", "E 0 0 0", "E 0 0 0 0 0", "E 999 0 0 0", "E 0 -1 0 0", "X", "R R"]
        {
            assert_eq!(read(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn who_has_left_is_not_there_whatever_was_said_before() {
        let (mut ours, theirs) = Channel::pair().unwrap();
        rustix::io::write(&theirs, b"R\n").unwrap();
        assert!(ours.is_open());
        drop(theirs);
        assert!(!ours.is_open());
        assert_eq!((ours.receive(), ours.receive()), (Message::Ready, Message::Gone));
    }

    #[test]
    fn words_come_whole_and_in_order_and_a_flood_is_no_word() {
        let (mut ours, theirs) = Channel::pair().unwrap();
        assert_eq!(ours.receive(), Message::Nothing);
        rustix::io::write(&theirs, b"R\nE 3 1 1").unwrap();
        assert_eq!((ours.receive(), ours.receive()), (Message::Ready, Message::Nothing));
        rustix::io::write(&theirs, b" 1\n").unwrap();
        assert!(matches!(ours.receive(), Message::Ended(ExitInfo { status: 3, .. })));
        rustix::io::write(&theirs, &[b'E'; 4000]).unwrap();
        assert_eq!(ours.receive(), Message::Gone);
    }
}
