//! Files that the host makes or replaces for an agent, from the handle of their folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::look_at;
use crate::bounded::{self, Links};
use crate::call::CallId;

/// Makes an empty file of this user alone, where nothing has the name.
pub(super) fn create(folder: BorrowedFd<'_>, name: &OsStr) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

/// Makes a file with this content, where nothing has the name.
pub(super) fn write_new(folder: BorrowedFd<'_>, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(folder, name)?;
    let written = file.write_all(bytes);
    if written.is_err() {
        // Half a file is worse than none.
        let _kept = rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_err();
    }
    written
}

/// Replaces a text file at once by what is made of its text, with its permissions, or makes it. Fails if it
/// is a link, or changes meanwhile. Where nothing is made of the text the file stays as it is.
pub(super) fn replace(
    folder: BorrowedFd<'_>,
    name: &Path,
    bytes_max: u64,
    edit: impl FnOnce(&str) -> Option<String>,
) -> io::Result<()> {
    let found = match look_at(folder, name.as_os_str()) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            return Err(io::Error::other("it is a link, which is not replaced"));
        }
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(errno.into()),
    };
    let text = match found {
        Some(_) => bounded::text_of(bounded::read_at(folder, name, Links::Refused, bytes_max)?)?,
        None => "{}".to_owned(),
    };
    let Some(new) = edit(&text) else { return Ok(()) };
    let temporary = OsString::from(format!("{}.stockade-{}", name.display(), CallId::new()));
    let put = put(folder, (name, found.as_ref()), &temporary, &new);
    if put.is_err() {
        let _gone = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty()).is_err();
    }
    put
}

fn put(
    folder: BorrowedFd<'_>,
    (name, found): (&Path, Option<&Stat>),
    temporary: &OsStr,
    text: &str,
) -> io::Result<()> {
    let mut file = create(folder, temporary)?;
    file.write_all(text.as_bytes())?;
    let Some(found) = found else {
        file.sync_all()?;
        let flags = RenameFlags::NOREPLACE;
        return Ok(rustix::fs::renameat_with(folder, temporary, folder, name, flags)?);
    };
    rustix::fs::fchmod(&file, Mode::from_raw_mode(found.st_mode & 0o7777))?;
    file.sync_all()?;
    if look_at(folder, name.as_os_str()).map_or(true, |now| version(&now) != version(found)) {
        return Err(io::Error::other("it was changed on this machine meanwhile"));
    }
    Ok(rustix::fs::renameat(folder, temporary, folder, name)?)
}

/// Which file it is, and when it was last written.
fn version(stat: &Stat) -> [i128; 6] {
    [
        stat.st_dev.into(),
        stat.st_ino.into(),
        stat.st_size.into(),
        stat.st_mtime.into(),
        stat.st_mtime_nsec.into(),
        stat.st_ctime_nsec.into(),
    ]
}
