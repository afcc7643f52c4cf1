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
use crate::confine::{real, scratch_bases};
use crate::files::leftover;
use crate::outcome::{Failure, FailureKind};

/// How long the removal of a folder may take that others left: a start goes on then, and the next one
/// sees to the rest.
const LEFT_MAX: Duration = Duration::from_secs(2);
/// How often a sweep may take a folder between its making and its locking.
const MAKE_TRIES: usize = 100;

/// A path of a base that leaves room for more: with a short name in it, and one of a letter in that, it has
/// at most 50 characters.
const SHORT_MAX: usize = 33;

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
    /// Makes a folder that only this user can enter, and that is in none of these folders if that can
    /// be arranged.
    pub(super) fn make(room: Room, outside: &[PathBuf]) -> std::io::Result<Self> {
        Self::make_in(open_base(room, outside)?, 0)
    }

    /// Makes one with a short path, if that can be arranged, where programs can be started: Podman takes no
    /// longer one.
    pub(super) fn make_short() -> std::io::Result<Self> {
        // The end of an id is random.
        Self::make_in(open_base(Room::Short, &[])?, 16)
    }

    /// The name is an id without so many characters at its beginning.
    fn make_in((base, base_path): (OwnedFd, PathBuf), left_out: usize) -> std::io::Result<Self> {
        for _ in 0..MAKE_TRIES {
            let id = CallId::new().to_string();
            let name = OsString::from(format!("run-{}", id.get(left_out..).unwrap_or(&id)));
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
    // Where there is none, one is made: a sandbox that starts now must not be the first to do so.
    open_base(Room::Little, &[])?;
    let mut swept = 0_usize;
    for path in scratch_bases() {
        let Ok(base) = open_private(&path) else { continue };
        swept = swept.saturating_add(sweep_in(base.as_fd())?);
    }
    Ok(swept)
}

/// Folders of this user for programs that would keep their files in `TMPDIR`, which a sandbox may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EngineFolder {
    /// Temporary files, as large as an image.
    Temporary,
    /// What an engine knows of its containers until the machine is started again.
    Runtime,
}

impl EngineFolder {
    /// Makes it if it is not there.
    pub(super) fn make(self) -> std::io::Result<PathBuf> {
        let (name, room) = match self {
            Self::Temporary => ("engines-tmp", Room::OnDisk),
            Self::Runtime => ("engines-run", Room::Little),
        };
        let (base, path) = open_base(room, &[])?;
        match rustix::fs::mkdirat(&base, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(path.join(name)),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn sweep_in(base: BorrowedFd<'_>) -> std::io::Result<usize> {
    let mut swept = 0_usize;
    for entry in Dir::read_from(base)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_swept = if leftover::is_note(name) {
            leftover::sweep(base, name)?
        } else {
            name.as_bytes().starts_with(b"run-") && is_removed(base, name)
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

/// How much a scratch folder will hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// A few small files.
    Little,
    /// What a program writes, so that memory is not the place for it.
    Much,
    /// So much that only the folder for large temporary files is the place for it.
    OnDisk,
    /// Little, by short paths, and programs among it.
    Short,
}

/// The folder of this user that holds all scratch folders, outside of these files if that can be
/// arranged. Where someone else has taken its name in a shared folder, the next place is taken.
pub(super) fn open_base(room: Room, outside: &[PathBuf]) -> std::io::Result<(OwnedFd, PathBuf)> {
    let mut bases = scratch_bases();
    // Stable: the order among others stays as it is.
    match room {
        Room::Little => {}
        Room::Much => bases.sort_by_cached_key(|base| is_cramped(base)),
        Room::Short => {
            let is_long = |base: &Path| base.as_os_str().len() > SHORT_MAX;
            bases.sort_by_cached_key(|base| (starts_nothing(base), is_long(base)));
        }
        Room::OnDisk => bases.sort_by_key(|base| !base.starts_with("/var/tmp")),
    }
    if !outside.is_empty() {
        bases.sort_by_cached_key(|base| outside.contains(&real(base)));
    }
    let mut first = None;
    for base in bases {
        match made(&base) {
            Ok(handle) => return Ok((handle, base)),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| Errno::NOENT.into()))
}

/// Whether a base is in memory that is not the memory of `/tmp`.
fn is_cramped(base: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    let folder = base.parent().unwrap_or(base);
    let device = |path: &Path| rustix::fs::stat(path).map(|found| found.st_dev).ok();
    let kind = rustix::fs::statfs(folder).map(|found| found.f_type);
    kind.is_ok_and(|kind| kind == TMPFS) && device(folder) != device(Path::new("/tmp"))
}

/// Whether no program in this base can be started.
fn starts_nothing(base: &Path) -> bool {
    let mount = rustix::fs::statvfs(base.parent().unwrap_or(base));
    mount.is_ok_and(|mount| mount.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

fn made(path: &Path) -> std::io::Result<OwnedFd> {
    match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => open_private(path),
        Err(errno) => {
            let message = format!("could not make {}: {errno}", path.display());
            Err(std::io::Error::other(message))
        }
    }
}

fn open_private(path: &Path) -> std::io::Result<OwnedFd> {
    let base = open_folder(CWD, path.as_os_str())?;
    let stat = rustix::fs::fstat(&base)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o077 != 0 {
        let message = format!("{} is not a private folder of this user", path.display());
        return Err(std::io::Error::other(message));
    }
    Ok(base)
}

/// Why there is no scratch folder.
pub(super) fn unscratched(error: &std::io::Error) -> Failure {
    Failure::new(FailureKind::MakeScratch, error.to_string())
        .with_remedy("make room in /tmp or /var/tmp, and let this user make folders in one of them")
}
