//! The private folder of one run: made before it, removed after it, and swept up if we were killed.
//!
//! Each folder is locked by its maker for as long as that lives, so a folder without a lock is
//! nobody's and may go.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode};
use rustix::io::Errno;

use super::removal::{TIME_MAX, open_closed, open_folder, remove};
use crate::call::CallId;
use crate::files::leftover;
use crate::outcome::Failure;

/// How long the removal of a folder may take that others left: a start goes on then, and the next one
/// sees to the rest.
const LEFT_MAX: Duration = Duration::from_secs(2);
/// How often a sweep may take a folder between its making and its locking.
const MAKE_TRIES: usize = 100;

/// A folder that is removed with everything in it when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    base: OwnedFd,
    name: OsString,
    path: PathBuf,
    /// Held open for its lock.
    _lock: OwnedFd,
    removed: bool,
}

impl Scratch {
    /// Makes a folder that only this user can enter.
    pub(super) fn make() -> std::io::Result<Self> {
        let (base, base_path) = open_base()?;
        for _ in 0..MAKE_TRIES {
            let name = OsString::from(format!("run-{}", CallId::new()));
            rustix::fs::mkdirat(&base, &name, Mode::RWXU)?;
            if let Some(lock) = claim(base.as_fd(), &name)? {
                let path = base_path.join(&name);
                return Ok(Self { base, name, path, _lock: lock, removed: false });
            }
        }
        Err(std::io::Error::other("every new folder was swept before it could be locked"))
    }

    /// Removes it; what cannot be removed is swept by a later start.
    pub(super) fn remove(mut self) -> std::io::Result<()> {
        self.removed = true;
        remove(self.base.as_fd(), &self.name, TIME_MAX)?;
        Ok(())
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.removed {
            // A start that failed: what cannot be removed is swept later, its lock gone with us.
            self.removed = remove(self.base.as_fd(), &self.name, TIME_MAX).is_ok();
        }
    }
}

/// Locks a folder that was just made; `None` if the sweep of another start was faster.
fn claim(base: BorrowedFd<'_>, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    let folder = match open_folder(base, name) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        other => other?,
    }
    // The sweep may have had the lock, removed the folder and let go before we came.
    let locked = rustix::fs::fstat(&folder)?;
    match rustix::fs::statat(base, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) if (named.st_dev, named.st_ino) == (locked.st_dev, locked.st_ino) => {
            Ok(Some(folder))
        }
        Ok(_) | Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Removes what runs of killed supervisors left behind. Returns how many folders and files went.
pub fn sweep() -> std::io::Result<usize> {
    let (base, _) = open_base()?;
    let mut swept = 0_usize;
    for entry in Dir::read_from(&base)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_swept = if leftover::is_note(name) {
            leftover::sweep(base.as_fd(), name)?
        } else {
            name.as_bytes().starts_with(b"run-") && is_removed(base.as_fd(), name)
        };
        swept = swept.saturating_add(usize::from(is_swept));
    }
    Ok(swept)
}

/// Removes the folder of a run, if its maker is gone. It is locked until it is no more: who is just
/// making it would take it for its own otherwise.
fn is_removed(base: BorrowedFd<'_>, name: &OsStr) -> bool {
    open_closed(base, name).is_ok_and(|folder| {
        rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            && remove(base, name, LEFT_MAX).is_ok()
    })
}

/// The folder of this user that holds all scratch folders. Where someone else has taken its name
/// in a shared `/tmp`, that is an error and not a place to put files.
pub(super) fn open_base() -> std::io::Result<(OwnedFd, PathBuf)> {
    let own = rustix::process::geteuid();
    let path = std::env::temp_dir().join(format!("stockade-{}", own.as_raw()));
    match rustix::fs::mkdirat(CWD, &path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    let base = open_folder(CWD, path.as_os_str())?;
    let stat = rustix::fs::fstat(&base)?;
    if stat.st_uid != own.as_raw() || stat.st_mode & 0o077 != 0 {
        let message =
            format!("{} is not a private folder of this user; set TMPDIR", path.display());
        return Err(std::io::Error::other(message));
    }
    Ok((base, path))
}

/// Why there is no scratch folder.
pub(super) fn unscratched(error: &std::io::Error) -> Failure {
    Failure::new("make the scratch folder", error.to_string())
        .remedy("make room in the folder for temporary files, or name another with TMPDIR")
}
