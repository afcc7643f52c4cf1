//! Moves what a box has made out of the project, or at least out of its name, whatever it is.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{open, take_rights};
use crate::call::CallId;
use crate::launch::{removal, scratch};

/// What is copied at most where a rename cannot do it. The box chose what it made: it may be deeper
/// than a stack and, being sparse, larger than a disk.
const COPIED_MAX: Left = Left { entries: 10_000, bytes: 64 << 20, depth: 64 };

/// How much more may be copied.
#[derive(Clone, Copy)]
struct Left {
    entries: usize,
    bytes: u64,
    depth: usize,
}

/// Moves a name out of its folder; says where it is now.
pub(super) fn move_away(folder: &OwnedFd, name: &OsStr) -> std::io::Result<PathBuf> {
    // Whatever is wrong with the place for it, it must not keep its name.
    let aside = |error| put_aside(folder, name).map_err(|_errno| error);
    lock_up(folder, name).or_else(aside)
}

/// Moves a name to a place of its own in quarantine.
fn lock_up(folder: &OwnedFd, name: &OsStr) -> std::io::Result<PathBuf> {
    let (all, all_path) = open_all()?;
    let own = OsString::from(CallId::new().to_string());
    rustix::fs::mkdirat(&all, &own, Mode::RWXU)?;
    let place = removal::open_folder(all.as_fd(), &own)?;
    let moved = match rename(folder, name, &place) {
        // The project is on another file system.
        Err(Errno::XDEV) => carry(folder, name, &place),
        other => other.map_err(Into::into),
    };
    if let Err(error) = moved {
        removal::remove_any(all.as_fd(), &own)?;
        return Err(error);
    }
    Ok(all_path.join(own).join(name))
}

/// The folder of all that was moved away: it is kept, so it is not among what every start goes through.
fn open_all() -> std::io::Result<(OwnedFd, PathBuf)> {
    const NAME: &str = "quarantine";
    let (base, base_path) = scratch::open_base()?;
    match rustix::fs::mkdirat(&base, NAME, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok((removal::open_folder(base.as_fd(), NAME.as_ref())?, base_path.join(NAME)))
}

/// Renames, though the box may have closed the folder, or what it made, to its owner.
fn rename(folder: &OwnedFd, name: &OsStr, place: &OwnedFd) -> Result<(), Errno> {
    let rename = || rustix::fs::renameat(folder, name, place, name);
    match rename() {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    take_rights(folder)?;
    // A folder that changes its parent is itself written.
    if let Ok(made) = open(folder.as_fd(), name.as_ref()) {
        take_rights(&made)?;
    }
    rename()
}

fn carry(folder: &OwnedFd, name: &OsStr, place: &OwnedFd) -> std::io::Result<()> {
    let mut left = COPIED_MAX;
    copy(folder.as_fd(), name, place.as_fd(), &mut left)?;
    Ok(removal::remove_any(folder.as_fd(), name)?)
}

/// Gives it a name beside its own, by which nothing runs.
fn put_aside(folder: &OwnedFd, name: &OsStr) -> Result<PathBuf, Errno> {
    let aside = OsString::from(format!(".stockade-quarantine-{}", CallId::new()));
    let rename = || rustix::fs::renameat(folder, name, folder, &aside);
    match rename() {
        Err(Errno::ACCESS) => {
            take_rights(folder)?;
            rename()?;
        }
        other => other?,
    }
    let folder = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    Ok(folder.unwrap_or_default().join(aside))
}

fn too_much() -> std::io::Error {
    std::io::Error::other("there is too much of it")
}

/// Copies a file, a link or a folder, and follows nothing. Devices, sockets and pipes are left out.
fn copy(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    left: &mut Left,
) -> std::io::Result<()> {
    left.entries = left.entries.checked_sub(1).ok_or_else(too_much)?;
    let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let source = std::fs::File::from(rustix::fs::openat(from, name, flags, Mode::empty())?);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut copied =
                std::fs::File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
            // One byte more than may be tells that there is more.
            let most = left.bytes.saturating_add(1);
            let count = std::io::copy(&mut source.take(most), &mut copied)?;
            left.bytes = left.bytes.checked_sub(count).ok_or_else(too_much)?;
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(target, to, name)?;
        }
        FileType::Directory => {
            left.depth = left.depth.checked_sub(1).ok_or_else(too_much)?;
            rustix::fs::mkdirat(to, name, Mode::RWXU)?;
            let inner = removal::open_folder(from, name)?;
            let copied = removal::open_folder(to, name)?;
            for entry in rustix::fs::Dir::read_from(&inner)? {
                let entry = entry?;
                let name = std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
                if name != OsStr::new(".") && name != OsStr::new("..") {
                    copy(inner.as_fd(), name, copied.as_fd(), left)?;
                }
            }
            left.depth = left.depth.saturating_add(1);
        }
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => {}
    }
    Ok(())
}
