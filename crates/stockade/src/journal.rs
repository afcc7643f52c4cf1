//! The append-only, hash-chained record of every verdict and every outcome.
//!
//! An entry is in the file, in one `write`, before [`Journal::append`] returns; an error means
//! that nothing of it is there. No secret of a call is ever written: commands appear as a
//! [`preview`](preview::preview) and a [`digest`](preview::digest).
//!
//! ```
//! use stockade::journal::{Durability, Journal, audit, record::{Event, Failure}};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("journal.jsonl");
//! let journal = Journal::open(&path, Durability::default())?;
//! let entry = journal.append(&Event::Failure(Failure {
//!     call: "01J0".to_owned(),
//!     entry: 1,
//!     step: "mount".to_owned(),
//!     guarantee: Some("writes".to_owned()),
//! }))?;
//! assert_eq!(entry.seq(), 1);
//! assert_eq!(audit::verify(&path)?.entries, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod audit;
pub mod chain;
mod flush;
mod lines;
mod lock;
pub mod preview;
mod recent;
pub mod record;
mod sink;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flush::Flusher;
pub use recent::{Repetition, WINDOW};
use record::Event;
pub use sink::JournalError;
use sink::Sink;
pub use stockade_policy::Durability;

/// An open journal, for any number of threads; other processes may append to the same file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    sink: Mutex<Sink>,
    flusher: Flusher,
}

/// Proof that an entry is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(u64);

impl EntryId {
    fn new(seq: u64) -> Self {
        Self(seq)
    }

    /// The `seq` of the entry.
    pub fn seq(self) -> u64 {
        self.0
    }
}

impl Journal {
    /// Opens the journal at `path`, and creates it (mode 0600) and its folders (0700) if needed.
    ///
    /// A symbolic link or anything else that is not a regular file is refused.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, JournalError> {
        let sink = Sink::open(path)?;
        let path = sink.path().to_owned();
        Ok(Self { path, sink: Mutex::new(sink), flusher: Flusher::new(durability) })
    }

    /// Where the journal is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one entry at the end of the chain.
    pub fn append(&self, event: &Event) -> Result<EntryId, JournalError> {
        self.flusher.check().map_err(|source| self.not_flushed(source))?;
        let (entry, written) = self.sink().append(event)?;
        self.flusher.note(&written).map_err(|source| self.not_flushed(source))?;
        Ok(entry)
    }

    /// Brings all entries of this process to the disk now.
    pub fn sync(&self) -> Result<(), JournalError> {
        let written = self.sink().written();
        self.flusher.flush(&written).map_err(|source| self.not_flushed(source))
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn not_flushed(&self, source: rustix::io::Errno) -> JournalError {
        JournalError::Sync { path: self.path.clone(), source }
    }
}
