//! Folders with the names in them, as they were at one moment.

use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::folder::Name;
use super::rank::{Rank, SIGNS};
use crate::files::digest::Moment;
use crate::files::open::beneath;
use crate::files::risky::named;

/// A folder that can be written.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) handle: OwnedFd,
    pub(super) path: PathBuf,
    /// The same beneath the root, or absolute if it is elsewhere.
    pub(super) told: PathBuf,
}

/// A folder, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    /// Which start it is below of, and how it is called from there.
    pub(super) start: usize,
    pub(super) below: PathBuf,
    pub(super) rank: Rank,
    pub(super) state: State,
    /// Code may run from all that is in it.
    pub(super) is_risky: bool,
    /// It is git's own, of which only that matters from which code runs.
    pub(super) is_gits: bool,
    /// Itself in the folder above, and what is in it.
    pub(super) entry: Option<usize>,
    pub(super) entries: Range<usize>,
    /// All the names in it, also those that do not matter.
    pub(super) names: usize,
    /// When its names were read, if a later change of them is sure to be told from that.
    pub(super) moment: Option<Moment>,
}

/// How much of a folder is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It was not looked into.
    Waiting,
    /// It was passed by: nothing runs from what git stores.
    Passed,
    /// It cannot be read.
    Unread,
    /// Not all its names.
    Cut,
    /// All its names.
    Whole,
    /// It was not there before.
    New,
}

/// A name in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    start: usize,
    length: usize,
    pub(super) inode: u64,
    pub(super) is_folder: bool,
    /// Code may run from it.
    pub(super) may_run: bool,
}

/// A file from which code may run, as it was.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) entry: usize,
    pub(super) mode: u32,
    pub(super) hash: Option<String>,
}

/// What a look has seen. All names are in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) folders: Vec<Folder>,
    entries: Vec<Entry>,
    names: Vec<u8>,
    pub(super) known: Vec<Known>,
    /// The entries of folders that were not looked into, in order.
    unlooked: Vec<usize>,
    /// The time was up before the end.
    pub(super) is_late: bool,
}

impl Listing {
    pub(super) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    pub(super) fn entries_len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn name(&self, at: usize) -> &[u8] {
        let range = self.entries.get(at).map(|entry| entry.start..entry.end());
        range.and_then(|range| self.names.get(range)).unwrap_or_default()
    }

    /// How a file was from which code may run.
    pub(super) fn known(&self, entry: usize) -> Option<&Known> {
        let at = self.known.binary_search_by_key(&entry, |known| known.entry).ok()?;
        self.known.get(at)
    }

    /// Whether this is a folder of which it is not known what was in it.
    pub(super) fn is_unlooked(&self, entry: usize) -> bool {
        self.unlooked.binary_search(&entry).is_ok()
    }

    /// Whether there is more than was looked at.
    pub(super) fn is_cut(&self) -> bool {
        self.folders.iter().any(|folder| matches!(folder.state, State::Waiting | State::Cut))
    }

    /// A name as the system takes it.
    pub(super) fn system_name(&self, at: usize) -> Option<&CStr> {
        let entry = self.entries.get(at)?;
        let bytes = self.names.get(entry.start..entry.end().saturating_add(1))?;
        CStr::from_bytes_with_nul(bytes).ok()
    }

    /// The same in the order in which it is asked.
    pub(super) fn settled(mut self) -> Self {
        let is_looked = |folder: &&Folder| matches!(folder.state, State::Whole | State::Cut);
        let unlooked = self.folders.iter().filter(|folder| !is_looked(folder));
        self.unlooked = unlooked.filter_map(|folder| folder.entry).collect();
        self.unlooked.sort_unstable();
        self.known.sort_unstable_by_key(|known| known.entry);
        self
    }

    pub(super) fn push(&mut self, name: Name<'_>, may_run: bool) {
        let Name { text, inode, is_folder, .. } = name;
        let (start, length) = (self.names.len(), text.to_bytes().len());
        self.names.extend_from_slice(text.to_bytes_with_nul());
        self.entries.push(Entry { start, length, inode, is_folder, may_run });
    }

    /// Takes over the entries of one folder.
    pub(super) fn copy(&mut self, other: &Self, entries: Range<usize>) -> Range<usize> {
        let from = self.entries.len();
        let entries = other.entries.get(entries).unwrap_or_default();
        if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
            let end = last.end().saturating_add(1);
            let (then, now) = (first.start, self.names.len());
            self.names.extend_from_slice(other.names.get(then..end).unwrap_or_default());
            let moved = |entry: &Entry| {
                let start = entry.start.saturating_sub(then).saturating_add(now);
                Entry { start, ..*entry }
            };
            self.entries.extend(entries.iter().map(moved));
        }
        from..self.entries.len()
    }
}

impl Entry {
    fn end(&self) -> usize {
        self.start.saturating_add(self.length)
    }
}

impl Folder {
    pub(super) fn start(at: usize, start: &Start) -> Self {
        let is_git = |name: &OsStr| name == ".git";
        Self {
            start: at,
            below: PathBuf::new(),
            rank: Rank::Usual,
            state: State::Waiting,
            is_risky: start.told.ancestors().any(named::may_be_whole),
            is_gits: start.told.iter().any(is_git),
            entry: None,
            entries: 0..0,
            names: 0,
            moment: None,
        }
    }

    /// A folder in this one.
    pub(super) fn inner(&self, name: &[u8], told: &Path, entry: Option<usize>) -> Self {
        let is_risky = self.is_risky || named::may_be_whole(&told.join(OsStr::from_bytes(name)));
        let rank = Rank::of(name, self.rank);
        let rank = if rank == Rank::Usual && is_risky { Rank::First } else { rank };
        Self {
            start: self.start,
            below: self.below.join(OsStr::from_bytes(name)),
            rank,
            state: State::Waiting,
            is_risky,
            is_gits: self.is_gits || name == b".git",
            entry,
            entries: 0..0,
            names: 0,
            moment: None,
        }
    }

    /// Its path as it is told.
    pub(super) fn told(&self, starts: &[Start]) -> PathBuf {
        let start = starts.get(self.start).map(|start| start.told.as_path());
        start.unwrap_or(Path::new("")).join(&self.below)
    }

    /// Opens it to read its names.
    pub(super) fn open(&self, starts: &[Start]) -> Result<OwnedFd, Errno> {
        self.opened(starts, OFlags::RDONLY)
    }

    /// Opens it as a handle, which costs less.
    pub(super) fn handle(&self, starts: &[Start]) -> Result<OwnedFd, Errno> {
        self.opened(starts, OFlags::PATH)
    }

    fn opened(&self, starts: &[Start], flags: OFlags) -> Result<OwnedFd, Errno> {
        let start = starts.get(self.start).ok_or(Errno::NOENT)?;
        let is_start = self.below.as_os_str().is_empty();
        let below = if is_start { Path::new(".") } else { &self.below };
        beneath(start.handle.as_fd(), below, flags | OFlags::DIRECTORY)
    }

    /// Whether a file of this name, if it is changed, is told.
    pub(super) fn may_run(&self, told: &Path, name: &[u8]) -> bool {
        self.is_risky || named::may_be_file(told, name)
    }

    /// Whether git's store of this name is a repository after all, as a submodule that is called so.
    pub(super) fn is_repository(&self, starts: &[Start]) -> bool {
        let Some(start) = starts.get(self.start) else { return false };
        let is_there = |sign: &str| {
            !matches!(
                beneath(start.handle.as_fd(), &self.below.join(sign), OFlags::PATH),
                Err(Errno::NOENT | Errno::NOTDIR)
            )
        };
        SIGNS.into_iter().any(is_there)
    }
}
