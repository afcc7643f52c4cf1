//! The signal for a relay to stop.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// An event that wakes the relay and stays set.
#[derive(Debug)]
pub(super) struct StopSignal(OwnedFd);

impl StopSignal {
    pub(super) fn new() -> rustix::io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Sets it.
    pub(super) fn set(&self) {
        // This fails only if the counter is full, and then it is set.
        let _set = rustix::io::write(&self.0, &1_u64.to_ne_bytes()).is_ok();
    }

    /// Returns whether it is set.
    pub(super) fn is_set(&self) -> bool {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&NOW)), Ok(1..))
    }
}

impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
