//! The private folder of one run: made before it, removed after it, and swept up if we were killed.
//!
//! Each folder is locked by its maker for as long as that lives, so a folder without a lock is
//! nobody's and may go.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::call::CallId;
use crate::files::leftover;
use crate::outcome::Failure;

/// How many folders deep a removal goes before it gives up.
const DEPTH_MAX: usize = 100_000;
/// How many folders that are not empty are remembered of one folder; it is read again for more.
const FULL_MAX: usize = 1_000;
/// How often a removal goes back to a folder that was not empty in the end, for it may hold more than
/// was remembered, or someone may still be writing into it.
const AGAIN_MAX: u32 = 100_000;
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
        remove(self.base.as_fd(), &self.name)?;
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
            self.removed = remove(self.base.as_fd(), &self.name).is_ok();
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
            && remove(base, name).is_ok()
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

/// Opens a folder and no link to one.
pub(super) fn open_folder(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Removes a folder with all in it, or anything else by its name.
pub(super) fn remove_any(at: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(at, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => remove(at, name),
        other => other,
    }
}

/// Removes a folder and all in it: two descriptors whatever the depth, no link followed, and
/// folders that the run made unreadable are opened again.
fn remove(base: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let mut here = enter(base, name)?;
    let mut full = clear(here.as_fd())?;
    let mut way: Vec<Above> = Vec::new();
    let mut again = 0..AGAIN_MAX;
    loop {
        if let Some(name) = full.pop() {
            if way.len() >= DEPTH_MAX {
                return Err(Errno::NAMETOOLONG);
            }
            let identity = identity(here.as_fd())?;
            here = enter(here.as_fd(), &name)?;
            way.push(Above { identity, full, name });
            full = clear(here.as_fd())?;
            continue;
        }
        let Some(above) = way.pop() else {
            match rustix::fs::unlinkat(base, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) if again.next().is_some() => {
                    full = clear(here.as_fd())?;
                    continue;
                }
                other => return other,
            }
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        here = rustix::fs::openat(&here, "..", flags, Mode::empty())?;
        if identity(here.as_fd())? != above.identity {
            // Someone moved the folder: what is above it now is not ours to clear.
            return Err(Errno::STALE);
        }
        full = above.full;
        match rustix::fs::unlinkat(&here, &above.name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) if again.next().is_some() => full.push(above.name),
            other => other?,
        }
    }
}

/// A folder that is left for one in it, and gone back to.
struct Above {
    identity: (u64, u64),
    /// Those in it that are not empty, and have not been entered yet.
    full: Vec<OsString>,
    /// The one that was entered.
    name: OsString,
}

fn identity(folder: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::fstat(folder)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Opens a folder with all rights in it.
fn enter(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let folder = open_closed(at, name)?;
    let stat = rustix::fs::fstat(&folder)?;
    if stat.st_mode & 0o700 != 0o700 {
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

/// Opens a folder even if its run has closed it to its owner.
fn open_closed(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_folder(at, name) {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    // By handle: a name could be a link to another file by now.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(at, name, flags, Mode::empty())?;
    let handle = format!("/proc/self/fd/{}", folder.as_raw_fd());
    rustix::fs::chmodat(CWD, handle, Mode::RWXU, AtFlags::empty())?;
    open_folder(at, name)
}

/// Removes every file and every empty folder in a folder; answers with those that are not empty, or
/// with many of them.
fn clear(folder: BorrowedFd<'_>) -> Result<Vec<OsString>, Errno> {
    let mut full = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [&b"."[..], b".."].contains(&name.to_bytes()) {
            continue;
        }
        let is_folder = entry.file_type() == FileType::Directory;
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match rustix::fs::unlinkat(folder, name, flags) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR) => {
                full.push(OsStr::from_bytes(name.to_bytes()).to_owned());
                if full.len() >= FULL_MAX {
                    break;
                }
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(full)
}

/// Why there is no scratch folder.
pub(super) fn unscratched(error: &std::io::Error) -> Failure {
    Failure::new("make the scratch folder", error.to_string())
        .remedy("make room in the folder for temporary files, or name another with TMPDIR")
}
