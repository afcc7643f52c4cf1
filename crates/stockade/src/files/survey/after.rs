//! The look after a run: the same folders and those that are new, beside what is known of before.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::bounds::{Bounds, Deadline};
use super::folder::{Buffer, Described, Name, again};
use super::listing::{Folder, Listing, Start, State};
use super::look::Todo;
use super::rank::Rank;
use super::unseen::{Unseen, Why};
use crate::files::Kind;

/// After so many names the clock is looked at.
const NAMES_PER_LOOK: usize = 64;
/// Files from which code may run that are looked at beyond the bound of new names.
const RISKY_MAX: usize = 1000;
/// How long the paths of all that is found may be together. What code may run from has half of it for
/// itself.
pub(super) const FOUND_BYTES_MAX: usize = 8 << 20;

/// A file that was changed.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) below: PathBuf,
    pub(super) kind: Kind,
    /// None if it is gone.
    pub(super) described: Option<Described>,
    /// What it was before.
    pub(super) entry: Option<usize>,
}

/// What a walk came across.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) found: Vec<Found>,
    pub(super) unseen: Unseen,
}

/// A walk with its bounds.
#[derive(Debug)]
pub(super) struct Walk<'w> {
    found: Vec<Found>,
    unseen: Unseen,
    starts: &'w [Start],
    before: &'w Listing,
    started: (i64, i64),
    until: Deadline,
    new_left: usize,
    risky_left: usize,
    todo: Todo<Folder>,
    /// Which of the entries of before are still there.
    is_there: Vec<bool>,
    bytes_left: usize,
}

/// The folder that a walk is in.
struct Here<'h> {
    folder: &'h Folder,
    handle: BorrowedFd<'h>,
    told: PathBuf,
    names: Names<'h>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        (starts, before): (&'w [Start], &'w Listing),
        started: (i64, i64),
        bounds: Bounds,
    ) -> Self {
        Self {
            found: Vec::new(),
            unseen: Unseen::default(),
            starts,
            before,
            started,
            until: bounds.end(),
            new_left: bounds.new_names,
            risky_left: RISKY_MAX,
            todo: Todo::default(),
            is_there: vec![false; before.entries_len()],
            bytes_left: FOUND_BYTES_MAX,
        }
    }

    /// Goes through all that was known, and then through what is new.
    pub(super) fn through(mut self) -> Walked {
        let mut buffer = Buffer::new();
        for folder in &self.before.folders {
            match folder.state {
                State::Whole | State::Cut => self.folder(folder, &mut buffer),
                // A store that has become a repository is one that nobody has looked at.
                State::Passed if folder.is_repository(self.starts) => {
                    self.todo.add(folder.rank, Folder { state: State::New, ..folder.clone() });
                }
                State::Waiting | State::Unread | State::Passed | State::New => {}
            }
            self.tell_unseen(folder);
        }
        while let Some(folder) = self.todo.next() {
            self.folder(&folder, &mut buffer);
        }
        Walked { found: self.found, unseen: self.unseen }
    }

    /// What was not looked at before, is not looked at afterwards either.
    fn tell_unseen(&mut self, folder: &Folder) {
        let why = match folder.state {
            State::Waiting if self.before.is_late => Why::Time,
            State::Waiting | State::Cut if folder.rank == Rank::Last => Why::Bulk,
            State::Waiting | State::Cut => Why::Names,
            State::Unread => Why::Unread,
            State::Passed | State::Whole | State::New => return,
        };
        self.unseen(why, folder);
    }

    fn unseen(&mut self, why: Why, folder: &Folder) {
        self.unseen.add(why, || shown(&folder.told(self.starts)));
    }

    fn folder(&mut self, folder: &Folder, buffer: &mut Buffer) {
        if self.until.is_over() {
            return self.unseen(Why::Time, folder);
        }
        let handle = match folder.handle(self.starts) {
            Ok(handle) => handle,
            // A link in its place is no way to what was in it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return self.gone(folder, &folder.told(self.starts));
            }
            Err(_) => return self.unseen(Why::Unread, folder),
        };
        let told = folder.told(self.starts);
        let names = Names::new(self.before, folder);
        let mut here = Here { folder, handle: handle.as_fd(), told, names };
        let read = if self.has_same_names(&here) {
            Ok(self.same_names(&here))
        } else {
            self.other_names(&mut here, buffer)
        };
        match read {
            Ok(ControlFlow::Continue(())) => self.gone(folder, &here.told),
            Ok(ControlFlow::Break(())) => self.unseen(Why::Time, folder),
            Err(_) => self.unseen(Why::Unread, folder),
        }
    }

    /// Whether no name in a folder was made, moved or removed since the start: it is the same folder,
    /// and its own ctime says so. One that was moved to its place has an older one, too.
    fn has_same_names(&self, here: &Here<'_>) -> bool {
        let before = here.folder.entry.and_then(|entry| self.before.entry(entry));
        let is_it = |now: &Described| before.is_none_or(|before| before.inode == now.inode);
        here.folder.state == State::Whole
            && Described::of_handle(here.handle)
                .is_ok_and(|now| is_it(&now) && now.changed < self.started)
    }

    fn same_names(&mut self, here: &Here<'_>) -> ControlFlow<()> {
        for at in here.folder.entries.clone() {
            if at.is_multiple_of(NAMES_PER_LOOK) && self.until.is_over() {
                return ControlFlow::Break(());
            }
            if let Some(is_there) = self.is_there.get_mut(at) {
                *is_there = true;
            }
            let is_folder = self.before.entry(at).is_none_or(|entry| entry.is_folder);
            if let Some(name) = self.before.system_name(at).filter(|_| !is_folder) {
                self.file(here, (name, Some(at), false), |described, started| {
                    (described.changed >= started).then_some(Kind::Modified)
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn other_names(
        &mut self,
        here: &mut Here<'_>,
        buffer: &mut Buffer,
    ) -> Result<ControlFlow<()>, Errno> {
        let readable = again(here.handle)?;
        let mut met: usize = 0;
        buffer.read(readable.as_fd(), |name| {
            met = met.wrapping_add(1);
            if met.is_multiple_of(NAMES_PER_LOOK) && self.until.is_over() {
                return ControlFlow::Break(());
            }
            self.name(here, name);
            ControlFlow::Continue(())
        })
    }

    fn name(&mut self, here: &mut Here<'_>, name: Name<'_>) {
        let Some(at) = here.names.find(name.text.to_bytes()) else {
            return self.unknown(here, name);
        };
        if let Some(is_there) = self.is_there.get_mut(at) {
            *is_there = true;
        }
        let Some(before) = self.before.entry(at) else { return };
        let is_other = before.inode != name.inode;
        match (before.is_folder, name.is_folder) {
            (true, true) if is_other && self.before.is_unlooked(at) => self.new_folder(here, name),
            // It is gone through like all that are known.
            (true, true) => {}
            (false, true) => {
                self.gone_file(here.folder, at, &here.told);
                self.new_folder(here, name);
            }
            (true, false) => {
                self.file(here, (name.text, None, name.is_link), |_, _| Some(Kind::Created));
            }
            (false, false) => {
                let changed = |described: &Described, started| {
                    (is_other || described.changed >= started).then_some(Kind::Modified)
                };
                self.file(here, (name.text, Some(at), name.is_link), changed);
            }
        }
    }

    /// A name that was not there, or, where not all names are known, was perhaps not.
    fn unknown(&mut self, here: &Here<'_>, name: Name<'_>) {
        let is_cut = here.folder.state == State::Cut;
        if name.is_folder {
            // What is in it may be as old as the project, and there was no look at it.
            if !is_cut {
                self.new_folder(here, name);
            }
            return;
        }
        if !self.may_look(here, name.text.to_bytes()) {
            return;
        }
        self.file(here, (name.text, None, name.is_link), |described, started| {
            let is_new = !is_cut || described.born.is_some_and(|born| born >= started);
            let kind = if is_new { Kind::Created } else { Kind::Modified };
            (!is_cut || described.changed >= started).then_some(kind)
        });
    }

    /// Whether one more new name may be looked at. Those from which code may run have bounds of
    /// their own: they cannot be hidden behind many others.
    fn may_look(&mut self, here: &Here<'_>, name: &[u8]) -> bool {
        if let Some(left) = self.new_left.checked_sub(1) {
            self.new_left = left;
            return true;
        }
        if here.folder.may_run(&here.told, name)
            && let Some(left) = self.risky_left.checked_sub(1)
        {
            self.risky_left = left;
            return true;
        }
        self.unseen(Why::NewNames, here.folder);
        false
    }

    fn new_folder(&mut self, here: &Here<'_>, name: Name<'_>) {
        let mut folder = here.folder.inner(name.text.to_bytes(), &here.told, None);
        folder.state = State::New;
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
        (name, entry, is_link): (&CStr, Option<usize>, bool),
        kind: impl FnOnce(&Described, (i64, i64)) -> Option<Kind>,
    ) {
        let Here { folder, handle, told, .. } = here;
        // Git follows links, wherever they are.
        if folder.is_gits && !is_link && !folder.may_run(told, name.to_bytes()) {
            return;
        }
        let described = match Described::of(*handle, name) {
            Ok(described) => described,
            // It went just now, by somebody else.
            Err(Errno::NOENT) => return,
            Err(_) => {
                let path = told.join(OsStr::from_bytes(name.to_bytes()));
                return self.unseen.add(Why::Unread, || shown(&path));
            }
        };
        if let Some(kind) = kind(&described, self.started) {
            let below = folder.below.join(OsStr::from_bytes(name.to_bytes()));
            let found =
                Found { start: folder.start, below, kind, described: Some(described), entry };
            self.push(found, folder, folder.may_run(told, name.to_bytes()) || is_link);
        }
    }

    /// What was in a folder, and is there no more.
    fn gone(&mut self, folder: &Folder, told: &Path) {
        for at in folder.entries.clone() {
            let is_there = self.is_there.get(at).copied().unwrap_or_default();
            let is_folder = self.before.entry(at).is_some_and(|entry| entry.is_folder);
            // Files of a folder that was looked into are missed one by one.
            if !is_there && (!is_folder || self.before.is_unlooked(at)) {
                self.gone_file(folder, at, told);
            }
        }
    }

    fn gone_file(&mut self, folder: &Folder, at: usize, told: &Path) {
        let name = self.before.name(at);
        if folder.is_gits && !folder.may_run(told, name) {
            return;
        }
        let found = Found {
            start: folder.start,
            below: folder.below.join(OsStr::from_bytes(name)),
            kind: Kind::Deleted,
            described: None,
            entry: Some(at),
        };
        self.push(found, folder, folder.may_run(told, name));
    }

    fn push(&mut self, found: Found, folder: &Folder, may_run: bool) {
        let kept_back = if may_run { 0 } else { FOUND_BYTES_MAX / 2 };
        match self.bytes_left.checked_sub(found.below.as_os_str().len()) {
            Some(left) if left >= kept_back => {
                self.bytes_left = left;
                self.found.push(found);
            }
            Some(_) | None => self.unseen(Why::Bytes, folder),
        }
    }
}

/// A path as it is told.
pub(super) fn shown(path: &Path) -> String {
    let is_root = path.as_os_str().is_empty();
    if is_root { ".".to_owned() } else { path.to_string_lossy().into_owned() }
}

/// The names that a folder had, found one after the other as long as they come in the same order.
#[derive(Debug)]
struct Names<'n> {
    before: &'n Listing,
    folder: &'n Folder,
    next: usize,
    by_name: Option<HashMap<&'n [u8], usize>>,
}

impl<'n> Names<'n> {
    fn new(before: &'n Listing, folder: &'n Folder) -> Self {
        Self { before, folder, next: folder.entries.start, by_name: None }
    }

    fn find(&mut self, name: &[u8]) -> Option<usize> {
        let Self { before, folder, next, by_name } = self;
        if folder.entries.contains(next) && before.name(*next) == name {
            let found = *next;
            *next = next.saturating_add(1);
            return Some(found);
        }
        let all = || folder.entries.clone().map(|at| (before.name(at), at)).collect();
        let found = by_name.get_or_insert_with(all).get(name).copied()?;
        *next = found.saturating_add(1);
        Some(found)
    }
}
