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

use super::name_filter::LivePatterns;
use crate::files::folders::Stamp;

/// How many searches are remembered: one for each project and list of rules.
const SEARCHES_MAX: usize = 4;
/// How many folders of a search are remembered.
pub(super) const FOLDERS_MAX: usize = 50_000;
/// How many folders one thread asks for: on a busy machine, fewer take less time than a thread's start.
const FOLDERS_EACH: usize = 1024;
/// How many threads ask at the same time.
const THREADS_MAX: usize = 4;

static SEARCHES: Mutex<Vec<(SearchKey, Arc<KnownFolders>)>> = Mutex::new(Vec::new());

/// Which search it was: a hash of the places, of the rules and of their order.
pub(super) type SearchKey = [u8; 32];

/// What a search found in each folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KnownFolders {
    pub(super) folders: Vec<Arc<SearchedFolder>>,
}

/// A folder that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SearchedFolder {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    /// What could be met in it.
    pub(super) alive: LivePatterns,
    /// How many names it holds.
    pub(super) names: u64,
    /// The names that patterns mean, each with the place of the pattern.
    pub(super) met: Vec<(Box<OsStr>, usize)>,
    /// The folders in it that have to be searched too.
    pub(super) inner: Vec<(Box<OsStr>, LivePatterns)>,
}

impl KnownFolders {
    /// What is known of a search, from this process or, where `file` names it, from an earlier one.
    pub(super) fn of(key: &SearchKey, file: Option<&Path>) -> Arc<Self> {
        let searches = SEARCHES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = searches.iter().find(|(known, _)| known == key) {
            return Arc::clone(known);
        }
        drop(searches);
        let read = file.and_then(|path| file::read(path, key));
        Arc::new(Self { folders: read.unwrap_or_default() })
    }

    /// Keeps what is known for the next search, and for those of later processes.
    pub(super) fn keep(self: Arc<Self>, key: SearchKey, file: Option<&Path>) {
        if self.folders.len() > FOLDERS_MAX {
            return;
        }
        if let Some(path) = file {
            file::write(path, &key, &self.folders);
        }
        self.keep_here(key);
    }

    /// Keeps what is known for the next search of this process.
    pub(super) fn keep_here(self: Arc<Self>, key: SearchKey) {
        let mut searches = SEARCHES.lock().unwrap_or_else(PoisonError::into_inner);
        searches.retain(|(known, _)| *known != key);
        searches.insert(0, (key, self));
        searches.truncate(SEARCHES_MAX);
    }

    /// The folders that were not touched since, by their paths.
    pub(super) fn untouched(&self) -> HashMap<&Path, &Arc<SearchedFolder>> {
        let same = |folder: &&Arc<SearchedFolder>| Stamp::at(&folder.path) == Some(folder.stamp);
        let each = match self.folders.len() {
            // To ask how many threads there can be is a dozen system calls.
            ..=FOLDERS_EACH => FOLDERS_EACH,
            many => {
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                many.div_ceil(threads.min(THREADS_MAX)).max(FOLDERS_EACH)
            }
        };
        let mut chunks = self.folders.chunks(each);
        let own = chunks.next().unwrap_or_default();
        let untouched: Vec<&Arc<SearchedFolder>> = std::thread::scope(|scope| {
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
