//! Searches folders for what patterns mean: the shallow ones first, within bounds, and no link followed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use data_encoding::HEXLOWER;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::cache::{Folder, Key, Known, Stamp};
use super::sieve::{Alive, Sieve};
use super::sought::Searched;
use super::walk::{Bounds, is_closed_to_all};
use crate::confine::{Keep, Origin, Sought, Stand};

/// How many paths are kept by the user's patterns in one sandbox, and by the shipped ones. Each takes a
/// mount.
const FOUND_MAX: usize = 1000;
/// So few folders are read again sooner than a file is written.
const WORTH_WRITING: usize = 16;
/// What one system call reads of a folder.
const BUFFER_BYTES: usize = 32 << 10;

/// A search under way.
pub(super) struct Search<'s> {
    sought: &'s [Sought],
    sieves: Vec<Sieve<'s>>,
    queue: VecDeque<(PathBuf, Alive)>,
    /// The folders in which it begins.
    starts: BTreeSet<PathBuf>,
    bounds: Bounds,
    searched: Searched,
    /// How many paths were found by the user's patterns, and by shipped ones.
    found: [usize; 2],
    folders: Vec<Arc<Folder>>,
    buffer: Vec<u8>,
    lower: String,
}

impl<'s> Search<'s> {
    /// A search that adds to what is known, and ends at this time at the latest.
    pub(super) fn new(sought: &'s [Sought], searched: Searched, until: Option<Instant>) -> Self {
        Self {
            sought,
            sieves: Vec::new(),
            queue: VecDeque::new(),
            starts: BTreeSet::new(),
            bounds: Bounds::new(until),
            searched,
            found: [0, 0],
            folders: Vec::new(),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            lower: String::new(),
        }
    }

    /// Goes down from these folders, as far as any pattern can still be met. What was read is kept for the
    /// next search, and in this folder for later processes.
    pub(super) fn run(
        mut self,
        starts: BTreeMap<PathBuf, Vec<(usize, Stand)>>,
        kept_in: Option<PathBuf>,
    ) -> Searched {
        let key = key(self.sought, &starts);
        let file = kept_in.map(|folder| folder.join(HEXLOWER.encode(&key)));
        let known = Known::of(&key, file.as_deref());
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
            Arc::new(Known { folders }).keep(key, file);
        } else {
            known.clone().keep_here(key);
        }
        self.searched.entries = self.bounds.entries();
        self.searched.gap = self.searched.gap.or_else(|| self.bounds.gap());
        self.searched
    }

    /// Says that something was not looked at in which these patterns could be met.
    fn miss(&mut self, alive: &Alive) {
        self.searched.incomplete.extend(alive.iter().map(|(at, _)| *at));
    }

    /// Adds what was found in a folder.
    fn take(&mut self, path: &Path, folder: &Folder) {
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
    fn read(&mut self, path: &Path, alive: &Alive) -> Option<(Folder, bool)> {
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
        let stamp = rustix::fs::statx(&opened, c"", AtFlags::EMPTY_PATH, Stamp::ASKED);
        let Ok(stamp) = stamp.map(|found| Stamp::of(&found)) else {
            return self.close(path, alive);
        };
        let mut is_sure = stamp.is_over();
        let mut folder = Folder {
            path: path.to_owned(),
            stamp,
            alive: Arc::clone(alive),
            names: 0,
            met: Vec::new(),
            inner: Vec::new(),
        };
        let mut names = RawDir::new(opened.as_fd(), self.buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let Ok(entry) = entry else {
                return self.close(path, alive);
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            folder.names = folder.names.saturating_add(1);
            self.bounds.count(1);
            if self.bounds.are_met() {
                self.searched.incomplete.extend(alive.iter().map(|(at, _)| *at));
                is_sure = false;
                break;
            }
            let Some(sieve) = self.sieves.get(sieve) else { continue };
            let hit = sieve.check(in_small_letters(name, &mut self.lower));
            let name = OsStr::from_bytes(name);
            folder.met.extend(hit.met.map(|by| (name.into(), by)));
            if let Some(below) = hit.below
                && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
            {
                folder.inner.push((name.into(), below));
            }
        }
        Some((folder, is_sure))
    }

    /// Hides a folder that the user has closed, or a program has: it could open it again and read what
    /// shipped patterns hide in it.
    fn hide(&mut self, path: &Path, alive: &Alive) -> bool {
        let is_shipped_hiding = |at: usize| {
            let is_it =
                |one: &Sought| one.origin() == Origin::Shipped && one.keep() == Keep::Hidden;
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

    fn close(&mut self, path: &Path, alive: &Alive) -> Option<(Folder, bool)> {
        self.bounds.close(path.to_owned());
        self.miss(alive);
        None
    }

    /// Where the sieve for folders of this kind is.
    fn sieve(&mut self, alive: &Alive) -> usize {
        let known = self.sieves.iter().position(|one| one.alive == *alive);
        known.unwrap_or_else(|| {
            self.sieves.push(Sieve::new(self.sought, Arc::clone(alive)));
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
fn key(sought: &[Sought], starts: &BTreeMap<PathBuf, Vec<(usize, Stand)>>) -> Key {
    Sha256::digest(format!("{sought:?} {starts:?}").as_bytes()).into()
}

#[cfg(test)]
mod tests;
