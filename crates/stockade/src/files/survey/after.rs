//! The walk after a run: every file whose ctime is not before its start.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, StatxFlags, statx};
use rustix::io::Errno;

use super::{remembered, size_of};
use crate::files::Kind;
use crate::files::open::{beneath, entry};
use crate::files::risky;
use crate::inspect::stat_of;

/// Names that are looked at, and how long that may take.
const NAMES_MAX: usize = 200_000;
const TIME_MAX: Duration = Duration::from_secs(2);

/// Folders in which git keeps what it stores, and from which nothing runs.
const GITS_OWN: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// A file that was changed.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) hash: Option<String>,
    pub(super) is_link: bool,
}

/// A walk with its bounds.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) found: Vec<Found>,
    started: (i64, i64),
    until: Option<Instant>,
    names_left: usize,
    is_cut: bool,
    unread: usize,
}

impl Walk {
    pub(super) fn new(started: (i64, i64)) -> Self {
        let until = Instant::now().checked_add(TIME_MAX);
        let found = Vec::new();
        Self { found, started, until, names_left: NAMES_MAX, is_cut: false, unread: 0 }
    }

    /// What was not looked at, in words.
    pub(super) fn unseen(&self) -> Option<String> {
        if self.is_cut {
            return Some("not all was looked at: there are too many files".to_owned());
        }
        (self.unread > 0).then(|| format!("{} folders could not be read", self.unread))
    }

    /// Goes through a folder. Of what git keeps for itself, only that is told from which code runs.
    pub(super) fn through(&mut self, start: BorrowedFd<'_>, path: &Path) {
        let mut todo = vec![PathBuf::from(".")];
        while let Some(below) = todo.pop() {
            if self.names_left == 0 || self.until.is_none_or(|until| Instant::now() >= until) {
                self.is_cut = true;
                return;
            }
            if self.folder(start, &below, path, &mut todo).is_err() {
                self.unread = self.unread.saturating_add(1);
            }
        }
    }

    fn folder(
        &mut self,
        start: BorrowedFd<'_>,
        below: &Path,
        path: &Path,
        todo: &mut Vec<PathBuf>,
    ) -> Result<(), Errno> {
        let folder = match beneath(start, below, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        for met in Dir::read_from(&folder)? {
            let met = met?;
            let name = OsStr::from_bytes(met.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(left) = self.names_left.checked_sub(1) else { break };
            self.names_left = left;
            let below = below.join(name);
            let is_gits = is_gits(&below);
            if met.file_type() == FileType::Directory {
                if !is_gits || !GITS_OWN.iter().any(|own| name == *own) {
                    todo.push(below);
                }
                continue;
            }
            if !is_gits || risky::why(&below).is_some() {
                self.file(folder.as_fd(), name, || path.join(below));
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: BorrowedFd<'_>, name: &OsStr, path: impl FnOnce() -> PathBuf) {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let Ok(stat) = statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, mask) else { return };
        let time = |seconds: i64, nanos: u32| (seconds, i64::from(nanos));
        if time(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec) < self.started {
            return;
        }
        let born = time(stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec);
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let kind = if has_birth && born >= self.started { Kind::Created } else { Kind::Modified };
        let path: PathBuf = path().components().collect();
        let (size, hash) = content(folder, name, &path).unwrap_or((stat.stx_size, None));
        let is_link = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Symlink;
        self.found.push(Found { path, kind, size, hash, is_link });
    }
}

/// Whether it is in a folder of git, also of a repository further down.
fn is_gits(below: &Path) -> bool {
    below.parent().is_some_and(|above| above.components().any(|name| name.as_os_str() == ".git"))
}

/// Its size and hash, if it is a regular file.
fn content(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Option<(u64, Option<String>)> {
    let handle = entry(folder, name).ok()?;
    let stat = stat_of(handle.as_fd()).ok()?;
    let hash = remembered(handle.as_fd(), &stat, path).ok()?;
    Some((size_of(&stat), hash))
}
