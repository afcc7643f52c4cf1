//! The folders of earlier searches. A folder that was not touched since holds the same names, so that a
//! search asks for its times and does not read it again.
//!
//! A program in a sandbox cannot set the ctime of a folder, and every name that is created, removed or
//! renamed in a folder changes it.

mod file;
#[cfg(test)]
pub(super) use self::file::read as read_file;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};
use rustix::time::{ClockId, clock_gettime};

use super::sieve::Alive;

/// How many searches are remembered: one for each project and list of rules.
const SEARCHES_MAX: usize = 4;
/// How many folders of a search are remembered.
pub(super) const FOLDERS_MAX: usize = 50_000;
/// How many folders one thread asks for: on a busy machine, fewer take less time than a thread's start.
const FOLDERS_EACH: usize = 1024;
/// How many threads ask at the same time.
const THREADS_MAX: usize = 4;

static SEARCHES: Mutex<Vec<(Key, Arc<Known>)>> = Mutex::new(Vec::new());

/// Which search it was: a hash of the places, of the rules and of their order.
pub(super) type Key = [u8; 32];

/// What a search found in each folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) folders: Vec<Arc<Folder>>,
}

/// A folder that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    /// What could be met in it.
    pub(super) alive: Alive,
    /// How many names it holds.
    pub(super) names: u64,
    /// The names that patterns mean, each with the place of the pattern.
    pub(super) met: Vec<(Box<OsStr>, usize)>,
    /// The folders in it that have to be searched too.
    pub(super) inner: Vec<(Box<OsStr>, Alive)>,
}

/// Which folder it is, and when it was last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) [u64; 7]);

impl Stamp {
    pub(super) const ASKED: StatxFlags =
        StatxFlags::INO.union(StatxFlags::CTIME).union(StatxFlags::MTIME);

    pub(super) fn of(found: &Statx) -> Self {
        Self([
            u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
            found.stx_ino,
            found.stx_ctime.tv_sec.cast_unsigned(),
            found.stx_ctime.tv_nsec.into(),
            found.stx_mtime.tv_sec.cast_unsigned(),
            found.stx_mtime.tv_nsec.into(),
            found.stx_mask.into(),
        ])
    }

    /// The folder at a path, which is not a link.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, Self::ASKED).ok()?;
        Some(Self::of(&found))
    }

    /// Whether every later change gets another time. The clock for files is coarse; a time without a
    /// fraction may come from a file system that counts in seconds.
    pub(super) fn is_over(&self) -> bool {
        const TICK: Duration = Duration::from_millis(20);
        const COARSE: Duration = Duration::from_secs(2);
        let [_, _, seconds, fraction, ..] = self.0;
        let room = if fraction == 0 { COARSE } else { TICK };
        let fraction = u32::try_from(fraction).unwrap_or_default();
        let changed =
            Duration::from_secs(seconds).checked_add(Duration::from_nanos(fraction.into()));
        let over = changed.and_then(|changed| changed.checked_add(room));
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let now = Duration::try_from(now).unwrap_or_default();
        over.is_some_and(|over| over < now)
    }
}

impl Known {
    /// What is known of a search, from this process or, where `file` names it, from an earlier one.
    pub(super) fn of(key: &Key, file: Option<&Path>) -> Arc<Self> {
        let searches = SEARCHES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = searches.iter().find(|(known, _)| known == key) {
            return Arc::clone(known);
        }
        drop(searches);
        let read = file.and_then(|path| file::read(path, key));
        Arc::new(Self { folders: read.unwrap_or_default() })
    }

    /// Keeps what is known for the next search, and for those of later processes.
    pub(super) fn keep(self: Arc<Self>, key: Key, file: Option<&Path>) {
        if self.folders.len() > FOLDERS_MAX {
            return;
        }
        if let Some(path) = file {
            file::write(path, &key, &self.folders);
        }
        self.keep_here(key);
    }

    /// Keeps what is known for the next search of this process.
    pub(super) fn keep_here(self: Arc<Self>, key: Key) {
        let mut searches = SEARCHES.lock().unwrap_or_else(PoisonError::into_inner);
        searches.retain(|(known, _)| *known != key);
        searches.insert(0, (key, self));
        searches.truncate(SEARCHES_MAX);
    }

    /// The folders that were not touched since, by their paths.
    pub(super) fn untouched(&self) -> HashMap<&Path, &Arc<Folder>> {
        let same = |folder: &&Arc<Folder>| Stamp::at(&folder.path) == Some(folder.stamp);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let each = self.folders.len().div_ceil(threads).max(FOLDERS_EACH);
        let mut chunks = self.folders.chunks(each);
        let own = chunks.next().unwrap_or_default();
        let untouched: Vec<&Arc<Folder>> = std::thread::scope(|scope| {
            let others: Vec<_> = chunks
                .map(|chunk| scope.spawn(move || chunk.iter().filter(same).collect::<Vec<_>>()))
                .collect();
            let own: Vec<_> = own.iter().filter(same).collect();
            // A thread that failed knows nothing, and its folders are read again.
            let others = others.into_iter().flat_map(|one| one.join().unwrap_or_default());
            own.into_iter().chain(others).collect()
        });
        untouched.into_iter().map(|folder| (folder.path.as_path(), folder)).collect()
    }
}
