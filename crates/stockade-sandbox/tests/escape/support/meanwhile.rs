//! What the harness does while an attacker runs: an accomplice outside, or a hand-over.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Something that is tried again and again until it succeeds, or the scene is over.
#[derive(Debug)]
pub(crate) struct Meanwhile {
    over: Arc<AtomicBool>,
    happened: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meanwhile {
    pub(crate) fn new(mut once: impl FnMut() -> bool + Send + 'static) -> Self {
        let (over, happened) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (end, success) = (Arc::clone(&over), Arc::clone(&happened));
        let thread = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                if once() {
                    success.store(true, Ordering::Relaxed);
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
        });
        Self { over, happened, thread: Some(thread) }
    }

    /// Hands a descriptor over to the first who connects to a socket.
    pub(crate) fn hand_over(listener: UnixListener, what: OwnedFd) -> Self {
        listener.set_nonblocking(true).unwrap();
        Self::new(move || listener.accept().is_ok_and(|(stream, _)| send(&stream, &what)))
    }

    /// Whether it has succeeded; what was seen a moment ago may not be written down yet.
    pub(crate) fn has_happened(&self) -> bool {
        within(Duration::from_millis(300), || self.happened.load(Ordering::Relaxed))
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn send(stream: &UnixStream, what: &OwnedFd) -> bool {
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    let descriptors = [what.as_fd()];
    let fits = ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let bytes = [IoSlice::new(b"x")];
    fits && sendmsg(stream, &bytes, &mut ancillary, SendFlags::NOSIGNAL).is_ok()
}

/// How long a test waits for what has to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether something comes true in time.
pub(crate) fn within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() > time {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Takes the descriptor that somebody at a socket hands over.
pub(crate) fn take(socket: &Path) -> std::io::Result<OwnedFd> {
    let stream = UnixStream::connect(socket)?;
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(&stream, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut rights = ancillary.drain().filter_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut rights) = message { rights.next() } else { None }
    });
    rights.next().ok_or_else(|| std::io::Error::other("nothing was handed over"))
}
