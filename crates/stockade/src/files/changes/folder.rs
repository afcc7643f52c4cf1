//! One folder of a snapshot.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::bounds::Scope;
use super::rank::{Rank, SIGNS};
use super::runs_code;
use crate::files::folders::{NameKind, Names, Stamp};
use crate::files::open::beneath;
use crate::files::risky::named;

/// A folder that the run can write, and in which a walk starts.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) handle: OwnedFd,
    pub(super) path: PathBuf,
    /// The path in the report: beneath the root, or absolute if it is elsewhere.
    pub(super) shown: PathBuf,
}

/// How much of a folder is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Nothing: the bounds were reached before it.
    Waiting,
    /// Nothing: it is a store of git, from which no code runs.
    Passed,
    /// Nothing: it cannot be read.
    Unread,
    /// Some of its names.
    Cut,
    /// All its names.
    Whole,
    /// It was not there before the run.
    New,
}

/// A folder, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct SnapshotFolder {
    /// The start that it is in, and its path from there.
    pub(super) start: usize,
    pub(super) below: PathBuf,
    /// The folder above it, and the folders in it, by their places in the list.
    pub(super) parent: Option<usize>,
    pub(super) inner: Range<usize>,
    pub(super) rank: Rank,
    pub(super) extent: Extent,
    /// Code may run from every file in it.
    pub(super) is_risky: bool,
    /// It is git's own: only files from which code runs count.
    pub(super) is_gits: bool,
    /// Hashes of files in it are known.
    pub(super) has_known: bool,
    pub(super) names: Arc<Names>,
    /// Its state when its names were read.
    pub(super) stamp: Option<Stamp>,
    pub(super) inode: u64,
    /// The number of the watch on it.
    pub(super) watch: Option<i32>,
}

impl SnapshotFolder {
    pub(super) fn start(at: usize, start: &Start) -> Self {
        Self {
            start: at,
            below: PathBuf::new(),
            parent: None,
            inner: 0..0,
            rank: Rank::Usual,
            extent: Extent::Waiting,
            is_risky: start.shown.ancestors().any(named::may_be_whole),
            is_gits: start.shown.iter().any(|name| name == ".git"),
            has_known: false,
            names: Arc::default(),
            stamp: None,
            inode: 0,
            watch: None,
        }
    }

    /// A folder in this one.
    pub(super) fn inner(&self, name: &[u8], shown: &Path, parent: Option<usize>) -> Self {
        let os_name = OsStr::from_bytes(name);
        let is_risky = self.is_risky || named::may_be_whole(&shown.join(os_name));
        let rank = Rank::of(name, self.rank);
        Self {
            start: self.start,
            below: self.below.join(os_name),
            parent,
            inner: 0..0,
            rank: if rank == Rank::Usual && is_risky { Rank::First } else { rank },
            extent: Extent::Waiting,
            is_risky,
            is_gits: self.is_gits || name == b".git",
            has_known: false,
            names: Arc::default(),
            stamp: None,
            inode: 0,
            watch: None,
        }
    }

    /// Its path in the report.
    pub(super) fn shown(&self, starts: &[Start]) -> PathBuf {
        let start = starts.get(self.start).map(|start| start.shown.as_path());
        start.unwrap_or(Path::new("")).join(&self.below)
    }

    /// Opens it as a handle that cannot be read. Follows no link.
    pub(super) fn open(&self, starts: &[Start]) -> Result<OwnedFd, Errno> {
        let start = starts.get(self.start).ok_or(Errno::NOENT)?;
        let is_start = self.below.as_os_str().is_empty();
        let below = if is_start { Path::new(".") } else { &self.below };
        beneath(start.handle.as_fd(), below, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// Whether code may run from a file of this name in it.
    pub(super) fn may_run(&self, shown: &Path, name: &[u8]) -> bool {
        self.is_risky || named::may_be_file(shown, name)
    }

    /// Whether a change of this name is reported. Git follows links, wherever they are.
    pub(super) fn counts(&self, shown: &Path, name: &[u8], kind: NameKind, scope: Scope) -> bool {
        let is_link = matches!(kind, NameKind::Link | NameKind::Unknown);
        let is_all = !self.is_gits && scope != Scope::Risky;
        let leads_to_code =
            || is_link && runs_code(&shown.join(OsStr::from_bytes(name)), true).is_some();
        is_all || self.may_run(shown, name) || leads_to_code()
    }

    /// Whether a folder in this one is looked into.
    pub(super) fn leads_on(&self, scope: Scope) -> bool {
        scope != Scope::Risky || self.is_risky || self.rank == Rank::First
    }

    /// Whether a folder with the name of a store of git is a repository after all, as a submodule of
    /// that name.
    pub(super) fn is_repository(&self, starts: &[Start]) -> bool {
        let Some(start) = starts.get(self.start) else { return false };
        let is_there = |sign: &str| {
            let opened = beneath(start.handle.as_fd(), &self.below.join(sign), OFlags::PATH);
            !matches!(opened, Err(Errno::NOENT | Errno::NOTDIR))
        };
        SIGNS.into_iter().any(is_there)
    }
}
