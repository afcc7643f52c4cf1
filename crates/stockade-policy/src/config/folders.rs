//! Real paths of folders.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// The path by which the kernel knows a handle.
pub fn path_of(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let target = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// The real path of a folder, all links followed.
pub fn real_folder(path: &Path) -> Result<PathBuf, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    path_of(rustix::fs::openat(CWD, path, flags, Mode::empty())?.as_fd())
}
