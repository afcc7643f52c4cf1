//! The look before a run: the names in the folders that can be written, breadth first and within
//! bounds. Only files from which code may run are themselves looked at.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::ops::{ControlFlow, Range};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::FileType;

use super::bounds::Bounds;
use super::folder::Buffer;
use super::listing::{Folder, Known, Listing, Start, State};
use super::places::{ALL_HASHED_BYTES_MAX, HASHED_BYTES_MAX};
use super::rank::{GITS_OWN, Rank};
use super::{remembered, size_of};
use crate::files::open::entry;
use crate::files::risky::named;
use crate::inspect::stat_of;

/// Files from which code may run that are looked at before.
const KNOWN_MAX: usize = 512;

/// Looks at the names in these folders and below them.
pub(super) fn look(starts: &[Start], bounds: Bounds) -> Listing {
    let mut look = Look {
        starts,
        listing: Listing::default(),
        todo: Todo::default(),
        buffer: Buffer::new(),
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
        if look.names_left == 0 || look.listing.is_late {
            break;
        }
        look.look_into(at);
    }
    look.listing.settled()
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
        let (told, opened) = (folder.told(self.starts), folder.open(self.starts));
        let (mut inner, mut risky) = (Vec::new(), Vec::new());
        let (state, entries) = match &opened {
            Ok(handle) => self.names(at, handle.as_fd(), (&told, &mut inner, &mut risky)),
            Err(_) => (State::Unread, 0..0),
        };
        if let Some(folder) = self.listing.folders.get_mut(at) {
            (folder.state, folder.entries) = (state, entries);
        }
        if let Ok(handle) = opened {
            for entry in risky {
                self.know(handle.as_fd(), entry);
            }
        }
        self.add_inner(at, &told, &inner);
    }

    /// Reads the names of a folder. Of git's own, files from which nothing runs are left out.
    fn names(
        &mut self,
        at: usize,
        handle: BorrowedFd<'_>,
        (told, inner, risky): (&Path, &mut Vec<usize>, &mut Vec<usize>),
    ) -> (State, Range<usize>) {
        let Self { listing, buffer, names_left, .. } = self;
        let from = listing.entries_len();
        let Some(folder) = listing.folders.get(at) else { return (State::Unread, 0..0) };
        let (is_risky, is_gits) = (folder.is_risky, folder.is_gits);
        let read = buffer.read(handle, |name| {
            let Some(left) = names_left.checked_sub(1) else { return ControlFlow::Break(()) };
            *names_left = left;
            let bytes = name.text.to_bytes();
            let may_run = !name.is_folder && (is_risky || named::may_be_file(told, bytes));
            if is_gits && !name.is_folder && !may_run && bytes != b"HEAD" {
                return ControlFlow::Continue(());
            }
            let entry = listing.push(name);
            inner.extend(name.is_folder.then_some(entry));
            risky.extend(may_run.then_some(entry));
            ControlFlow::Continue(())
        });
        let state = match read {
            Ok(ControlFlow::Continue(())) => State::Whole,
            Ok(ControlFlow::Break(())) => State::Cut,
            Err(_) => State::Unread,
        };
        (state, from..listing.entries_len())
    }

    fn add_inner(&mut self, at: usize, told: &Path, inner: &[usize]) {
        let Some(folder) = self.listing.folders.get(at) else { return };
        let mut entries = folder.entries.clone();
        let is_repository =
            folder.is_gits && entries.any(|entry| self.listing.name(entry) == b"HEAD");
        let folder_of = |entry: &usize| {
            let name = self.listing.name(*entry);
            let mut inner = folder.inner(name, told, Some(*entry));
            if is_repository && GITS_OWN.contains(&name) {
                inner.state = State::Passed;
            }
            inner
        };
        let folders: Vec<Folder> = inner.iter().map(folder_of).collect();
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
