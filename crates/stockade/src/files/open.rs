//! Opening a file by its handle: only regular ones, and never waiting.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::error::{FileError, what};
use crate::bounded;
use crate::inspect::{ResolvedPath, stat_of};

/// How much of a file tells whether it is text.
const TASTE_BYTES: usize = 8192;

/// Opens the file that was judged, if it is a regular one.
pub(super) fn judged(place: &ResolvedPath) -> Result<(File, Stat), FileError> {
    let handle = place.file.as_ref().ok_or_else(|| FileError::Missing(place.real.clone()))?;
    regular(handle.as_fd(), &place.real)
}

/// Opens what a handle is, if it is a regular file. Its kind is looked at before: a device is not
/// opened, and a pipe would wait for its other end.
pub(super) fn regular(handle: BorrowedFd<'_>, path: &Path) -> Result<(File, Stat), FileError> {
    bounded::open_again(handle).map_err(|source| {
        let path = path.to_owned();
        match stat_of(handle).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(kind) if kind != FileType::RegularFile => {
                FileError::NoFile { path, what: what(kind) }
            }
            Ok(_) | Err(_) => FileError::System { doing: "open", path, source },
        }
    })
}

/// The name by which the kernel finds a handle.
pub(super) fn proc_link(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Opens one name in a folder as a handle, and no link.
pub(super) fn entry(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    beneath(folder, Path::new(name), OFlags::PATH)
}

/// Opens a path below a folder through no link of any kind.
pub(super) fn beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve) {
        // Before Linux 5.6, or filtered away: names one by one are as safe.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(folder, path, flags),
        other => other,
    }
}

fn step_by_step(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if path == Path::new(".") {
        return rustix::fs::openat(folder, ".", flags, Mode::empty());
    }
    let mut here: Option<OwnedFd> = None;
    let mut names = path.components().peekable();
    while let Some(name) = names.next() {
        let std::path::Component::Normal(name) = name else { return Err(Errno::XDEV) };
        let is_last = names.peek().is_none();
        let folder_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let flags = if is_last { flags } else { folder_flags };
        let at = here.as_ref().map_or(folder, |here| here.as_fd());
        let next = rustix::fs::openat(at, name, flags, Mode::empty())?;
        here = Some(next);
    }
    here.ok_or(Errno::NOENT)
}

/// All of a file, up to a size.
pub(super) fn whole(
    file: &File,
    stat: &Stat,
    path: &Path,
    most: u64,
) -> Result<Vec<u8>, FileError> {
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    let too_large = |bytes| FileError::TooLarge { path: path.to_owned(), bytes, most };
    if size > most {
        return Err(too_large(size));
    }
    bounded::read_open(file, most).map_err(|source| {
        if source.kind() == ErrorKind::FileTooLarge {
            too_large(most.saturating_add(1))
        } else {
            FileError::System { doing: "read", path: path.to_owned(), source }
        }
    })
}

/// Whether this is the beginning of something that is no text.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(TASTE_BYTES).any(|byte| *byte == 0)
}
