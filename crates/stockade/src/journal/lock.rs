//! The advisory lock on the journal, held for one look or one write at a time.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How long to wait for another process. Whoever can read the file can hold its lock, so that an
/// endless wait would let one stuck process stop every call in silence.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// A lock that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Lock(Arc<OwnedFd>);

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process held it for all of [`PATIENCE`].
    Busy,
    /// The file system refused.
    Failed(Errno),
}

impl Lock {
    /// Waits until no other process looks or writes.
    pub(super) fn exclusive(file: &Arc<OwnedFd>) -> Result<Self, LockError> {
        Self::wait_for(file, FlockOperation::NonBlockingLockExclusive)
    }

    /// Waits until no other process writes.
    pub(super) fn shared(file: &Arc<OwnedFd>) -> Result<Self, LockError> {
        Self::wait_for(file, FlockOperation::NonBlockingLockShared)
    }

    fn wait_for(file: &Arc<OwnedFd>, operation: FlockOperation) -> Result<Self, LockError> {
        let mut deadline = None;
        let mut pause = Duration::from_micros(20);
        loop {
            match flock(file, operation) {
                Ok(()) => return Ok(Self(Arc::clone(file))),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => {
                    let started = *deadline.get_or_insert_with(Instant::now);
                    if started.elapsed() > PATIENCE {
                        return Err(LockError::Busy);
                    }
                    std::thread::sleep(pause);
                    pause = pause.saturating_mul(2).min(Duration::from_millis(2));
                }
                Err(errno) => return Err(LockError::Failed(errno)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Unlocking an open descriptor has no error that could be acted on (flock(2)).
        flock(&self.0, FlockOperation::Unlock).ok();
    }
}
