//! The snapshot before a run: the names in the folders that can be written, breadth first and within
//! bounds, with hashes of files from which code may run.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{CStr, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::bounds::{Bounds, Deadline, Scope};
use super::folder::{Extent, SnapshotFolder, Start};
use super::rank::{GITS_OWN, Rank};
use super::watch::{Touch, TouchedFolders, Watch};
use crate::files::digest::remembered as remembered_hash;
use crate::files::folders::{self, FolderReader, NameKind, Names, Stamp, reopen};
use crate::files::open::entry;
use crate::inspect::stat_of;

/// Files from which code may run whose content is remembered.
const KNOWN_MAX: usize = 512;
/// Larger ones, and all beyond so many bytes together, are compared by their ctime.
const HASHED_BYTES_MAX: u64 = 1 << 20;
const ALL_HASHED_BYTES_MAX: u64 = 8 << 20;
/// Names that are remembered beyond the bound, in folders that have to do with code that runs.
const FIRST_NAMES_MAX: usize = 2_000;
/// After so many names that are passed by, the clock is read.
const NAMES_PER_LOOK: usize = 1024;

/// Snapshots that are remembered: one for each project and list of writable folders.
const REMEMBERED_MAX: usize = 8;

/// The last snapshots of this process. One holds for the next call if the kernel reports no change since.
static LAST: Mutex<Vec<Last>> = Mutex::new(Vec::new());

/// A file from which code may run, as it was.
#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    pub(super) mode: u32,
    pub(super) hash: Option<String>,
}

/// The folders before a run.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) folders: Vec<SnapshotFolder>,
    /// Files from which code may run, by their paths in the report.
    pub(super) known: HashMap<PathBuf, KnownFile>,
    /// The time was up before the end.
    pub(super) is_late: bool,
}

/// The notices about a run.
#[derive(Debug, Clone)]
pub(super) struct Notices {
    pub(super) watch: Watch,
    /// The last reading of the queue before the run.
    pub(super) reading: u64,
}

#[derive(Debug)]
struct Last {
    starts: Vec<PathBuf>,
    bounds: Bounds,
    listing: Arc<Listing>,
    watched: Option<Notices>,
    /// Watching has failed, and is not tried again.
    is_unwatchable: bool,
}

/// Looks at these folders, as far as the last snapshot does not hold any more.
pub(super) fn take(starts: &[Start], bounds: Bounds) -> (Arc<Listing>, Option<Notices>) {
    let paths: Vec<PathBuf> = starts.iter().map(|start| start.path.clone()).collect();
    // Calls that begin at the same time share one walk.
    let mut all = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.iter().position(|last| last.starts == paths && last.bounds == bounds);
    let last = known.map(|at| all.remove(at));
    let next = Last::after(last.as_ref(), starts, (paths, bounds));
    let taken = (Arc::clone(&next.listing), next.watched.clone());
    all.insert(0, next);
    all.truncate(REMEMBERED_MAX);
    taken
}

impl Last {
    fn after(
        last: Option<&Self>,
        starts: &[Start],
        (paths, bounds): (Vec<PathBuf>, Bounds),
    ) -> Self {
        let before = last.and_then(|last| Some((&last.listing, last.watched.as_ref()?)));
        let is_unwatchable = last.is_some_and(|last| last.is_unwatchable);
        // The first call of a process is often its only one, and pays for no watch.
        let is_to_watch = bounds.scope == Scope::Noticed && last.is_some() && !is_unwatchable;
        let watch = match before {
            Some((_, watched)) => Some(watched.watch.clone()),
            None => is_to_watch.then(|| Watch::new().ok()).flatten(),
        };
        let reading = watch.as_ref().map(Watch::read);
        let mut prior = HashMap::new();
        if let (Some((listing, watched)), Some(reading)) = (before, reading) {
            let touched = watched.watch.touched_after(watched.reading);
            if listing.holds(&touched) {
                let watched = Some(Notices { watch: watched.watch.clone(), reading });
                let listing = Arc::clone(listing);
                return Self { starts: paths, bounds, listing, watched, is_unwatchable };
            }
            prior = listing.untouched(&touched);
        }
        let mut walk = SnapshotWalk::new(starts, bounds, (watch.as_ref(), prior));
        walk.through(bounds.end());
        let has_failed = walk.has_failed_to_watch;
        let listing = Arc::new(walk.listing);
        let watched = match (watch, reading) {
            (Some(watch), Some(reading)) if !has_failed => Some(Notices { watch, reading }),
            _ => None,
        };
        let is_unwatchable = is_unwatchable || (is_to_watch && watched.is_none());
        Self { starts: paths, bounds, listing, watched, is_unwatchable }
    }
}

impl Listing {
    /// Whether it would be the same if it were made after these notices.
    fn holds(&self, touched: &TouchedFolders) -> bool {
        let holds = |folder: &SnapshotFolder| match folder.extent {
            Extent::Waiting | Extent::Passed => true,
            Extent::Unread | Extent::New => false,
            Extent::Cut | Extent::Whole => match touched.of(folder.watch) {
                Touch::Nothing => true,
                Touch::Files => !folder.has_known,
                Touch::Names | Touch::Itself => false,
            },
        };
        !self.is_late && self.folders.iter().all(holds)
    }

    /// The watches on folders that are where they were, by the states of these.
    fn untouched(&self, touched: &TouchedFolders) -> HashMap<Stamp, i32> {
        let is_there = |folder: &&SnapshotFolder| touched.of(folder.watch) != Touch::Itself;
        let folders = self.folders.iter().filter(is_there);
        folders.filter_map(|folder| Some((folder.stamp?, folder.watch?))).collect()
    }

    /// The folder of this name in another, if it was met.
    pub(super) fn inner(&self, folder: &SnapshotFolder, name: &CStr) -> Option<usize> {
        let is_it = |at: &usize| {
            let below = self.folders.get(*at).map(|inner| inner.below.as_path());
            let last = below.and_then(Path::file_name).map(OsStr::as_bytes);
            last == Some(name.to_bytes())
        };
        folder.inner.clone().find(is_it)
    }
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

struct SnapshotWalk<'w> {
    starts: &'w [Start],
    bounds: Bounds,
    listing: Listing,
    todo: Todo<usize>,
    reader: FolderReader,
    watch: Option<&'w Watch>,
    /// Watches that were there before.
    prior: HashMap<Stamp, i32>,
    has_failed_to_watch: bool,
    names_left: usize,
    first_names_left: usize,
    bytes_left: u64,
}

impl<'w> SnapshotWalk<'w> {
    fn new(
        starts: &'w [Start],
        bounds: Bounds,
        (watch, prior): (Option<&'w Watch>, HashMap<Stamp, i32>),
    ) -> Self {
        Self {
            starts,
            bounds,
            listing: Listing::default(),
            todo: Todo::default(),
            reader: FolderReader::default(),
            watch,
            prior,
            has_failed_to_watch: false,
            names_left: bounds.names,
            first_names_left: if bounds.scope == Scope::Risky { 0 } else { FIRST_NAMES_MAX },
            bytes_left: ALL_HASHED_BYTES_MAX,
        }
    }

    fn through(&mut self, until: Deadline) {
        for (at, start) in self.starts.iter().enumerate() {
            self.add(SnapshotFolder::start(at, start));
        }
        while let Some(at) = self.todo.next() {
            self.listing.is_late = until.is_over();
            let Some(folder) = self.listing.folders.get(at) else { continue };
            // Folders that tools fill come last, and nothing else after them.
            if folder.rank == Rank::Last {
                self.names_left = self.names_left.min(self.bounds.bulk_names);
            }
            if self.names_left_in(folder) == 0 || self.listing.is_late {
                break;
            }
            let mut folder = folder.clone();
            self.look_into(&mut folder, at, until);
            if let Some(place) = self.listing.folders.get_mut(at) {
                *place = folder;
            }
        }
    }

    /// Folders that have to do with code that runs have room for themselves.
    fn names_left_in(&self, folder: &SnapshotFolder) -> usize {
        let own = if folder.rank == Rank::First { self.first_names_left } else { 0 };
        self.names_left.saturating_add(own)
    }

    fn add(&mut self, folder: SnapshotFolder) {
        if folder.extent == Extent::Waiting {
            self.todo.add(folder.rank, self.listing.folders.len());
        }
        self.listing.folders.push(folder);
    }

    fn look_into(&mut self, folder: &mut SnapshotFolder, at: usize, until: Deadline) {
        let shown = folder.shown(self.starts);
        let Ok(handle) = self.names(folder, &shown, until) else {
            folder.extent = Extent::Unread;
            return;
        };
        let names = Arc::clone(&folder.names);
        for name in names.iter().filter(|name| name.kind != NameKind::Folder) {
            if folder.may_run(&shown, name.text.to_bytes()) {
                folder.has_known |= self.know(handle.as_fd(), &shown, name.text);
            }
        }
        self.add_inner(folder, at, &shown);
    }

    /// Finds the names of a folder, which are remembered if it was not touched since they were read.
    fn names(
        &mut self,
        folder: &mut SnapshotFolder,
        shown: &Path,
        until: Deadline,
    ) -> Result<OwnedFd, Errno> {
        let handle = folder.open(self.starts)?;
        let mut stamp = Stamp::of_handle(handle.as_fd())?;
        if let Some(watch) = self.watch {
            folder.watch = self.prior.get(&stamp).copied();
            if folder.watch.is_none() {
                match watch.add(handle.as_fd()) {
                    Ok(number) => folder.watch = Some(number),
                    Err(_) => {
                        self.has_failed_to_watch = true;
                        self.watch = None;
                    }
                }
                // What happened between the two looks is not lost.
                stamp = Stamp::of_handle(handle.as_fd())?;
            }
        }
        let is_sure = stamp.is_over();
        let left = self.names_left_in(folder);
        let known = folders::remembered(&stamp).filter(|names| names.len() <= left);
        folder.stamp = is_sure.then_some(stamp);
        folder.inode = stamp.inode();
        if let Some(names) = known {
            let beyond = names.len().saturating_sub(self.names_left);
            self.names_left = self.names_left.saturating_sub(names.len());
            self.first_names_left = self.first_names_left.saturating_sub(beyond);
            (folder.names, folder.extent) = (names, Extent::Whole);
            return Ok(handle);
        }
        let readable = reopen(handle.as_fd())?;
        let (names, is_whole) = self.read(readable.as_fd(), (folder, shown), until)?;
        folder.names = Arc::new(names);
        folder.extent = if is_whole { Extent::Whole } else { Extent::Cut };
        if is_sure && is_whole && self.bounds.scope != Scope::Risky {
            folders::remember(stamp, &folder.names);
        }
        Ok(handle)
    }

    /// Reads the names of a folder, and says whether these are all that count. At the top, names that
    /// matter most are kept beyond the bound.
    fn read(
        &mut self,
        handle: BorrowedFd<'_>,
        (folder, shown): (&SnapshotFolder, &Path),
        until: Deadline,
    ) -> Result<(Names, bool), Errno> {
        let (mut names, mut beyond, mut passed) = (Names::default(), 0_usize, 0_usize);
        let Self { names_left, first_names_left, bounds, reader, .. } = self;
        let read = reader.read(handle, |name| {
            let text = name.text.to_bytes();
            let matters = || match name.kind {
                NameKind::Folder => folder.inner(text, shown, None).leads_on(Scope::Risky),
                NameKind::File => folder.may_run(shown, text),
                NameKind::Link | NameKind::Unknown => true,
            };
            let is_clock_due = passed.is_multiple_of(NAMES_PER_LOOK);
            if bounds.scope == Scope::Risky && !matters() {
                passed = passed.saturating_add(1);
            } else if let Some(left) = names_left.checked_sub(1) {
                *names_left = left;
                names.push(name);
                return ControlFlow::Continue(());
            } else if let (Rank::First, Some(left)) = (folder.rank, first_names_left.checked_sub(1))
            {
                *first_names_left = left;
                names.push(name);
                return ControlFlow::Continue(());
            } else if folder.parent.is_none() {
                beyond = beyond.saturating_add(1);
                passed = passed.saturating_add(1);
                if matters() {
                    names.push(name);
                }
            } else {
                return ControlFlow::Break(());
            }
            if is_clock_due && until.is_over() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok((names, read.is_continue() && beyond == 0))
    }

    fn add_inner(&mut self, folder: &mut SnapshotFolder, at: usize, shown: &Path) {
        let names = Arc::clone(&folder.names);
        let is_repository =
            folder.is_gits && names.iter().any(|name| name.text.to_bytes() == b"HEAD");
        let from = self.listing.folders.len();
        for name in names.iter().filter(|name| name.kind == NameKind::Folder) {
            let text = name.text.to_bytes();
            let mut inner = folder.inner(text, shown, Some(at));
            if !inner.leads_on(self.bounds.scope) {
                continue;
            }
            let is_store = is_repository && GITS_OWN.contains(&text);
            if is_store && !inner.is_repository(self.starts) {
                inner.extent = Extent::Passed;
            }
            self.add(inner);
        }
        folder.inner = from..self.listing.folders.len();
    }

    /// Remembers a file from which code may run.
    fn know(&mut self, folder: BorrowedFd<'_>, shown: &Path, name: &CStr) -> bool {
        if self.listing.known.len() >= KNOWN_MAX {
            return false;
        }
        let name = OsStr::from_bytes(name.to_bytes());
        let Ok(handle) = entry(folder, name) else { return false };
        let Ok(stat) = stat_of(handle.as_fd()) else { return false };
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let mut hash = None;
        if is_file && size <= HASHED_BYTES_MAX.min(self.bytes_left) {
            self.bytes_left = self.bytes_left.saturating_sub(size);
            hash = remembered_hash(handle.as_fd(), &stat, Path::new(name)).ok().flatten();
        }
        self.listing.known.insert(shown.join(name), KnownFile { mode: stat.st_mode, hash });
        true
    }
}
