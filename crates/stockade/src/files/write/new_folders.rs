//! Folders that are made for a new file, and go again if it does not come to be.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::files::open;
use crate::files::{FileError, Job};
use crate::inspect::ResolvedPath;

/// The folders from the one that was judged down to the one that holds the file.
#[derive(Debug)]
pub(super) struct NewFolders<'m> {
    place: &'m ResolvedPath,
    /// Each of those that were not there, and whether it was made by us.
    folders: Vec<(OwnedFd, bool)>,
    is_kept: bool,
}

impl<'m> NewFolders<'m> {
    /// Makes the folders that are not there, one by one beneath the one that was judged.
    pub(super) fn make(job: &Job<'m>) -> Result<Self, FileError> {
        let place = job.place;
        let mut made = Self { place, folders: Vec::new(), is_kept: false };
        for name in &place.missing {
            let at = made.last();
            let system = |doing| FileError::system(doing, &place.real);
            let is_new = match rustix::fs::mkdirat(at, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) => true,
                // Another may have made it; a link in its place is not entered.
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(system("make the folder for")(errno)),
            };
            let entered = open::entry(at, name).map_err(system("enter the folder of"))?;
            made.folders.push((entered, is_new));
        }
        Ok(made)
    }

    /// The folder that holds the file.
    pub(super) fn last(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or(self.place.folder.as_fd(), |(folder, _)| folder.as_fd())
    }

    /// Whether none was missing.
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// The file is there, and they stay.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for NewFolders<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let mut names = self.place.missing.iter().take(self.folders.len()).rev();
        while let (Some((_, is_new)), Some(name)) = (self.folders.pop(), names.next()) {
            // One in which somebody else has put something stays.
            if !is_new || rustix::fs::unlinkat(self.last(), name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}
