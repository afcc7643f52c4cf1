//! A walk through a folder and all below it, on handles: no link is followed, and what is ignored or
//! must not be seen is passed by.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;

use super::ignore_lists::IgnoreLists;
use super::open::beneath;
use super::{FileError, Job};
use crate::limits::LimitHit;

/// Names that one walk looks at.
const NAMES_MAX: usize = 1_000_000;

/// A name that a walk met.
#[derive(Debug)]
pub(super) struct WalkEntry<'m> {
    /// The folder that holds it.
    pub(super) folder: BorrowedFd<'m>,
    pub(super) name: &'m OsStr,
    /// Its real path.
    pub(super) path: &'m Path,
    /// The same, from the folder in which the walk began.
    pub(super) below: &'m Path,
    pub(super) kind: FileType,
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Stop,
}

/// What there is to be said about a walk.
#[derive(Debug, Default)]
pub(super) struct WalkResult {
    /// Files and folders that must not be seen.
    pub(super) unseen: u64,
    /// Folders that could not be read.
    pub(super) unread: u64,
    /// The time was up.
    pub(super) limit: Option<LimitHit>,
    /// There are too many names.
    pub(super) is_cut: bool,
}

impl WalkResult {
    /// The same in words.
    pub(super) fn remarks(&self) -> Vec<String> {
        let unseen = (self.unseen > 0)
            .then(|| format!("{} files or folders were left out by the policy", self.unseen));
        let unread =
            (self.unread > 0).then(|| format!("{} folders could not be read", self.unread));
        let late = self.limit.map(|_| "the time was up before the end".to_owned());
        let cut = self.is_cut.then(|| format!("not all was looked at: only {NAMES_MAX} names"));
        [unseen, unread, late, cut].into_iter().flatten().collect()
    }
}

/// Goes through all files and links below the folder that was judged, names in their order.
pub(super) fn walk(
    job: &Job<'_>,
    mut meet: impl FnMut(&WalkEntry<'_>) -> Next,
) -> Result<WalkResult, FileError> {
    let place = job.place;
    let start = place.file.as_ref().ok_or_else(|| FileError::Missing(place.real.clone()))?;
    let (root, root_path) = job.root;
    let lists = IgnoreLists::above(root, root_path, &place.real);
    let mut walked = WalkResult::default();
    let mut names_left = NAMES_MAX;
    let mut todo = vec![(PathBuf::new(), lists)];
    while let Some((below, lists)) = todo.pop() {
        let Ok((folder, names)) = list(start.as_fd(), &below, &mut names_left) else {
            walked.unread = walked.unread.saturating_add(1);
            continue;
        };
        let path = join(&place.real, &below);
        let lists =
            IgnoreLists::in_folder(&lists, folder.as_fd(), &path, |name| names.contains_key(name));
        let mut folders = Vec::new();
        for (name, kind) in names {
            if job.is_late() {
                walked.limit = Some(LimitHit::Wall);
                return Ok(walked);
            }
            let (path, below) = (path.join(&name), below.join(&name));
            if name == ".git" || lists.leave_out(&path, kind == FileType::Directory) {
                continue;
            }
            if !job.sight.sees(&path) {
                walked.unseen = walked.unseen.saturating_add(1);
                continue;
            }
            if kind == FileType::Directory {
                folders.push((below, Rc::clone(&lists)));
                continue;
            }
            let (name, path, below) = (name.as_os_str(), path.as_path(), below.as_path());
            let one = WalkEntry { folder: folder.as_fd(), name, path, below, kind };
            if meet(&one) == Next::Stop {
                return Ok(walked);
            }
        }
        todo.extend(folders.into_iter().rev());
        if names_left == 0 {
            walked.is_cut = true;
            return Ok(walked);
        }
    }
    Ok(walked)
}

type EntryKinds = BTreeMap<OsString, FileType>;

/// The names in a folder, reached from the first one through no link.
fn list(
    start: BorrowedFd<'_>,
    below: &Path,
    left: &mut usize,
) -> Result<(std::os::fd::OwnedFd, EntryKinds), Errno> {
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    let folder = beneath(start, below, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut names = EntryKinds::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            kind = kind_of(folder.as_fd(), name)?;
        }
        names.insert(name.to_owned(), kind);
        *left = left.saturating_sub(1);
        if *left == 0 {
            break;
        }
    }
    Ok((folder, names))
}

fn kind_of(folder: BorrowedFd<'_>, name: &OsStr) -> Result<FileType, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode)),
        Err(Errno::NOENT) => Ok(FileType::Unknown),
        Err(errno) => Err(errno),
    }
}

fn join(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) }
}
