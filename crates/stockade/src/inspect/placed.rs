//! A file by the folder that holds it, on handles: what was judged is what is opened.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;

use super::view::{View, path_of, stat_of};
use super::walk::Place;

/// Where a path leads beneath the root. No link is between its folder and the file.
#[derive(Debug)]
pub struct Placed {
    /// The folder that holds it, or the deepest one that is there of those that would.
    pub folder: OwnedFd,
    /// The real path of that folder.
    pub folder_path: PathBuf,
    /// The folders below that one that are not there.
    pub missing: Vec<OsString>,
    /// Its own name; `.` if it is the root.
    pub name: OsString,
    /// The file or folder itself, if it is there.
    pub file: Option<OwnedFd>,
    /// Its real path, or the one that it would have.
    pub real: PathBuf,
}

/// Why a path is no place beneath the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misplaced {
    /// It leads here.
    Outside(PathBuf),
    /// It cannot be told where it leads.
    Unknowable(Errno),
}

impl From<Errno> for Misplaced {
    fn from(errno: Errno) -> Self {
        Self::Unknowable(errno)
    }
}

impl View<'_> {
    /// Finds where a path leads, for one who will read or write it by the handles.
    pub fn place(&self, path: &OsStr) -> Result<Placed, Misplaced> {
        let mut walk = self.walk();
        let folders = match walk.run(path)? {
            Place::Inside(folders) => folders,
            Place::Outside(handle) => {
                let real = path_of(handle.as_fd())?;
                return Err(Misplaced::Outside(real.join(walk.absent_path())));
            }
        };
        let last = folders.last().ok_or(Errno::NOENT)?;
        let last_path = path_of(last.as_fd())?;
        if !last_path.starts_with(self.root().path()) {
            return Err(Misplaced::Outside(last_path));
        }
        let owned = |handle: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(handle, 3);
        if let Some((name, missing)) = walk.absent_names.split_last() {
            return Ok(Placed {
                folder: owned(last)?,
                missing: missing.to_vec(),
                name: name.clone(),
                file: None,
                real: last_path.join(walk.absent_path()),
                folder_path: last_path,
            });
        }
        if stat_of(last.as_fd())?.st_nlink == 0 {
            return Err(Misplaced::Unknowable(Errno::NOENT));
        }
        let above = folders.len().checked_sub(2).and_then(|at| folders.get(at));
        let (folder, name) = match (above, last_path.file_name()) {
            (Some(above), Some(name)) => (above, name.to_owned()),
            _ => (last, OsString::from(".")),
        };
        Ok(Placed {
            folder: owned(folder)?,
            folder_path: path_of(folder.as_fd())?,
            missing: Vec::new(),
            name,
            file: Some(owned(last)?),
            real: last_path,
        })
    }
}
