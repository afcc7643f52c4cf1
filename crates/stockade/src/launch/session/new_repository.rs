//! A git repository that appears in a folder where a call has left something running.
//!
//! Its configuration and its hooks decide what git runs on the host, and the sandbox was made before there
//! was anything to protect: what is left running there ends.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use stockade_sandbox::Mount;

use crate::launch::absent::Writable;

/// Where git keeps a repository, or says where it is.
const GIT: &str = ".git";
/// How many notices are taken at once.
const NOTICES_MAX: usize = 4096;

/// The folders in which a repository must not appear.
#[derive(Debug)]
pub(super) struct RepositoryWatch {
    folders: Vec<Writable>,
    /// The kernel's notices about names that appear in them. Without any they are only looked at now and then.
    notices: Option<OwnedFd>,
}

/// Those of the folders in which these mounts protect no repository.
pub(in crate::launch) fn without_repository(
    folders: &[Writable],
    mounts: &[Mount],
) -> Vec<Writable> {
    let is_cover = |mount: &&Mount| matches!(mount, Mount::Pin { .. } | Mount::Protect { .. });
    let path = |mount: &'_ Mount| PathBuf::from(OsStr::from_bytes(mount.target().to_bytes()));
    let covered: Vec<PathBuf> = mounts.iter().filter(is_cover).map(path).collect();
    let is_without = |folder: &&Writable| {
        let git = folder.path().join(GIT);
        !covered.iter().any(|target| target.starts_with(&git))
    };
    folders.iter().filter(is_without).cloned().collect()
}

impl RepositoryWatch {
    pub(super) fn begin(folders: Vec<Writable>) -> Self {
        let notices = if folders.is_empty() { None } else { notices(&folders).ok() };
        Self { folders, notices }
    }

    /// Where one has appeared.
    pub(super) fn appeared(&self) -> Option<PathBuf> {
        let found = self.folders.iter().find(|folder| folder.has(OsStr::new(GIT)))?;
        Some(found.path().join(GIT))
    }

    /// Readable when names have appeared.
    pub(super) fn notices(&self) -> Option<BorrowedFd<'_>> {
        self.notices.as_ref().map(AsFd::as_fd)
    }

    /// Takes the notices that have come; returns whether a repository is there.
    pub(super) fn take_notices(&mut self) -> bool {
        if let Some(notices) = &self.notices {
            let mut room = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(notices, &mut room);
            // What a program creates without end is not all taken at once.
            for _ in 0..NOTICES_MAX {
                match reader.next() {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
        self.appeared().is_some()
    }
}

fn notices(folders: &[Writable]) -> Result<OwnedFd, Errno> {
    let notices = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    for folder in folders {
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        let handle = format!("/proc/self/fd/{}", folder.handle().as_raw_fd());
        inotify::add_watch(&notices, handle, flags)?;
    }
    Ok(notices)
}
