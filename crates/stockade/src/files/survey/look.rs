//! The look before a run: the names in the folders that can be written, breadth first and within
//! bounds. Only files from which code may run are themselves looked at.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::bounds::Bounds;
use super::folder::{Buffer, again};
use super::listing::{Folder, Known, Listing, Start, State};
use super::past::Past;
use super::places::{ALL_HASHED_BYTES_MAX, HASHED_BYTES_MAX};
use super::rank::{GITS_OWN, Rank};
use super::size_of;
use crate::files::digest::{Moment, remembered};
use crate::files::open::entry;
use crate::inspect::stat_of;

/// Files from which code may run that are looked at before.
const KNOWN_MAX: usize = 512;

/// Looks at the names in these folders and below them.
pub(super) fn look(starts: &[Start], bounds: Bounds) -> Arc<Listing> {
    let mut look = Look {
        starts,
        listing: Listing::default(),
        todo: Todo::default(),
        buffer: Buffer::new(),
        past: Past::last(),
        names_left: bounds.names,
        bytes_left: ALL_HASHED_BYTES_MAX,
    };
    for (at, start) in starts.iter().enumerate() {
        let folder = Folder::start(at, start);
        look.add(folder);
    }
    let until = bounds.end();
    while let Some(at) = look.todo.next() {
        look.listing.is_late = until.is_over();
        look.mind_bulk(at, bounds);
        if look.names_left == 0 || look.listing.is_late {
            break;
        }
        look.look_into(at);
    }
    let listing = Arc::new(look.listing.settled());
    Past::keep(starts, &listing);
    listing
}

/// What is still to be looked at, in its order.
#[derive(Debug)]
pub(super) struct Todo<T>(BTreeMap<Rank, VecDeque<T>>);

impl<T> Default for Todo<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Todo<T> {
    pub(super) fn add(&mut self, rank: Rank, one: T) {
        self.0.entry(rank).or_default().push_back(one);
    }

    pub(super) fn next(&mut self) -> Option<T> {
        self.0.values_mut().find_map(VecDeque::pop_front)
    }
}

struct Look<'l> {
    starts: &'l [Start],
    listing: Listing,
    todo: Todo<usize>,
    buffer: Buffer,
    past: Option<Arc<Past>>,
    names_left: usize,
    bytes_left: u64,
}

impl Look<'_> {
    fn add(&mut self, folder: Folder) {
        let at = self.listing.folders.len();
        if folder.state == State::Waiting {
            self.todo.add(folder.rank, at);
        }
        self.listing.folders.push(folder);
    }

    fn look_into(&mut self, at: usize) {
        let Some(folder) = self.listing.folders.get(at) else { return };
        let told = folder.told(self.starts);
        let Ok(handle) = self.names(at, &told) else {
            return self.set(at, |folder| folder.state = State::Unread);
        };
        let Some(folder) = self.listing.folders.get(at) else { return };
        for entry in folder.entries.clone() {
            if self.listing.entry(entry).is_some_and(|entry| entry.may_run) {
                self.know(handle.as_fd(), entry);
            }
        }
        self.add_inner(at, &told);
    }

    /// What tools fill comes last, and nothing else after it.
    fn mind_bulk(&mut self, at: usize, bounds: Bounds) {
        if self.listing.folders.get(at).is_some_and(|folder| folder.rank == Rank::Last) {
            self.names_left = self.names_left.min(bounds.bulk_names);
        }
    }

    fn set(&mut self, at: usize, set: impl FnOnce(&mut Folder)) {
        if let Some(folder) = self.listing.folders.get_mut(at) {
            set(folder);
        }
    }

    /// Finds the names of a folder, in the last look if it was not touched since.
    fn names(&mut self, at: usize, told: &Path) -> Result<OwnedFd, Errno> {
        let folder = self.listing.folders.get(at).ok_or(Errno::NOENT)?;
        let Some(past) = &self.past else {
            let handle = folder.open(self.starts)?;
            let now = Moment::of(&stat_of(handle.as_fd())?);
            self.read(at, handle.as_fd(), (told, now))?;
            return Ok(handle);
        };
        let handle = folder.handle(self.starts)?;
        let now = Moment::of(&stat_of(handle.as_fd())?);
        let same = past.same(folder, self.starts, now);
        if let Some(same) = same.filter(|same| same.names <= self.names_left) {
            let entries = self.listing.copy(&past.listing, same.entries.clone());
            let names = same.names;
            self.names_left = self.names_left.saturating_sub(names);
            self.set(at, |folder| {
                (folder.state, folder.entries) = (State::Whole, entries);
                (folder.names, folder.moment) = (names, Some(now));
            });
            return Ok(handle);
        }
        let readable = again(handle.as_fd())?;
        self.read(at, readable.as_fd(), (told, now))?;
        Ok(handle)
    }

    /// Reads the names of a folder. Of git's own, files from which nothing runs are left out.
    fn read(
        &mut self,
        at: usize,
        handle: BorrowedFd<'_>,
        (told, now): (&Path, Moment),
    ) -> Result<(), Errno> {
        let Self { listing, buffer, names_left, .. } = self;
        let folder = listing.folders.get(at).ok_or(Errno::NOENT)?;
        let folder = folder.clone();
        let (from, left_before) = (listing.entries_len(), *names_left);
        let is_over = now.is_over();
        let read = buffer.read(handle, |name| {
            let Some(left) = names_left.checked_sub(1) else { return ControlFlow::Break(()) };
            *names_left = left;
            let bytes = name.text.to_bytes();
            let may_run = !name.is_folder && folder.may_run(told, bytes);
            let is_told = name.is_folder || name.is_link || may_run || bytes == b"HEAD";
            if !folder.is_gits || is_told {
                listing.push(name, may_run);
            }
            ControlFlow::Continue(())
        })?;
        let entries = from..listing.entries_len();
        let names = left_before.saturating_sub(*names_left);
        self.set(at, |folder| {
            folder.state = if read.is_continue() { State::Whole } else { State::Cut };
            (folder.entries, folder.names) = (entries, names);
            folder.moment = is_over.then_some(now);
        });
        Ok(())
    }

    fn add_inner(&mut self, at: usize, told: &Path) {
        let Self { listing, starts, .. } = self;
        let Some(folder) = listing.folders.get(at) else { return };
        let mut entries = folder.entries.clone();
        let is_repository = folder.is_gits && entries.any(|entry| listing.name(entry) == b"HEAD");
        let is_folder = |at: &usize| listing.entry(*at).is_some_and(|entry| entry.is_folder);
        let folder_of = |entry: usize| {
            let name = listing.name(entry);
            let mut inner = folder.inner(name, told, Some(entry));
            let is_store = is_repository && GITS_OWN.contains(&name);
            if is_store && !inner.is_repository(starts) {
                inner.state = State::Passed;
            }
            inner
        };
        let inner = folder.entries.clone().filter(is_folder).map(folder_of);
        let folders: Vec<Folder> = inner.collect();
        for folder in folders {
            self.add(folder);
        }
    }

    /// Remembers a file from which code may run.
    fn know(&mut self, folder: BorrowedFd<'_>, at: usize) {
        if self.listing.known.len() >= KNOWN_MAX {
            return;
        }
        let name = OsStr::from_bytes(self.listing.name(at));
        let Ok(handle) = entry(folder, name) else { return };
        let Ok(stat) = stat_of(handle.as_fd()) else { return };
        let size = size_of(&stat);
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let mut hash = None;
        if is_file && size <= HASHED_BYTES_MAX.min(self.bytes_left) {
            self.bytes_left = self.bytes_left.saturating_sub(size);
            hash = remembered(handle.as_fd(), &stat, Path::new(name)).ok().flatten();
        }
        self.listing.known.push(Known { entry: at, mode: stat.st_mode, hash });
    }
}
