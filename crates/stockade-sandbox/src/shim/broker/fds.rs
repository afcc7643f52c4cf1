//! A descriptor that is closed when it is no longer needed.

use super::super::sys::{self, Fd};

/// An open descriptor of the broker's own.
#[derive(Debug)]
pub(super) struct OwnedFd(Fd);

impl OwnedFd {
    /// Takes a descriptor over.
    pub(super) const fn new(fd: Fd) -> Self {
        Self(fd)
    }

    /// Its number.
    pub(super) const fn number(&self) -> Fd {
        self.0
    }

    /// The metadata of what it names.
    pub(super) fn stat(&self) -> sys::Result<sys::Stat> {
        sys::stat(self.0, c"".as_ptr().cast())
    }
}

impl Drop for OwnedFd {
    fn drop(&mut self) {
        sys::close(self.0);
    }
}

/// Kinds of files, from `linux/stat.h`.
pub(super) mod kind {
    /// A pipe with a name.
    pub(in super::super) const PIPE: u16 = 0o010_000;
    /// A symbolic link.
    pub(in super::super) const LINK: u16 = 0o120_000;
}
