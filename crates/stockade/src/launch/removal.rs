//! Removes a folder with all in it: two descriptors whatever the depth, no link followed, folders that
//! were made unreadable opened again, and an end to it though somebody still writes there.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How many folders deep a removal goes before it gives up.
const DEPTH_MAX: usize = 100_000;
/// How many folders that are not empty are remembered of one folder; it is read again for more.
const FULL_MAX: usize = 1_000;
/// How long a removal may take, unless there is a reason for less.
pub(super) const TIME_MAX: Duration = Duration::from_secs(60);

/// Removes a folder with all in it; `BUSY` if that takes longer than this.
pub(super) fn remove(base: BorrowedFd<'_>, name: &OsStr, longest: Duration) -> Result<(), Errno> {
    let until = Instant::now().checked_add(longest);
    let mut here = enter(base, name)?;
    let mut full = clear(here.as_fd(), until)?;
    let mut way: Vec<Above> = Vec::new();
    loop {
        if let Some(name) = full.pop() {
            if way.len() >= DEPTH_MAX {
                return Err(Errno::NAMETOOLONG);
            }
            let identity = identity(here.as_fd())?;
            here = match enter(here.as_fd(), &name) {
                // Somebody else has removed it.
                Err(Errno::NOENT) => continue,
                other => other?,
            };
            way.push(Above { identity, full, name });
            full = clear(here.as_fd(), until)?;
            continue;
        }
        let Some(above) = way.pop() else {
            match rustix::fs::unlinkat(base, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => {
                    full = clear(here.as_fd(), until)?;
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
            // It held more than was remembered, or somebody still writes into it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => full.push(above.name),
            Err(Errno::NOENT) => {}
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
pub(super) fn open_closed(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
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
fn clear(folder: BorrowedFd<'_>, until: Option<Instant>) -> Result<Vec<OsString>, Errno> {
    let mut full = Vec::new();
    for entry in Dir::read_from(folder)? {
        if until.is_some_and(|until| Instant::now() > until) {
            return Err(Errno::BUSY);
        }
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

/// Opens a folder and no link to one.
pub(super) fn open_folder(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}
