//! Protected paths that are not there when a box starts. No mount keeps them from being made
//! without a trace in the project, so they are watched for: a box that makes one is ended, and
//! what it made is moved out of the project once the tree is dead.

mod quarantine;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::outcome::Failure;

/// One path that must not appear: names on the way down from an open folder that stays.
#[derive(Debug)]
pub(super) struct Absent {
    from: Arc<OwnedFd>,
    names: Vec<OsString>,
    path: PathBuf,
}

/// What became of a path that has appeared.
#[derive(Debug)]
pub(super) struct Quarantined {
    /// What was done, in words.
    pub(super) note: String,
    /// Whether nothing is at the path any more.
    pub(super) is_gone: bool,
}

impl Quarantined {
    fn of(path: &Path, moved: std::io::Result<PathBuf>) -> Self {
        match moved {
            Ok(place) => {
                Self { note: format!("{path:?} was made and is now in {place:?}"), is_gone: true }
            }
            Err(error) => Self {
                note: format!("{path:?} was made and could not be moved away: {error}"),
                is_gone: false,
            },
        }
    }
}

/// Moves what is at this path out of the project, whatever made it.
pub(super) fn quarantine(path: &Path) -> Option<Quarantined> {
    let (folder, name) = (path.parent()?, path.file_name()?);
    let moved = match open(CWD, folder) {
        Ok(folder) if is_missing(&folder, name) => return None,
        Ok(folder) => quarantine::move_away(&folder, name),
        Err(errno) => Err(errno.into()),
    };
    Some(Quarantined::of(path, moved))
}

/// Those of the paths that are not there and could be made.
///
/// A folder that cannot be opened, though it is there, ends the launch: what is made in it would
/// not be seen.
pub(super) fn watched(absent: &[PathBuf], root: &Path) -> Result<Vec<Absent>, Failure> {
    let mut opened = Opened::default();
    absent.iter().filter_map(|path| Absent::of(path, root, &mut opened).transpose()).collect()
}

/// The folder that was opened last: most paths are beneath the same.
#[derive(Debug, Default)]
struct Opened(Option<(PathBuf, Arc<OwnedFd>)>);

impl Opened {
    fn open(&mut self, folder: &Path) -> Result<Arc<OwnedFd>, Errno> {
        if let Some((_, handle)) = self.0.as_ref().filter(|(known, _)| known == folder) {
            return Ok(Arc::clone(handle));
        }
        let handle = Arc::new(open(CWD, folder)?);
        self.0 = Some((folder.to_owned(), Arc::clone(&handle)));
        Ok(handle)
    }
}

/// What is at a path now.
enum Found {
    /// Nothing, and no link on the way there.
    Nothing,
    /// This name in this folder: what must not be there, or a link on the way to it.
    There(Arc<OwnedFd>, OsString),
}

impl Absent {
    fn of(path: &Path, root: &Path, opened: &mut Opened) -> Result<Option<Self>, Failure> {
        // In the project the way is gone anew each time, for a box may move folders aside and make
        // others in their place; elsewhere links of the host may be on the way.
        let (from, below) = match (path.strip_prefix(root), path.parent(), path.file_name()) {
            (Ok(below), ..) => (root, below),
            (Err(_), Some(parent), Some(name)) => (parent, Path::new(name)),
            (Err(_), ..) => return Ok(None),
        };
        let names: Vec<OsString> = below.iter().map(OsStr::to_owned).collect();
        let unwatched = |errno: Errno| {
            let message = format!("could not watch for {path:?}: {errno}");
            Failure::new("watch protected paths", message)
        };
        let from = match opened.open(from) {
            Ok(from) => from,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(unwatched(errno)),
        };
        // What `git init` makes in the box is the box's own.
        let is_git = names.len() > 1 && names.first().is_some_and(|first| first == ".git");
        if is_git && is_missing(&from, OsStr::new(".git")) {
            return Ok(None);
        }
        let absent = Self { from, names, path: path.to_owned() };
        match absent.find(Rights::AsTheyAre) {
            Ok(Found::Nothing) => Ok(Some(absent)),
            // A link was on the way before, or it has just been made.
            Ok(Found::There(..)) => Ok(None),
            Err(errno) => Err(unwatched(errno)),
        }
    }

    /// Whether there is something now, or it cannot be told.
    pub(super) fn has_appeared(&self) -> bool {
        !matches!(self.find(Rights::AsTheyAre), Ok(Found::Nothing))
    }

    /// Moves what has appeared out of the project; says what was done.
    pub(super) fn quarantine(&self) -> Option<Quarantined> {
        let path = &self.path;
        let moved = match self.find(Rights::Taken) {
            Ok(Found::Nothing) => return None,
            Ok(Found::There(folder, name)) => quarantine::move_away(&folder, &name),
            Err(errno) => Err(errno.into()),
        };
        Some(Quarantined::of(path, moved))
    }

    /// Goes down name by name and follows no link.
    fn find(&self, rights: Rights) -> Result<Found, Errno> {
        let Some((last, way)) = self.names.split_last() else { return Ok(Found::Nothing) };
        let mut folder = Arc::clone(&self.from);
        for name in way {
            let next = rights.try_in(&folder, || open(folder.as_fd(), Path::new(name)));
            folder = match next {
                Ok(next) => Arc::new(next),
                Err(Errno::NOENT) => return Ok(Found::Nothing),
                // It is something else: only a link leads anywhere.
                Err(Errno::NOTDIR | Errno::LOOP) if is_link(&folder, name) => {
                    return Ok(Found::There(folder, name.clone()));
                }
                Err(Errno::NOTDIR) => return Ok(Found::Nothing),
                Err(errno) => return Err(errno),
            };
        }
        let look = || rustix::fs::statat(&*folder, last, AtFlags::SYMLINK_NOFOLLOW);
        match rights.try_in(&folder, look) {
            Ok(_) => Ok(Found::There(folder, last.clone())),
            Err(Errno::NOENT) => Ok(Found::Nothing),
            Err(errno) => Err(errno),
        }
    }
}

/// What to do about folders that a box has closed to their owner.
#[derive(Clone, Copy)]
enum Rights {
    AsTheyAre,
    Taken,
}

impl Rights {
    fn try_in<T>(self, folder: &OwnedFd, act: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        match (act(), self) {
            (Err(Errno::ACCESS), Self::Taken) => {
                take_rights(folder)?;
                act()
            }
            (other, _) => other,
        }
    }
}

/// Gives the owner of a folder all rights in it, besides those that others have.
fn take_rights(folder: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode) | Mode::RWXU;
    let handle = format!("/proc/self/fd/{}", folder.as_raw_fd());
    rustix::fs::chmodat(CWD, handle, mode, AtFlags::empty())
}

fn open(at: std::os::fd::BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

fn is_missing(folder: &OwnedFd, name: &OsStr) -> bool {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!(found, Err(Errno::NOENT))
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}
