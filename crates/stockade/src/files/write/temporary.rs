//! A file that is being written: without a name where the file system can, else with one of ours.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::files::leftover::Note;
use crate::files::open::proc_link;
use crate::files::{FileError, Job};

/// The mode of a new file, less what the umask takes.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// Goes with its name if it is dropped before it is in its place.
#[derive(Debug)]
pub(super) struct Temporary<'t> {
    job: &'t Job<'t>,
    folder: BorrowedFd<'t>,
    file: File,
    /// The note about the name of ours, and whether the file has it.
    note: Option<Note>,
}

impl<'t> Temporary<'t> {
    pub(super) fn make(job: &'t Job<'t>, folder: BorrowedFd<'t>) -> Result<Self, FileError> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, ".", flags, MODE) {
            Ok(file) => Ok(Self { job, folder, file: File::from(file), note: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => {
                Self::with_name(job, folder)
            }
            Err(errno) => Err(FileError::system("make a file beside", &job.place.real)(errno)),
        }
    }

    fn with_name(job: &'t Job<'t>, folder: BorrowedFd<'t>) -> Result<Self, FileError> {
        let note = noted(job)?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, &note.temporary, flags, MODE)
            .map_err(FileError::system("make a file beside", &job.place.real))?;
        Ok(Self { job, folder, file: File::from(file), note: Some(note) })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Writes all of it to the disk.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_all());
        written.map_err(|source| FileError::System {
            doing: "write",
            path: self.job.place.real.clone(),
            source,
        })
    }

    /// Gives it a name that is not there yet.
    pub(super) fn link(&mut self, name: &OsStr) -> Result<(), Errno> {
        if let Some(note) = &self.note {
            let (folder, ours) = (self.folder, &note.temporary);
            rustix::fs::renameat_with(folder, ours, folder, name, RenameFlags::NOREPLACE)?;
            self.note = None;
            return Ok(());
        }
        let link = proc_link(self.file.as_fd());
        rustix::fs::linkat(CWD, link, self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Gives it a name of ours, from which it can be renamed.
    pub(super) fn name(&mut self) -> Result<(), FileError> {
        if self.note.is_some() {
            return Ok(());
        }
        let note = noted(self.job)?;
        let link = proc_link(self.file.as_fd());
        let folder = self.folder;
        rustix::fs::linkat(CWD, link, folder, &note.temporary, AtFlags::SYMLINK_FOLLOW)
            .map_err(FileError::system("make a file beside", &self.job.place.real))?;
        self.note = Some(note);
        Ok(())
    }

    /// Puts it in the place of another.
    pub(super) fn rename(&mut self, name: &OsStr) -> Result<(), Errno> {
        let ours: Option<OsString> = self.note.as_ref().map(|note| note.temporary.clone());
        let ours = ours.ok_or(Errno::NOENT)?;
        rustix::fs::renameat(self.folder, &ours, self.folder, name)?;
        self.note = None;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(note) = self.note.take()
            && rustix::fs::unlinkat(self.folder, &note.temporary, AtFlags::empty()).is_err()
        {
            // The note stays, so that the next start tries again.
            std::mem::forget(note);
        }
    }
}

fn noted(job: &Job<'_>) -> Result<Note, FileError> {
    // The folder's path as the kernel has it: some of it may have been made just now.
    let folder = job.place.real.parent().unwrap_or(&job.place.folder_path);
    Note::write(job.notes, folder).map_err(|source| FileError::System {
        doing: "note the write of",
        path: job.place.real.clone(),
        source,
    })
}
