//! Searches folders for what patterns mean: the shallow ones first, within bounds, and no link followed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::hash::{Hash as _, Hasher};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use data_encoding::HEXLOWER;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::cache::{KnownFolders, SearchKey, SearchedFolder};
use super::name_filter::{LivePatterns, NameFilter};
use super::patterns::SearchResult;
use super::walk::{WalkBounds, is_closed_to_all};
use crate::confine::{Keep, Origin, PathPattern};
use crate::files::folders::{self, FolderReader, Name, NameKind, Stamp};
use crate::pattern::MatchState;

/// How many paths are kept by the user's patterns in one sandbox, and by the shipped ones. Each takes a
/// mount.
const FOUND_MAX: usize = 1000;
/// So few folders are read again sooner than a file is written.
const WORTH_WRITING: usize = 16;

/// A search under way.
pub(super) struct PatternSearch<'s> {
    sought: &'s [PathPattern],
    sieves: Vec<NameFilter<'s>>,
    queue: VecDeque<(PathBuf, LivePatterns)>,
    /// The folders in which it begins.
    starts: BTreeSet<PathBuf>,
    bounds: WalkBounds,
    searched: SearchResult,
    /// How many paths were found by the user's patterns, and by shipped ones.
    found: [usize; 2],
    folders: Vec<Arc<SearchedFolder>>,
    reader: FolderReader,
    lower: String,
}

impl<'s> PatternSearch<'s> {
    /// A search that adds to what is known, and ends at this time at the latest.
    pub(super) fn new(
        sought: &'s [PathPattern],
        searched: SearchResult,
        until: Option<Instant>,
    ) -> Self {
        Self {
            sought,
            sieves: Vec::new(),
            queue: VecDeque::new(),
            starts: BTreeSet::new(),
            bounds: WalkBounds::new(until),
            searched,
            found: [0, 0],
            folders: Vec::new(),
            reader: FolderReader::default(),
            lower: String::new(),
        }
    }

    /// Goes down from these folders, as far as any pattern can still be met. What was read is kept for the
    /// next search, and in this folder for later processes.
    pub(super) fn run(
        mut self,
        starts: BTreeMap<PathBuf, Vec<(usize, MatchState)>>,
        kept_in: Option<PathBuf>,
    ) -> SearchResult {
        let key = key(self.sought, &starts);
        let file = kept_in.map(|folder| folder.join(HEXLOWER.encode(&key)));
        let known = KnownFolders::of(&key, file.as_deref());
        let untouched = known.untouched();
        self.starts = starts.keys().cloned().collect();
        let starts = starts.into_iter().map(|(folder, stands)| (folder, stands.into()));
        self.queue.extend(starts);
        let mut added = 0_usize;
        while let Some((path, alive)) = self.queue.pop_front() {
            if self.bounds.are_met() {
                self.miss(&alive);
                break;
            }
            if let Some(same) = untouched.get(path.as_path()).filter(|one| one.alive == alive) {
                self.bounds.count(same.names);
                self.take(&path, same);
                self.folders.push(Arc::clone(same));
            } else if let Some((folder, is_sure)) = self.read(&path, &alive) {
                self.take(&path, &folder);
                if is_sure {
                    added = added.saturating_add(1);
                    self.folders.push(Arc::new(folder));
                }
            }
        }
        for (_, alive) in std::mem::take(&mut self.queue) {
            self.miss(&alive);
        }
        let folders = self.folders;
        if added > 0 || folders.len() != known.folders.len() {
            let file = file.as_deref().filter(|_| added > WORTH_WRITING);
            Arc::new(KnownFolders { folders }).keep(key, file);
        } else {
            known.clone().keep_here(key);
        }
        self.searched.entries = self.bounds.entries();
        self.searched.gap = self.searched.gap.or_else(|| self.bounds.gap());
        self.searched
    }

    /// Says that something was not looked at in which these patterns could be met.
    fn miss(&mut self, alive: &LivePatterns) {
        self.searched.incomplete.extend(alive.iter().map(|(at, _)| *at));
    }

    /// Adds what was found in a folder.
    fn take(&mut self, path: &Path, folder: &SearchedFolder) {
        for (name, by) in &folder.met {
            let is_shipped =
                self.sought.get(*by).is_some_and(|one| one.origin() == Origin::Shipped);
            let [of_user, shipped] = &mut self.found;
            let found = if is_shipped { shipped } else { of_user };
            if *found < FOUND_MAX {
                *found = found.saturating_add(1);
                self.searched.found.insert(path.join(&**name), *by);
            } else {
                let gap = format!("more than {FOUND_MAX} paths are meant, and only so many kept");
                self.searched.gap = Some(gap);
                self.searched.incomplete.insert(*by);
            }
        }
        let inner = folder.inner.iter();
        self.queue.extend(inner.map(|(name, alive)| (path.join(&**name), Arc::clone(alive))));
    }

    /// Reads a folder. Says too whether every later change will be seen in its times.
    fn read(&mut self, path: &Path, alive: &LivePatterns) -> Option<(SearchedFolder, bool)> {
        let sieve = self.sieve(alive);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
            Ok(opened) => opened,
            // It has gone since, or it is not a folder.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return None,
            Err(Errno::ACCESS) if is_closed_to_all(path) => return None,
            Err(Errno::ACCESS) if self.hide(path, alive) => return None,
            Err(_) => return self.close(path, alive),
        };
        self.searched.read = self.searched.read.saturating_add(1);
        let Ok(stamp) = Stamp::of_handle(opened.as_fd()) else {
            return self.close(path, alive);
        };
        let mut is_sure = stamp.is_over();
        let mut folder = SearchedFolder {
            path: path.to_owned(),
            stamp,
            alive: Arc::clone(alive),
            names: 0,
            met: Vec::new(),
            inner: Vec::new(),
        };
        let mut reader = std::mem::take(&mut self.reader);
        let read = match folders::remembered(&stamp) {
            Some(names) => {
                Ok(names.iter().try_for_each(|name| self.meet(&mut folder, sieve, name)))
            }
            None => reader.read(opened.as_fd(), |name| self.meet(&mut folder, sieve, name)),
        };
        self.reader = reader;
        match read {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => {
                self.miss(alive);
                is_sure = false;
            }
            Err(_) => return self.close(path, alive),
        }
        Some((folder, is_sure))
    }

    /// Checks a name in a folder, unless the bounds are reached.
    fn meet(
        &mut self,
        folder: &mut SearchedFolder,
        sieve: usize,
        name: Name<'_>,
    ) -> ControlFlow<()> {
        folder.names = folder.names.saturating_add(1);
        self.bounds.count(1);
        if self.bounds.are_met() {
            return ControlFlow::Break(());
        }
        let Some(sieve) = self.sieves.get(sieve) else { return ControlFlow::Continue(()) };
        let text = name.text.to_bytes();
        let hit = sieve.check(in_small_letters(text, &mut self.lower));
        let text = OsStr::from_bytes(text);
        folder.met.extend(hit.met.map(|by| (text.into(), by)));
        if let Some(below) = hit.below
            && matches!(name.kind, NameKind::Folder | NameKind::Unknown)
        {
            folder.inner.push((text.into(), below));
        }
        ControlFlow::Continue(())
    }

    /// Hides a folder that the user has closed, or a program has: it could open it again and read what
    /// shipped patterns hide in it.
    fn hide(&mut self, path: &Path, alive: &LivePatterns) -> bool {
        let is_shipped_hiding = |at: usize| {
            let is_it =
                |one: &PathPattern| one.origin() == Origin::Shipped && one.keep() == Keep::Hidden;
            self.sought.get(at).is_some_and(is_it)
        };
        let Some((by, _)) = alive.first().filter(|_| !self.starts.contains(path)) else {
            return false;
        };
        let [_, shipped] = self.found;
        if shipped >= FOUND_MAX || !alive.iter().all(|(at, _)| is_shipped_hiding(*at)) {
            return false;
        }
        self.found[1] = shipped.saturating_add(1);
        self.searched.found.insert(path.to_owned(), *by);
        true
    }

    fn close(&mut self, path: &Path, alive: &LivePatterns) -> Option<(SearchedFolder, bool)> {
        self.bounds.close(path.to_owned());
        self.miss(alive);
        None
    }

    /// Where the sieve for folders of this kind is.
    fn sieve(&mut self, alive: &LivePatterns) -> usize {
        let known = self.sieves.iter().position(|one| one.alive == *alive);
        known.unwrap_or_else(|| {
            self.sieves.push(NameFilter::new(self.sought, Arc::clone(alive)));
            self.sieves.len().saturating_sub(1)
        })
    }
}

/// A name as patterns are written.
fn in_small_letters<'b>(name: &[u8], lower: &'b mut String) -> &'b str {
    lower.clear();
    if name.is_ascii() {
        lower.extend(name.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
    } else {
        lower.push_str(&String::from_utf8_lossy(name).to_lowercase());
    }
    lower
}

/// Two searches with the same key look for the same in the same folders.
fn key(sought: &[PathPattern], starts: &BTreeMap<PathBuf, Vec<(usize, MatchState)>>) -> SearchKey {
    let mut key = KeyHasher(Sha256::new());
    // Another version may number the parts of a pattern otherwise.
    env!("CARGO_PKG_VERSION").hash(&mut key);
    sought.hash(&mut key);
    // What is hashed of a path does not say where each of its names ends.
    let folders = sought.iter().map(PathPattern::folder);
    for path in folders.chain(starts.keys().map(PathBuf::as_path)) {
        path.as_os_str().hash(&mut key);
    }
    for stands in starts.values() {
        stands.hash(&mut key);
    }
    key.0.finalize().into()
}

/// A hash that nobody finds a second value for: a program may write the rules of its project.
struct KeyHasher(Sha256);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not used: the key is the whole digest.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests;
