//! Tells whether the host's mounts have changed since a template copied them.

use std::fs::File;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The host's mounts, watched from when this was made.
#[derive(Debug)]
pub struct MountWatch(File);

impl MountWatch {
    /// Watches from now on.
    pub fn begin() -> io::Result<Self> {
        Ok(Self(File::open("/proc/self/mountinfo")?))
    }

    /// Returns whether something was mounted or unmounted; an error counts as a change.
    pub fn saw_change(&self) -> bool {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(&self.0, PollFlags::PRI)];
        let quiet = matches!(poll(&mut polled, Some(&NOW)), Ok(0));
        !quiet
    }
}
