//! Brings written entries to the disk: at once, or within a window by a thread of its own.
//!
//! An error is kept for good: after a failed `fdatasync` the kernel takes the pages for clean, so
//! that a later success would prove nothing about the entries before it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fdatasync, fsync, open};
use rustix::io::{Errno, retry_on_intr};
use stockade_policy::Durability;

/// What brings the entries of one journal to the disk.
#[derive(Debug)]
pub(super) struct Flusher {
    durability: Durability,
    shared: Arc<FlushState>,
}

#[derive(Debug)]
struct FlushState {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What was written and not yet flushed, and by when it must be.
    due: Option<(WrittenFile, Instant)>,
    failed: Option<Errno>,
    thread_runs: bool,
    closed: bool,
}

/// A file with entries that may not be on the disk.
#[derive(Debug, Clone)]
pub(super) struct WrittenFile {
    pub(super) file: Arc<OwnedFd>,
    /// The folder, if the file's name in it is new as well.
    pub(super) new_in: Option<PathBuf>,
}

impl Flusher {
    pub(super) fn new(durability: Durability) -> Self {
        let shared = FlushState { state: Mutex::new(State::default()), changed: Condvar::new() };
        Self { durability, shared: Arc::new(shared) }
    }

    /// The error of an earlier flush.
    pub(super) fn check(&self) -> Result<(), Errno> {
        self.shared.lock().failed.map_or(Ok(()), Err)
    }

    /// Flushes now or sees to it that it happens in time.
    pub(super) fn note(&self, written: &WrittenFile) -> Result<(), Errno> {
        match self.durability {
            Durability::Each => {
                let flushed = flush(written);
                self.shared.keep(flushed)
            }
            Durability::Batched { window } => self.note_batched(written, window),
        }
    }

    /// Flushes this and what is due, now. The thread may have taken what is due and not be done
    /// with it, so that nothing due does not mean nothing to flush.
    pub(super) fn flush(&self, written: &WrittenFile) -> Result<(), Errno> {
        let due = self.shared.lock().due.take();
        let flushed = due.map_or(Ok(()), |(earlier, _)| flush(&earlier));
        self.shared.keep(flushed.and_then(|()| flush(written)))?;
        self.check()
    }

    fn note_batched(&self, written: &WrittenFile, window: Duration) -> Result<(), Errno> {
        let mut state = self.shared.lock();
        match &state.due {
            Some((earlier, _)) if Arc::ptr_eq(&earlier.file, &written.file) => {}
            // The file was replaced, and what was written to the old one is due as well.
            Some(_) => {
                drop(state);
                return self.flush(written);
            }
            None => {
                let now = Instant::now();
                state.due = Some((written.clone(), now.checked_add(window).unwrap_or(now)));
                self.shared.changed.notify_all();
            }
        }
        self.start_thread(state)
    }

    /// Starts the thread that flushes in time, if it does not run.
    fn start_thread(&self, mut state: MutexGuard<'_, State>) -> Result<(), Errno> {
        let Some((written, _)) = state.due.clone().filter(|_| !state.thread_runs) else {
            return Ok(());
        };
        let shared = Arc::clone(&self.shared);
        let started = std::thread::Builder::new()
            .name("journal-flush".to_owned())
            .spawn(move || shared.flush_in_time());
        state.thread_runs = started.is_ok();
        drop(state);
        // Without a thread nothing would keep the window, so that the caller waits instead.
        if started.is_ok() { Ok(()) } else { self.flush(&written) }
    }
}

impl Drop for Flusher {
    /// Lets the thread flush what is due, in time, and end. It is not waited for.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl FlushState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, flushed: Result<(), Errno>) -> Result<(), Errno> {
        if let Err(errno) = flushed {
            self.lock().failed.get_or_insert(errno);
        }
        flushed
    }

    fn flush_in_time(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let left = state.due.as_ref().map(|(_, due)| due.saturating_duration_since(now));
            state = match left {
                None if state.closed => return,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left > Duration::ZERO => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    let due = state.due.take();
                    drop(state);
                    if let Some((written, _)) = due {
                        self.keep(flush(&written)).ok();
                    }
                    self.lock()
                }
            };
        }
    }
}

fn flush(written: &WrittenFile) -> Result<(), Errno> {
    retry_on_intr(|| fdatasync(&written.file))?;
    // fsync(2): the name of a new file is in its folder, which needs a flush of its own.
    written.new_in.as_deref().map_or(Ok(()), flush_folder)
}

fn flush_folder(folder: &Path) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = retry_on_intr(|| open(folder, flags, Mode::empty()))?;
    retry_on_intr(|| fsync(&folder))
}

#[cfg(test)]
mod tests {
    use super::{Arc, Durability, Duration, Errno, Flusher, Instant, WrittenFile};

    /// A pipe cannot be flushed (fdatasync(2): EINVAL), as a disk that fails cannot.
    fn unflushable() -> (WrittenFile, std::os::fd::OwnedFd) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        (WrittenFile { file: Arc::new(writer), new_in: None }, reader)
    }

    #[test]
    fn a_failed_flush_is_kept_when_it_happens_in_the_background() {
        let flusher = Flusher::new(Durability::Batched { window: Duration::from_millis(5) });
        let (written, _reader) = unflushable();
        assert_eq!(flusher.note(&written), Ok(()));
        wait_until(|| flusher.check().is_err());
        assert_eq!(flusher.check(), Err(Errno::INVAL));
        let (good, _folder) = flushable();
        assert_eq!(flusher.flush(&good), Err(Errno::INVAL));
    }

    #[test]
    fn a_failed_flush_is_told_at_once_when_each_entry_is_flushed() {
        let flusher = Flusher::new(Durability::Each);
        let (written, _reader) = unflushable();
        assert_eq!(flusher.note(&written), Err(Errno::INVAL));
        assert_eq!(flusher.check(), Err(Errno::INVAL));
    }

    #[test]
    fn what_is_due_is_flushed_in_time_even_if_the_journal_is_gone() {
        let flusher = Flusher::new(Durability::Batched { window: Duration::from_millis(50) });
        let (written, _folder) = flushable();
        flusher.note(&written).unwrap();
        let shared = Arc::clone(&flusher.shared);
        assert!(shared.lock().due.is_some());
        drop(flusher);
        wait_until(|| Arc::strong_count(&shared) == 1);
        assert!(shared.lock().due.is_none());
    }

    fn wait_until(done: impl Fn() -> bool) {
        let started = Instant::now();
        while !done() {
            assert!(started.elapsed() < Duration::from_secs(120), "it does not happen");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn flushable() -> (WrittenFile, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("file")).unwrap();
        let new_in = Some(folder.path().to_owned());
        (WrittenFile { file: Arc::new(file.into()), new_in }, folder)
    }
}
