//! Files from which code runs, as they are now: a fixed list of places, no walk.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;

use super::{remembered, size_of};
use crate::files::digest::Moment;
use crate::files::open::beneath;
use crate::files::risky::{Place, places};
use crate::inspect::stat_of;

/// Files of one folder that are looked at, and how deep.
const FILES_MAX: usize = 256;
const DEPTH_MAX: usize = 3;
/// Larger ones are told by what the system says about them, and not by a hash.
const HASHED_BYTES_MAX: u64 = 1 << 20;

/// A file at one moment.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    moment: Moment,
    mode: u32,
    pub(super) size: u64,
    pub(super) hash: Option<String>,
}

impl Seen {
    /// Whether nothing that matters has changed: what is in it, and its mode.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_content = self.hash.is_some() && self.hash == other.hash;
        self.mode == other.mode && (self.moment == other.moment || is_same_content)
    }
}

/// The files of the list that are in this folder.
pub(super) fn look(folder: BorrowedFd<'_>, path: &Path) -> Vec<Seen> {
    let mut seen = Vec::new();
    for place in places() {
        match place {
            Place::File(name) => seen.extend(one(folder, Path::new(name), path)),
            Place::Folder(name) => {
                let mut left = FILES_MAX;
                all_in(folder, Path::new(name), path, DEPTH_MAX, &mut left, &mut seen);
            }
        }
    }
    seen
}

fn one(folder: BorrowedFd<'_>, name: &Path, path: &Path) -> Option<Seen> {
    let handle = beneath(folder, name, OFlags::PATH).ok()?;
    let stat = stat_of(handle.as_fd()).ok()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Directory {
        return None;
    }
    let path = path.join(name);
    let size = size_of(&stat);
    let is_hashed = kind == FileType::RegularFile && size <= HASHED_BYTES_MAX;
    let hash = is_hashed.then(|| remembered(handle.as_fd(), &stat, &path).ok()).flatten().flatten();
    Some(Seen { path, moment: Moment::of(&stat), mode: stat.st_mode, size, hash })
}

fn all_in(
    folder: BorrowedFd<'_>,
    name: &Path,
    path: &Path,
    depth: usize,
    left: &mut usize,
    seen: &mut Vec<Seen>,
) {
    let Ok(names) = names(folder, name, left) else { return };
    for (inner, kind) in names {
        let inner = name.join(inner);
        match (kind, depth.checked_sub(1)) {
            (FileType::Directory, Some(depth)) => all_in(folder, &inner, path, depth, left, seen),
            (FileType::Directory, None) => {}
            _ => seen.extend(one(folder, &inner, path)),
        }
    }
}

fn names(
    folder: BorrowedFd<'_>,
    name: &Path,
    left: &mut usize,
) -> Result<Vec<(OsString, FileType)>, Errno> {
    let handle = beneath(folder, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&handle)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { break };
        *left = fewer;
        names.push((name.to_owned(), entry.file_type()));
    }
    Ok(names)
}
