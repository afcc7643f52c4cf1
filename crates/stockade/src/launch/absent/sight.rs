//! What somebody outside of the sandbox created at a protected path, as it was first seen. Nothing keeps
//! a sandbox that runs already from changing it, so that it is compared after the run.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Stat};
use sha2::{Digest as _, Sha256};

use super::{LOOKING, open};
use crate::bounded::{self, Links};

/// How many files and folders are looked at.
const ENTRIES_MAX: usize = 256;
/// The largest file of which the content is compared, not only the time of its last change.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files and folders at a path.
#[derive(Debug)]
pub(in crate::launch) struct Sight {
    entries: Vec<(PathBuf, Content)>,
    is_whole: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Content {
    Folder,
    /// The hash of what is in a file.
    File([u8; 32]),
    /// Where a symbolic link leads.
    Link(Vec<u8>),
    /// Of what cannot be read in a bounded way: its number, and when it was last changed.
    Unread(String),
}

impl Sight {
    /// Looks at an entry of a folder, and follows no link.
    pub(super) fn of(folder: &Arc<OwnedFd>, name: &OsStr) -> Self {
        let mut sight = Self { entries: Vec::new(), is_whole: true };
        let mut left: Vec<(Arc<OwnedFd>, OsString, PathBuf)> =
            vec![(Arc::clone(folder), name.to_owned(), PathBuf::from(name))];
        while let Some((folder, name, path)) = left.pop() {
            if sight.entries.len() >= ENTRIES_MAX {
                sight.is_whole = false;
                break;
            }
            let Ok(stat) = rustix::fs::statat(&*folder, &name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let content = Content::of(&folder, &name, &stat);
            if content == Content::Folder {
                match open(folder.as_fd(), &name, LOOKING).map(Arc::new) {
                    Ok(inner) => match bounded::names_in(&*inner, ENTRIES_MAX) {
                        Ok(names) => left.extend(names.into_iter().map(|(name, _)| {
                            let below = path.join(&name);
                            (Arc::clone(&inner), name, below)
                        })),
                        Err(_) => sight.is_whole = false,
                    },
                    Err(_) => sight.is_whole = false,
                }
            }
            sight.entries.push((path, content));
        }
        sight.entries.sort_by(|one, other| one.0.cmp(&other.0));
        sight
    }

    /// Whether something is not as it was, or that cannot be told.
    pub(in crate::launch) fn differs(&self, first: &Self) -> bool {
        let is_whole = self.is_whole && first.is_whole;
        !is_whole || self.entries != first.entries
    }
}

impl Content {
    fn of(folder: &OwnedFd, name: &OsStr, stat: &Stat) -> Self {
        // The types of these differ between architectures.
        let changed = || format!("{} {} {}", stat.st_ino, stat.st_ctime, stat.st_ctime_nsec);
        let unread = || Self::Unread(changed());
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => {
                bounded::read_at(folder, Path::new(name), Links::Refused, FILE_BYTES_MAX)
                    .map_or_else(|_| unread(), |bytes| Self::File(Sha256::digest(bytes).into()))
            }
            FileType::Symlink => rustix::fs::readlinkat(folder, name, Vec::new())
                .map_or_else(|_| unread(), |target| Self::Link(target.into_bytes())),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => unread(),
        }
    }
}
