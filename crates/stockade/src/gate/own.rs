//! Files of ours that no call may write: the journal, and what hooks and tools run.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use crate::confine::Files;
use crate::inspect::{path_of, real_folder};

/// Where they really are.
#[derive(Debug, Default)]
pub(super) struct OwnFiles {
    all: Vec<PathBuf>,
}

impl OwnFiles {
    /// One more, by every path that leads to it.
    pub(super) fn add(&mut self, file: &Path) {
        let places = [place_of(file), target_of(file)];
        let new: Vec<PathBuf> =
            places.into_iter().flatten().filter(|place| !self.all.contains(place)).collect();
        self.all.extend(new);
    }

    /// All of them.
    pub(super) fn all(&self) -> &[PathBuf] {
        &self.all
    }

    /// Where a call can write the folder of such a file, it cannot write that: what a hook runs is
    /// in no box, and a tool may be in one that lets it do more.
    pub(super) fn protect(&self, files: &mut Files) {
        for own in &self.all {
            let is_written = files.write.iter().any(|folder| own.starts_with(folder));
            if is_written && !files.protect.contains(own) {
                files.protect.push(own.clone());
            }
        }
    }
}

/// The real path of a file in a folder that is there.
fn place_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = real_folder(folder.unwrap_or(Path::new("."))).ok()?;
    Some(folder.join(file.file_name()?))
}

/// Where a file is that a path leads to.
fn target_of(path: &Path) -> Option<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    path_of(handle.as_fd()).ok()
}
