//! The working directory that a session keeps between its calls, by path and by handle.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use stockade_sandbox::EndFolder;

/// The device and the number of a file.
pub type FileIdentity = (u64, u64);

/// A directory, and the path that led to it without a symbolic link.
#[derive(Debug)]
pub(super) struct WorkingFolder {
    path: PathBuf,
    identity: FileIdentity,
    /// Held, so that no other file gets its number; none where another process has learned it.
    _handle: Option<OwnedFd>,
}

impl WorkingFolder {
    /// The directory that was at a path, and may be gone.
    pub(super) fn remembered(path: PathBuf, identity: FileIdentity) -> Self {
        Self { path, identity, _handle: None }
    }

    /// The directory that a sandbox has told, if its path leads to it here too, beneath the root.
    pub(super) fn beneath(root: &Path, told: &EndFolder) -> io::Result<Self> {
        let inside = told.path.strip_prefix(root).map_err(io::Error::other)?;
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        let root_handle = open_folder(CWD, root, ResolveFlags::empty())?;
        let handle = open_folder(root_handle.as_fd(), inside, ResolveFlags::BENEATH)?;
        let own = identity(&handle)?;
        if own != identity(&told.handle)? {
            return Err(io::Error::other("another directory is there"));
        }
        Ok(Self { path: told.path.clone(), identity: own, _handle: Some(handle) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Whether its path still leads to it.
    pub(super) fn is_there(&self) -> bool {
        let now = open_folder(CWD, &self.path, ResolveFlags::empty());
        now.and_then(|now| identity(&now)).is_ok_and(|now| now == self.identity)
    }
}

fn open_folder(at: impl AsFd, path: &Path, how: ResolveFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let how = how | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(at, path, flags, Mode::empty(), how)?)
}

fn identity(handle: &OwnedFd) -> io::Result<FileIdentity> {
    let metadata = File::from(handle.try_clone()?).metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}
