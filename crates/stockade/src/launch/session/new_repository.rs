//! A git repository that appears in a folder where a call has left something running.
//!
//! Its configuration and its hooks decide what git runs on the host, and the sandbox was made before there
//! was anything to protect: what is left running there ends.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use stockade_sandbox::Mount;

use crate::launch::absent::Writable;

/// Where git keeps a repository, or says where it is.
const GIT: &str = ".git";
/// How many notices are taken at once.
const NOTICES_MAX: usize = 4096;

/// A folder that a sandbox can write.
#[derive(Debug, Clone)]
pub(in crate::launch) struct GuardedFolder {
    folder: Writable,
    /// Whether a repository in it is protected.
    is_covered: bool,
}

/// The folders in which a repository must not appear.
#[derive(Debug)]
pub(super) struct RepositoryWatch {
    folders: Vec<GuardedFolder>,
    /// The first names of other paths that must not appear.
    names: BTreeSet<OsString>,
    /// The kernel's notices about names that appear in them. Without any they are only looked at now and then.
    notices: Option<OwnedFd>,
}

/// The folders, and whether these mounts protect a repository in them.
pub(in crate::launch) fn guarded(folders: &[Writable], mounts: &[Mount]) -> Vec<GuardedFolder> {
    let is_cover = |mount: &&Mount| matches!(mount, Mount::Pin { .. } | Mount::Protect { .. });
    let path = |mount: &'_ Mount| PathBuf::from(OsStr::from_bytes(mount.target().to_bytes()));
    let covered: Vec<PathBuf> = mounts.iter().filter(is_cover).map(path).collect();
    let guard = |folder: &Writable| {
        let git = folder.path().join(GIT);
        // One that is there already is not new, whatever is protected of it.
        let is_covered =
            covered.iter().any(|target| target.starts_with(&git)) || folder.has(OsStr::new(GIT));
        GuardedFolder { folder: folder.clone(), is_covered }
    };
    folders.iter().map(guard).collect()
}

impl RepositoryWatch {
    pub(super) fn begin(folders: Vec<GuardedFolder>, names: BTreeSet<OsString>) -> Self {
        let notices = if folders.is_empty() { None } else { notices(&folders).ok() };
        Self { folders, names, notices }
    }

    /// Where one has appeared that nothing protects.
    pub(super) fn appeared(&self) -> Option<PathBuf> {
        let is_new = |one: &&GuardedFolder| !one.is_covered && one.folder.has(OsStr::new(GIT));
        Some(self.folders.iter().find(is_new)?.folder.path().join(GIT))
    }

    /// Readable when names have appeared.
    pub(super) fn notices(&self) -> Option<BorrowedFd<'_>> {
        self.notices.as_ref().map(AsFd::as_fd)
    }

    /// Takes the notices that have come; returns whether a repository or another of the names has appeared.
    pub(super) fn take_notices(&mut self) -> bool {
        let mut is_one = false;
        if let Some(notices) = &self.notices {
            let mut room = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(notices, &mut room);
            // What a program creates without end is not all taken at once.
            for _ in 0..NOTICES_MAX {
                match reader.next() {
                    Ok(event) => {
                        let is_lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                        let is_guarded = |name: &OsStr| name == GIT || self.names.contains(name);
                        is_one |= is_lost || name.is_some_and(is_guarded);
                    }
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
        is_one
    }
}

fn notices(folders: &[GuardedFolder]) -> Result<OwnedFd, Errno> {
    let notices = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    for GuardedFolder { folder, .. } in folders {
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        let handle = format!("/proc/self/fd/{}", folder.handle().as_raw_fd());
        inotify::add_watch(&notices, handle, flags)?;
    }
    Ok(notices)
}
