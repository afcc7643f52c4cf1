//! The comparison after a run: the folders of the snapshot and those that are new.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::bounds::{Bounds, Deadline, Scope};
use super::folder::{Extent, SnapshotFolder, Start};
use super::rank::Rank;
use super::take::{Listing, Todo};
use super::unseen::{UnseenPlaces, Why};
use super::watch::{Touch, TouchedFolders};
use super::{ChangeKind, shown};
use crate::files::folders::{FileStat, FolderReader, Name, NameKind, reopen};

/// After so many names the clock is read.
const NAMES_PER_LOOK: usize = 64;
/// Files from which code may run that are looked at beyond the bound of new names.
const RISKY_MAX: usize = 1000;
/// How long the paths of all changes may be together. Files from which code may run have half of it
/// for themselves.
pub(super) const FOUND_BYTES_MAX: usize = 8 << 20;

/// A file that seems to be changed.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) start: usize,
    pub(super) below: PathBuf,
    pub(super) kind: ChangeKind,
    /// None if it is gone.
    pub(super) stat: Option<FileStat>,
}

/// What a comparison found.
#[derive(Debug)]
pub(super) struct Differences {
    pub(super) files: Vec<Difference>,
    pub(super) unseen: UnseenPlaces,
    /// A file that was written has another name, perhaps in a folder that was not compared.
    pub(super) has_twin: bool,
}

/// A comparison with its bounds.
pub(super) struct Comparison<'c> {
    found: Differences,
    starts: &'c [Start],
    before: &'c Listing,
    /// The folders about which there were notices; none if there are no notices.
    touched: Option<&'c TouchedFolders>,
    scope: Scope,
    started: (i64, i64),
    until: Deadline,
    new_left: usize,
    risky_left: usize,
    bytes_left: usize,
    todo: Todo<SnapshotFolder>,
    /// Folders that were moved, or that are in one that was: what is at their path has to be compared.
    is_moved: Vec<bool>,
}

/// The folder that is compared.
struct Here<'h> {
    folder: &'h SnapshotFolder,
    handle: BorrowedFd<'h>,
    shown: &'h Path,
}

impl<'c> Comparison<'c> {
    pub(super) fn new(
        (starts, before): (&'c [Start], &'c Listing),
        touched: Option<&'c TouchedFolders>,
        started: (i64, i64),
        bounds: Bounds,
    ) -> Self {
        let found =
            Differences { files: Vec::new(), unseen: UnseenPlaces::default(), has_twin: false };
        Self {
            found,
            starts,
            before,
            touched,
            scope: bounds.scope,
            started,
            until: bounds.end(),
            new_left: bounds.new_names,
            risky_left: RISKY_MAX,
            bytes_left: FOUND_BYTES_MAX,
            todo: Todo::default(),
            is_moved: vec![false; before.folders.len()],
        }
    }

    /// Compares the folders that were known, and then looks into those that are new.
    pub(super) fn run(mut self) -> Differences {
        let mut reader = FolderReader::default();
        for (at, folder) in self.before.folders.iter().enumerate() {
            match folder.extent {
                Extent::Whole | Extent::Cut => self.known(at, folder, &mut reader),
                // A store that has become a repository was never looked into.
                Extent::Passed if folder.is_repository(self.starts) => {
                    self.todo
                        .add(folder.rank, SnapshotFolder { extent: Extent::New, ..folder.clone() });
                }
                Extent::Waiting | Extent::Unread | Extent::Passed | Extent::New => {}
            }
            self.report_unseen(folder);
        }
        while let Some(folder) = self.todo.next() {
            let path = folder.shown(self.starts);
            self.compare(&folder, &path, &mut reader);
        }
        self.found
    }

    /// What was not looked at before cannot be compared.
    fn report_unseen(&mut self, folder: &SnapshotFolder) {
        let why = match folder.extent {
            Extent::Waiting if self.before.is_late => Why::Time,
            Extent::Waiting | Extent::Cut if folder.rank == Rank::Last => Why::Bulk,
            Extent::Waiting | Extent::Cut => Why::Names,
            Extent::Unread => Why::Unread,
            Extent::Passed | Extent::Whole | Extent::New => return,
        };
        self.unseen(why, folder);
    }

    fn unseen(&mut self, why: Why, folder: &SnapshotFolder) {
        self.found.unseen.add(why, || shown(&folder.shown(self.starts)));
    }

    fn known(&mut self, at: usize, folder: &SnapshotFolder, reader: &mut FolderReader) {
        let is_in_moved =
            folder.parent.is_some_and(|at| self.is_moved.get(at).copied().unwrap_or(true));
        let touch = match self.touched {
            Some(touched) if !is_in_moved => touched.of(folder.watch),
            _ => Touch::Itself,
        };
        if let Some(is_moved) = self.is_moved.get_mut(at) {
            *is_moved = touch == Touch::Itself;
        }
        let is_untouched = touch == Touch::Nothing && folder.extent == Extent::Whole;
        if is_untouched && !folder.has_known {
            return;
        }
        let path = folder.shown(self.starts);
        if !is_untouched {
            self.compare(folder, &path, reader);
        } else if let Ok(handle) = folder.open(self.starts) {
            let here = Here { folder, handle: handle.as_fd(), shown: &path };
            for name in folder.names.iter() {
                if folder.may_run(&path, name.text.to_bytes()) {
                    self.file_of_before(&here, name, false);
                }
            }
        } else {
            self.unseen(Why::Unread, folder);
        }
    }

    fn compare(&mut self, folder: &SnapshotFolder, path: &Path, reader: &mut FolderReader) {
        if self.until.is_over() {
            return self.unseen(Why::Time, folder);
        }
        let handle = match folder.open(self.starts) {
            Ok(handle) => handle,
            // A link in its place is no way to what was in it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return self.gone(folder, path, &HashSet::new());
            }
            Err(_) => return self.unseen(Why::Unread, folder),
        };
        let here = Here { folder, handle: handle.as_fd(), shown: path };
        let read = if self.has_same_names(&here) {
            Ok(self.same_names(&here))
        } else {
            self.other_names(&here, reader)
        };
        match read {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.unseen(Why::Time, folder),
            Err(_) => self.unseen(Why::Unread, folder),
        }
    }

    /// Whether no name in a folder was created, moved or removed since the start: it is the same folder,
    /// and its own ctime says so. One that was moved to its place has an older one, too.
    fn has_same_names(&self, here: &Here<'_>) -> bool {
        here.folder.extent == Extent::Whole
            && FileStat::of_handle(here.handle)
                .is_ok_and(|now| now.inode == here.folder.inode && now.changed < self.started)
    }

    fn same_names(&mut self, here: &Here<'_>) -> ControlFlow<()> {
        for (at, name) in here.folder.names.iter().enumerate() {
            if at.is_multiple_of(NAMES_PER_LOOK) && self.until.is_over() {
                return ControlFlow::Break(());
            }
            if name.kind != NameKind::Folder {
                self.file_of_before(here, name, false);
            }
        }
        ControlFlow::Continue(())
    }

    fn other_names(
        &mut self,
        here: &Here<'_>,
        reader: &mut FolderReader,
    ) -> Result<ControlFlow<()>, Errno> {
        let before: HashMap<&CStr, Name<'_>> =
            here.folder.names.iter().map(|name| (name.text, name)).collect();
        let mut there: HashSet<&CStr> = HashSet::new();
        let readable = reopen(here.handle)?;
        let mut met: usize = 0;
        let read = reader.read(readable.as_fd(), |name| {
            met = met.wrapping_add(1);
            if met.is_multiple_of(NAMES_PER_LOOK) && self.until.is_over() {
                return ControlFlow::Break(());
            }
            match before.get(name.text) {
                Some(before) => {
                    there.insert(before.text);
                    self.name_of_before(here, *before, name);
                }
                None => self.new_name(here, name),
            }
            ControlFlow::Continue(())
        })?;
        if read.is_continue() {
            self.gone(here.folder, here.shown, &there);
        }
        Ok(read)
    }

    fn name_of_before(&mut self, here: &Here<'_>, before: Name<'_>, now: Name<'_>) {
        let is_other = before.inode != now.inode;
        match (before.kind == NameKind::Folder, now.kind == NameKind::Folder) {
            (true, true) if is_other && !self.is_compared(here.folder, now.text) => {
                self.new_folder(here, now);
            }
            // It is compared like all that are known.
            (true, true) => {}
            (false, true) => {
                self.gone_file(here.folder, here.shown, before);
                self.new_folder(here, now);
            }
            (true, false) => self.file(here, now, |_, _| Some(ChangeKind::Created)),
            (false, false) => self.file_of_before(here, now, is_other),
        }
    }

    /// Whether a folder in another is compared by itself.
    fn is_compared(&self, folder: &SnapshotFolder, name: &CStr) -> bool {
        let inner = self.before.inner(folder, name).and_then(|at| self.before.folders.get(at));
        inner.is_some_and(|inner| matches!(inner.extent, Extent::Whole | Extent::Cut))
    }

    fn file_of_before(&mut self, here: &Here<'_>, name: Name<'_>, is_other: bool) {
        self.file(here, name, |stat, started| {
            (is_other || stat.changed >= started).then_some(ChangeKind::Modified)
        });
    }

    /// A name that was not there, or, where not all names are known, was perhaps not.
    fn new_name(&mut self, here: &Here<'_>, name: Name<'_>) {
        let is_cut = here.folder.extent == Extent::Cut;
        if name.kind == NameKind::Folder {
            // What is in it may be as old as the project, and was not looked at before.
            if !is_cut {
                self.new_folder(here, name);
            }
            return;
        }
        let text = name.text.to_bytes();
        if !here.folder.counts(here.shown, text, name.kind, self.scope)
            || !self.may_look(here, text)
        {
            return;
        }
        self.file(here, name, |stat, started| {
            let is_new = !is_cut || stat.born.is_some_and(|born| born >= started);
            let kind = if is_new { ChangeKind::Created } else { ChangeKind::Modified };
            (!is_cut || stat.changed >= started).then_some(kind)
        });
    }

    /// Whether one more new name may be looked at. Those from which code may run have bounds of their
    /// own: they cannot be hidden behind many others.
    fn may_look(&mut self, here: &Here<'_>, name: &[u8]) -> bool {
        let is_risky = || here.folder.may_run(here.shown, name);
        let left = match (self.new_left, self.risky_left) {
            (1.., _) => &mut self.new_left,
            (0, 1..) if is_risky() => &mut self.risky_left,
            (0, _) => {
                self.unseen(Why::NewNames, here.folder);
                return false;
            }
        };
        *left = left.saturating_sub(1);
        true
    }

    fn new_folder(&mut self, here: &Here<'_>, name: Name<'_>) {
        let mut folder = here.folder.inner(name.text.to_bytes(), here.shown, None);
        if !folder.leads_on(self.scope) {
            return;
        }
        folder.extent = Extent::New;
        let matters = folder.is_risky || folder.rank == Rank::First;
        let left = match (self.new_left, self.risky_left) {
            (1.., _) => &mut self.new_left,
            (0, 1..) if matters => &mut self.risky_left,
            (0, _) => return self.unseen(Why::NewNames, here.folder),
        };
        *left = left.saturating_sub(1);
        self.todo.add(folder.rank, folder);
    }

    fn file(
        &mut self,
        here: &Here<'_>,
        name: Name<'_>,
        kind: impl FnOnce(&FileStat, (i64, i64)) -> Option<ChangeKind>,
    ) {
        let text = name.text.to_bytes();
        if !here.folder.counts(here.shown, text, name.kind, self.scope) {
            return;
        }
        let stat = match FileStat::of(here.handle, name.text) {
            Ok(stat) => stat,
            // Another process removed it just now.
            Err(Errno::NOENT) => return,
            Err(_) => {
                let path = here.shown.join(OsStr::from_bytes(text));
                return self.found.unseen.add(Why::Unread, || shown(&path));
            }
        };
        if let Some(kind) = kind(&stat, self.started) {
            self.found.has_twin |= stat.kind == FileType::RegularFile && stat.links > 1;
            let below = here.folder.below.join(OsStr::from_bytes(text));
            let found = Difference { start: here.folder.start, below, kind, stat: Some(stat) };
            let is_link = stat.kind == FileType::Symlink;
            self.push(found, here.folder, is_link || here.folder.may_run(here.shown, text));
        }
    }

    /// Reports the names of a folder that are not there any more.
    fn gone(&mut self, folder: &SnapshotFolder, path: &Path, there: &HashSet<&CStr>) {
        for name in folder.names.iter().filter(|name| !there.contains(name.text)) {
            // Files of a folder that was looked into are missed one by one.
            if name.kind != NameKind::Folder || !self.is_compared(folder, name.text) {
                self.gone_file(folder, path, name);
            }
        }
    }

    fn gone_file(&mut self, folder: &SnapshotFolder, path: &Path, name: Name<'_>) {
        let text = name.text.to_bytes();
        if !folder.counts(path, text, NameKind::File, self.scope) {
            return;
        }
        let below = folder.below.join(OsStr::from_bytes(text));
        let (start, kind) = (folder.start, ChangeKind::Deleted);
        let found = Difference { start, below, kind, stat: None };
        self.push(found, folder, folder.may_run(path, text));
    }

    fn push(&mut self, found: Difference, folder: &SnapshotFolder, may_run: bool) {
        let kept_back = if may_run { 0 } else { FOUND_BYTES_MAX / 2 };
        match self.bytes_left.checked_sub(found.below.as_os_str().len()) {
            Some(left) if left >= kept_back => {
                self.bytes_left = left;
                self.found.files.push(found);
            }
            Some(_) | None => self.unseen(Why::Bytes, folder),
        }
    }
}
