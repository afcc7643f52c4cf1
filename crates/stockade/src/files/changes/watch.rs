//! The kernel's notices (inotify) about folders, for a process that runs many calls: a folder about which
//! there was none does not have to be compared.
//!
//! A notice is queued by the system call that makes the change, or for a write through a mapping when the
//! last descriptor of the file is closed, so all notices about a run are there when its processes are gone.
//! If the queue overflows, every folder is compared. A program that wants to hide a change can still make
//! one without a notice, through another name of the file in a folder that is not watched; files from which
//! code runs are therefore compared whatever the notices say.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::files::open::proc_link;

/// One system call reads up to this much of the queue.
const BUFFER_BYTES: usize = 16 << 10;

/// Watches on folders. Calls that run at the same time share them.
#[derive(Debug, Clone)]
pub(super) struct Watch(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    handle: OwnedFd,
    /// How often the queue was read. The notices of one reading have its number.
    reading: u64,
    /// The last reading that had lost notices.
    lost: u64,
    notices: HashMap<i32, FolderNotices>,
}

/// The last readings with notices about a folder.
#[derive(Debug, Clone, Copy, Default)]
struct FolderNotices {
    /// A name in it was created, removed or renamed.
    names: u64,
    /// A file in it was written, or its attributes were changed.
    files: u64,
    /// It was itself moved or removed.
    itself: u64,
}

/// What happened to a folder since some reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Touch {
    Nothing,
    /// Its names are the same, but files in it may be not.
    Files,
    /// Names in it changed.
    Names,
    /// It was moved or removed with all that is in it, or notices were lost.
    Itself,
}

impl Watch {
    /// Nothing is watched yet.
    pub(super) fn new() -> Result<Self, Errno> {
        let handle = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let queue = Queue { handle, reading: 0, lost: 0, notices: HashMap::new() };
        Ok(Self(Arc::new(Mutex::new(queue))))
    }

    /// Watches a folder. The same folder gets the same number again.
    pub(super) fn add(&self, folder: BorrowedFd<'_>) -> Result<i32, Errno> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inotify::add_watch(&queue.handle, proc_link(folder), flags)
    }

    /// Reads the queue; returns the number of this reading.
    pub(super) fn read(&self) -> u64 {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.reading = queue.reading.saturating_add(1);
        let Queue { handle, reading, lost, notices } = &mut *queue;
        let mut buffer = [const { MaybeUninit::uninit() }; BUFFER_BYTES];
        let mut reader = Reader::new(handle.as_fd(), &mut buffer);
        loop {
            let (watch, events) = match reader.next() {
                Ok(event) => (event.wd(), event.events()),
                Err(Errno::AGAIN) => return *reading,
                Err(Errno::INTR) => continue,
                Err(_) => {
                    *lost = *reading;
                    return *reading;
                }
            };
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                *lost = *reading;
                continue;
            }
            let of_names =
                ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
            let of_itself = ReadFlags::DELETE_SELF
                | ReadFlags::MOVE_SELF
                | ReadFlags::UNMOUNT
                | ReadFlags::IGNORED;
            let notice = notices.entry(watch).or_default();
            if events.intersects(of_itself) {
                notice.itself = *reading;
            } else if events.intersects(of_names) {
                notice.names = *reading;
            } else {
                notice.files = *reading;
            }
        }
    }

    /// What happened after a reading, as far as it was read, by the number of the watch.
    pub(super) fn touched_after(&self, reading: u64) -> TouchedFolders {
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let touch = |notice: &FolderNotices| match notice {
            notice if notice.itself > reading => Touch::Itself,
            notice if notice.names > reading => Touch::Names,
            notice if notice.files > reading => Touch::Files,
            _ => Touch::Nothing,
        };
        let folders = queue.notices.iter().map(|(watch, notice)| (*watch, touch(notice)));
        TouchedFolders {
            is_lost: queue.lost > reading,
            folders: folders.filter(|(_, touch)| *touch != Touch::Nothing).collect(),
        }
    }
}

/// The folders about which there were notices.
#[derive(Debug)]
pub(super) struct TouchedFolders {
    is_lost: bool,
    folders: HashMap<i32, Touch>,
}

impl TouchedFolders {
    /// What happened to the folder with this watch; without one, anything may have.
    pub(super) fn of(&self, watch: Option<i32>) -> Touch {
        match watch {
            Some(watch) if !self.is_lost => {
                self.folders.get(&watch).copied().unwrap_or(Touch::Nothing)
            }
            _ => Touch::Itself,
        }
    }
}
