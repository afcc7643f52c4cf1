//! The journal's file: opened once, locked for each entry, repaired when torn, rolled back when a
//! write fails.
//!
//! Invariant: between two holders of the lock the file only grows by whole lines, so that a file
//! that shrank or changed under a known end was not changed by this program.

use std::fs::DirBuilder;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, ftruncate, open, statat};
use rustix::io::{Errno, retry_on_intr, write};

use super::EntryId;
use super::chain::{self, Fault, LINE_BYTES_MAX};
use super::flush::WrittenFile;
use super::lock::{Lock, LockError, PATIENCE};
use super::record::{Event, Repair};
use super::tail::{self, Tail, TailError, TailSearch};

/// How often a file that is replaced again and again is opened anew for one entry.
const REOPENS_MAX: usize = 8;

/// Why an entry was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The folder of the journal could not be made.
    #[error("create the folder {} for the journal", path.display())]
    CreateFolder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file could not be opened or created.
    #[error("open the journal {}", path.display())]
    Open {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// The path names something that is not a plain file.
    #[error("use {} as a journal: it is {found}, and only a regular file is accepted", path.display())]
    NotAFile {
        /// The journal.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The file system could not lock it.
    #[error("lock the journal {}", path.display())]
    Lock {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// Another process did not let go of the lock.
    #[error("lock the journal {} within {} s: another process holds it", path.display(), PATIENCE.as_secs())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// Its size or identity could not be learned.
    #[error("look at the journal {}", path.display())]
    Inspect {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// It was replaced each time it was opened.
    #[error("append to the journal {}: it is being replaced all the time", path.display())]
    Replaced {
        /// The journal.
        path: PathBuf,
    },
    /// Its last lines could not be read.
    #[error("read the end of the journal {}", path.display())]
    ReadTail {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// Its last lines do not verify.
    #[error(
        "append to the journal {}: its end was changed; see `stockade audit verify`, then move the file aside to begin a new one",
        path.display()
    )]
    Tampered {
        /// The journal.
        path: PathBuf,
        /// What is wrong with the line.
        #[source]
        source: Fault,
    },
    /// It is shorter than when this process last wrote to it.
    #[error(
        "append to the journal {}: it was cut from {expected} to {found} bytes; see `stockade audit verify`, then move the file aside to begin a new one",
        path.display()
    )]
    Shrunk {
        /// The journal.
        path: PathBuf,
        /// The size it had.
        expected: u64,
        /// The size it has.
        found: u64,
    },
    /// A torn last line could not be cut off.
    #[error("cut the torn last line off the journal {}", path.display())]
    Repair {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// The event could not be put into JSON.
    #[error("encode an entry for the journal {}", path.display())]
    Encode {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The event makes a longer line than a reader accepts.
    #[error("append {bytes} bytes to the journal {}: an entry has at most {LINE_BYTES_MAX}", path.display())]
    TooLong {
        /// The journal.
        path: PathBuf,
        /// The length of the line.
        bytes: usize,
    },
    /// The entry could not be written; nothing of it is left in the file.
    #[error("write to the journal {}", path.display())]
    Write {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// Entries did not reach the disk. This stays so until the journal is opened anew.
    #[error("bring the journal {} to the disk", path.display())]
    Sync {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
}

/// The file and what is known of its end.
#[derive(Debug)]
pub(super) struct Sink {
    path: PathBuf,
    opened: FileHandle,
    tail: Option<Tail>,
    /// A fragment that was cut off and is not yet on record.
    cut: Option<Repair>,
}

impl Sink {
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        // The file may have to be opened again after the process has changed its folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let opened = FileHandle::open(&path)?;
        Ok(Self { path, opened, tail: None, cut: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What must reach the disk for all entries so far.
    pub(super) fn written(&mut self) -> WrittenFile {
        self.opened.written()
    }

    /// So many of the last bytes, as far as this process has followed the file; nothing if they
    /// cannot be read.
    pub(super) fn last_bytes(&self, most: u64) -> Option<Vec<u8>> {
        let end = self.tail?.size;
        tail::read_exactly(&self.opened.file, end.saturating_sub(most), end).ok()
    }

    /// Writes one entry. What must reach the disk is handed back; the lock is already gone.
    pub(super) fn append(&mut self, event: &Event) -> Result<(EntryId, WrittenFile), JournalError> {
        let (_lock, size) = self.lock()?;
        let tail = self.catch_up(size)?;
        let mut bytes = Vec::with_capacity(1024);
        let mut end = tail.link;
        let repaired = self.cut.clone().map(Event::Repaired);
        for event in repaired.iter().chain([event]) {
            let time = SystemTime::now().max(SystemTime::UNIX_EPOCH);
            let (line, next) = chain::line_after(&end, time, event)
                .map_err(|source| JournalError::Encode { path: self.path.clone(), source })?;
            if line.len() > LINE_BYTES_MAX {
                let bytes = line.len();
                return Err(JournalError::TooLong { path: self.path.clone(), bytes });
            }
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
            end = next;
        }
        self.write_or_roll_back(&bytes, tail.size)?;
        let grown = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.tail = Some(Tail { size: tail.size.saturating_add(grown), link: end });
        self.cut = None;
        Ok((EntryId::new(end.seq), self.written()))
    }

    /// Locks the file that the path names now, and tells its size.
    fn lock(&mut self) -> Result<(Lock, u64), JournalError> {
        for _ in 0..REOPENS_MAX {
            let lock = Lock::exclusive(&self.opened.file).map_err(|unlocked| match unlocked {
                LockError::Busy => JournalError::Busy { path: self.path.clone() },
                LockError::Failed(source) => JournalError::Lock { path: self.path.clone(), source },
            })?;
            let inspect = |source| JournalError::Inspect { path: self.path.clone(), source };
            let stat = retry_on_intr(|| fstat(&self.opened.file)).map_err(inspect)?;
            match retry_on_intr(|| statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW)) {
                Ok(named) if same_file(&named, &stat) && stat.st_nlink > 0 => {
                    let size = u64::try_from(stat.st_size).unwrap_or(0);
                    return Ok((lock, size));
                }
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(inspect(errno)),
            }
            drop(lock);
            self.opened = FileHandle::open(&self.path)?;
            self.tail = None;
            self.cut = None;
        }
        Err(JournalError::Replaced { path: self.path.clone() })
    }

    /// Learns the end of the chain in a file of `size` bytes, and cuts a torn line off it.
    fn catch_up(&mut self, size: u64) -> Result<Tail, JournalError> {
        let file = &self.opened.file;
        let found = match self.tail {
            Some(tail) if tail.size == size => return Ok(tail),
            Some(tail) if tail.size > size => {
                let (expected, found) = (tail.size, size);
                return Err(JournalError::Shrunk { path: self.path.clone(), expected, found });
            }
            Some(tail) => tail::follow(file, tail, size),
            None => tail::find(file, size),
        };
        let TailSearch { tail, torn } = found.map_err(|lost| match lost {
            TailError::Unreadable(source) => {
                JournalError::ReadTail { path: self.path.clone(), source }
            }
            TailError::Tampered(source) => {
                JournalError::Tampered { path: self.path.clone(), source }
            }
        })?;
        if torn.is_some() {
            retry_on_intr(|| ftruncate(file, tail.size))
                .map_err(|source| JournalError::Repair { path: self.path.clone(), source })?;
            self.cut = torn;
        }
        self.tail = Some(tail);
        Ok(tail)
    }

    fn write_or_roll_back(&self, bytes: &[u8], size: u64) -> Result<(), JournalError> {
        let file = &self.opened.file;
        let mut rest = bytes;
        while !rest.is_empty() {
            let source = match retry_on_intr(|| write(file, rest)) {
                Ok(written) if written > 0 => {
                    rest = rest.get(written..).unwrap_or_default();
                    continue;
                }
                Ok(_) => Errno::IO,
                Err(errno) => errno,
            };
            // If this fails too, the next entry finds a torn line and repairs it.
            retry_on_intr(|| ftruncate(file, size)).ok();
            return Err(JournalError::Write { path: self.path.clone(), source });
        }
        Ok(())
    }
}

/// An open regular file.
#[derive(Debug)]
struct FileHandle {
    file: Arc<OwnedFd>,
    /// The folder, if this process created the file in it.
    new_in: Option<PathBuf>,
}

impl FileHandle {
    fn open(path: &Path) -> Result<Self, JournalError> {
        let (file, new_in) = match open_regular(path, OFlags::empty()) {
            Err(JournalError::Open { source: Errno::NOENT, .. }) => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                create_folder(folder)?;
                (open_regular(path, OFlags::CREATE)?, Some(folder.to_owned()))
            }
            other => (other?, None),
        };
        Ok(Self { file: Arc::new(file), new_in })
    }

    fn written(&mut self) -> WrittenFile {
        WrittenFile { file: Arc::clone(&self.file), new_in: self.new_in.take() }
    }
}

fn create_folder(folder: &Path) -> Result<(), JournalError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| JournalError::CreateFolder { path: folder.to_owned(), source })
}

fn open_regular(path: &Path, create: OFlags) -> Result<OwnedFd, JournalError> {
    let refused = |found| JournalError::NotAFile { path: path.to_owned(), found };
    // Without NONBLOCK, a FIFO or a device could hold the call up; it means nothing to a file.
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    let file =
        retry_on_intr(|| open(path, flags | create, Mode::RUSR | Mode::WUSR)).map_err(|errno| {
            match errno {
                Errno::LOOP => refused("a symbolic link"),
                Errno::ISDIR => refused("a folder"),
                Errno::NXIO => refused("a socket or a device"),
                source => JournalError::Open { path: path.to_owned(), source },
            }
        })?;
    let stat = retry_on_intr(|| fstat(&file))
        .map_err(|source| JournalError::Inspect { path: path.to_owned(), source })?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(file),
        FileType::Fifo => Err(refused("a named pipe")),
        FileType::CharacterDevice | FileType::BlockDevice => Err(refused("a device")),
        FileType::Directory | FileType::Symlink | FileType::Socket | FileType::Unknown => {
            Err(refused("no regular file"))
        }
    }
}

fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
