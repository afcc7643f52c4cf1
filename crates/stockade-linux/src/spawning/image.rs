//! What a keeper is executed from: a memory file, made without libc.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "descriptors are words for the kernel"
)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::fcntl_dupfd_cloexec;

use super::{FIRST_AFTER_STDERR, KEEPER, in_child, word};

/// What it executes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Image {
    /// The file behind a descriptor, which is open when it begins.
    There(RawFd),
    /// A memory file with this in it.
    Bytes(&'static [u8]),
}

/// A sealed memory file with this in it, for those that begin later.
pub(crate) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = memory_file(bytes).map_err(io::Error::from_raw_os_error)?;
    // SAFETY: it was made just now, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(file as RawFd) })
}

/// Makes a sealed memory file, without libc.
pub(super) fn memory_file(bytes: &[u8]) -> Result<usize, i32> {
    let file = empty_file()?;
    fill(file, bytes)?;
    Ok(file)
}

/// An empty memory file that is no standard stream.
pub(super) fn blank_file() -> io::Result<OwnedFd> {
    let file = empty_file().map_err(io::Error::from_raw_os_error)? as RawFd;
    // SAFETY: it was made just now, and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    if file.as_raw_fd() >= FIRST_AFTER_STDERR {
        return Ok(file);
    }
    Ok(fcntl_dupfd_cloexec(file, FIRST_AFTER_STDERR)?)
}

fn empty_file() -> Result<usize, i32> {
    let name = KEEPER.as_ptr().expose_provenance();
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let make =
        |flags: libc::c_uint| in_child(libc::SYS_memfd_create, [name, flags as usize, 0, 0, 0, 0]);
    match make(flags | libc::MFD_EXEC) {
        // The flag is known since Linux 6.3.
        Err(libc::EINVAL) => make(flags),
        other => other,
    }
}

/// Writes a memory file, and seals it.
pub(super) fn fill(file: usize, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        let at = bytes.as_ptr().expose_provenance();
        match in_child(libc::SYS_write, [file, at, bytes.len(), 0, 0, 0]) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(libc::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    in_child(libc::SYS_fcntl, [file, word(libc::F_ADD_SEALS), word(seals), 0, 0, 0]).map(drop)
}
