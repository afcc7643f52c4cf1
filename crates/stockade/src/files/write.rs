//! `Write`, and how a file is put into place: whole, or not at all.
//!
//! The new file has no name until it is complete and on the disk. A new name is linked to it at
//! once; a name that is there already is renamed over, so that readers see the one or the other.

mod attributes;
mod new_folders;
mod temporary;

use std::borrow::Cow;
use std::fs::File;
use std::os::fd::BorrowedFd;

use rustix::fs::{Access, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use self::new_folders::NewFolders;
use self::temporary::Temporary;
use super::changes::exact;
use super::error::FileError;
use super::{Change, ChangeKind, Job, ToolOutput, digest, lines, open, risky};
use crate::call::file::Write;
use crate::inspect::{Identity, path_of};
use crate::limits::LimitHit;

/// Makes a file, or replaces all that is in one and keeps its mode, owner and line ends.
pub(super) fn write(job: &Job<'_>, write: &Write) -> Result<ToolOutput, FileError> {
    let old = match job.place.file {
        Some(_) => Some(open::judged(job.place)?),
        None => None,
    };
    let was = match &old {
        Some((file, stat)) => open::whole(file, stat, &job.place.real, digest::BYTES_MAX).ok(),
        None => None,
    };
    let content = write.content.as_bytes();
    let keeps_ends = was.as_deref().is_some_and(lines::are_windows);
    let content: Cow<'_, [u8]> =
        if keeps_ends { lines::to_windows(content).into() } else { content.into() };
    write_bytes(job, old.as_ref(), was.as_deref(), &content)
}

/// Puts bytes into place, and tells what that changed.
pub(super) fn write_bytes(
    job: &Job<'_>,
    old: Option<&(File, Stat)>,
    was: Option<&[u8]>,
    bytes: &[u8],
) -> Result<ToolOutput, FileError> {
    let path = &job.place.real;
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let shown = path.strip_prefix(job.told_from).unwrap_or(path).display();
    if was == Some(bytes) {
        return Ok(ToolOutput::remark(format!("{shown} holds this already; nothing was changed")));
    }
    if size > job.file_bytes_max {
        let most = job.file_bytes_max;
        let error = FileError::TooLarge { path: path.clone(), bytes: size, most };
        let limit = Some(LimitHit::FileSize);
        return Ok(ToolOutput { limit, ..ToolOutput::remark(error.to_string()) });
    }
    if job.is_late() {
        return Err(FileError::Late);
    }
    let remarks = place(job, old, bytes)?;
    let beneath = path.strip_prefix(job.root.1).unwrap_or(path);
    let change = Change {
        path: beneath.to_string_lossy().into_owned(),
        path_base64: exact(beneath),
        kind: if old.is_some() { ChangeKind::Modified } else { ChangeKind::Created },
        size: Some(size),
        before: was.map(digest::of_bytes),
        after: Some(digest::of_bytes(bytes)),
        runs_code: risky::why(beneath),
    };
    let verb = if old.is_some() { "changed" } else { "made" };
    let mut told = ToolOutput { remarks, changes: vec![change], ..ToolOutput::default() };
    told.text.bytes = format!("{verb} {shown}, {size} bytes\n").into_bytes();
    told.text.seen = u64::try_from(told.text.bytes.len()).unwrap_or_default();
    Ok(told)
}

/// Makes the new file and gives it the name.
fn place(
    job: &Job<'_>,
    old: Option<&(File, Stat)>,
    bytes: &[u8],
) -> Result<Vec<String>, FileError> {
    let (place, path) = (job.place, &job.place.real);
    let made = NewFolders::make(job)?;
    let folder = made.last();
    let system = |doing| FileError::system(doing, path);
    let mut temporary = Temporary::make(job, folder)?;
    let mut remarks = Vec::new();
    if let Some((file, stat)) = old {
        let flags = AtFlags::EACCESS;
        rustix::fs::accessat(folder, &place.name, Access::WRITE_OK, flags)
            .map_err(system("write"))?;
        remarks = attributes::copy(file, stat, temporary.file())?;
    }
    temporary.fill(bytes)?;
    is_still_there(job, folder, !made.is_empty())?;
    match old {
        None => temporary.link(&place.name).map_err(|error| match error {
            Errno::EXIST => FileError::Changed(path.clone()),
            errno => system("make")(errno),
        })?,
        Some((_, stat)) => {
            temporary.name()?;
            is_still(folder, job, stat)?;
            temporary.rename(&place.name).map_err(system("replace"))?;
        }
    }
    drop(temporary);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let synced = rustix::fs::openat(folder, ".", flags, Mode::empty())
        .and_then(|folder| rustix::fs::fsync(&folder));
    if let Err(errno) = synced {
        remarks.push(format!("its folder could not be written to the disk: {errno}"));
    }
    made.keep();
    Ok(remarks)
}

/// The folder has to be where it was when it was judged.
fn is_still_there(job: &Job<'_>, folder: BorrowedFd<'_>, is_made: bool) -> Result<(), FileError> {
    let path = &job.place.real;
    let now = path_of(folder).map_err(FileError::system("find the folder of", path))?;
    let judged = if is_made { path.parent() } else { Some(job.place.folder_path.as_path()) };
    if judged == Some(now.as_path()) { Ok(()) } else { Err(FileError::Changed(path.clone())) }
}

/// The name has to be that of the file that was judged and read.
fn is_still(folder: BorrowedFd<'_>, job: &Job<'_>, judged: &Stat) -> Result<(), FileError> {
    let path = &job.place.real;
    let now = rustix::fs::statat(folder, &job.place.name, AtFlags::SYMLINK_NOFOLLOW);
    let same = |now: Stat| {
        Identity::of(&now) == Identity::of(judged)
            && (now.st_mtime, now.st_mtime_nsec, now.st_size)
                == (judged.st_mtime, judged.st_mtime_nsec, judged.st_size)
    };
    match now {
        Ok(now) if same(now) => Ok(()),
        Ok(_) | Err(Errno::NOENT) => Err(FileError::Changed(path.clone())),
        Err(errno) => Err(FileError::system("look at", path)(errno)),
    }
}
