//! Protected paths that are not there when a box starts. No mount keeps them from being made
//! without a trace in the project, so they are watched for: a box that makes one is ended, and
//! what it made is moved out of the project once the tree is dead.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::scratch;
use crate::call::CallId;
use crate::outcome::Failure;

/// Entries that are copied at most where a rename cannot do it.
const COPIED_MAX: usize = 100_000;

/// One path that must not appear: a name in an open folder.
#[derive(Debug)]
pub(super) struct Absent {
    folder: Arc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

/// Those of the paths that are not there, though the folder that would hold them is.
///
/// A folder that cannot be opened, though it is there, ends the launch: what is made in it would
/// not be seen.
pub(super) fn watched(absent: &[PathBuf]) -> Result<Vec<Absent>, Failure> {
    let mut folders = Vec::new();
    absent.iter().filter_map(|path| Absent::of(path, &mut folders).transpose()).collect()
}

/// Folders that were opened before, or could not be because they are not there.
type Folders<'a> = Vec<(&'a Path, Option<Arc<OwnedFd>>)>;

/// Opens the folder that would hold a name; none if it is not there.
fn open_folder(parent: &Path, name: &OsStr) -> Result<Option<OwnedFd>, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => {
            let message = format!("could not watch {parent:?} for {name:?}: {errno}");
            Err(Failure::new("watch protected paths", message))
        }
    }
}

impl Absent {
    fn of<'a>(path: &'a Path, folders: &mut Folders<'a>) -> Result<Option<Self>, Failure> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let known = folders.iter().find(|(folder, _)| *folder == parent);
        let folder = match known {
            Some((_, folder)) => folder.clone(),
            None => {
                let folder = open_folder(parent, name)?.map(Arc::new);
                folders.push((parent, folder.clone()));
                folder
            }
        };
        Ok(folder.map(|folder| Self { folder, name: name.to_owned(), path: path.to_owned() }))
    }

    /// Whether there is something of that name now, or it cannot be told.
    pub(super) fn has_appeared(&self) -> bool {
        let found = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        !matches!(found, Err(Errno::NOENT))
    }

    /// Moves what has appeared out of the project; says what was done in words.
    pub(super) fn quarantine(&self) -> Option<String> {
        if !self.has_appeared() {
            return None;
        }
        let path = &self.path;
        Some(match self.move_away() {
            Ok(place) => format!("{path:?} was made and is now in {place:?}"),
            Err(error) => format!("{path:?} was made and could not be moved away: {error}"),
        })
    }

    fn move_away(&self) -> std::io::Result<PathBuf> {
        let (base, base_path) = scratch::open_base()?;
        let folder = OsString::from(format!("quarantine-{}", CallId::new()));
        rustix::fs::mkdirat(&base, &folder, Mode::RWXU)?;
        let place = scratch::open_folder(base.as_fd(), &folder)?;
        match rustix::fs::renameat(&self.folder, &self.name, &place, &self.name) {
            // The project is on another file system.
            Err(Errno::XDEV) => {
                let mut left = COPIED_MAX;
                copy(self.folder.as_fd(), &self.name, place.as_fd(), &mut left)?;
                scratch::remove_any(self.folder.as_fd(), &self.name)?;
            }
            other => other?,
        }
        Ok(base_path.join(folder).join(&self.name))
    }
}

/// Copies a file, a link or a folder, and follows nothing. Devices, sockets and pipes are left out.
fn copy(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    left: &mut usize,
) -> std::io::Result<()> {
    *left = left.checked_sub(1).ok_or_else(|| std::io::Error::other("there is too much of it"))?;
    let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut source =
                std::fs::File::from(rustix::fs::openat(from, name, flags, Mode::empty())?);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut copied =
                std::fs::File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
            std::io::copy(&mut source, &mut copied)?;
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(target, to, name)?;
        }
        FileType::Directory => {
            rustix::fs::mkdirat(to, name, Mode::RWXU)?;
            let inner = scratch::open_folder(from, name)?;
            let copied = scratch::open_folder(to, name)?;
            for entry in rustix::fs::Dir::read_from(&inner)? {
                let entry = entry?;
                let name = std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
                if name != OsStr::new(".") && name != OsStr::new("..") {
                    copy(inner.as_fd(), name, copied.as_fd(), left)?;
                }
            }
        }
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => {}
    }
    Ok(())
}
