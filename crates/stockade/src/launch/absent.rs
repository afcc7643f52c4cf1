//! Protected paths that do not exist when a sandbox starts. They are watched: a path that the sandbox
//! creates ends it, and is then renamed aside in its own folder.
//!
//! The supervisor acts beneath a handle of a folder that the sandbox can write, follows no symbolic
//! link, crosses no mount, and never moves anything to another folder. So a second sandbox that swaps
//! folders meanwhile gains nothing that it could not do itself.

pub(super) mod aside;
mod sight;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub(super) use self::sight::Sight;
use super::jail::placed;
use crate::confine::{Files, Origin};
use crate::outcome::{Failure, FailureKind};

/// A folder that a sandbox can write, by the handle from which everything in it is found.
#[derive(Debug, Clone)]
pub(super) struct Writable {
    path: PathBuf,
    handle: Arc<OwnedFd>,
}

/// One path that must not appear: the names on the way down from a folder that the sandbox can write.
#[derive(Debug)]
pub(super) struct Absent {
    from: Arc<OwnedFd>,
    folder: PathBuf,
    names: Vec<OsString>,
    path: PathBuf,
    origin: Origin,
}

/// Who created a path that has appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// The sandbox, or nobody can tell.
    Sandbox,
    /// Somebody outside of the sandbox.
    Other,
    /// That shows in a moment: the sandbox is creating files just now.
    Undecided,
}

/// A protected path that has appeared, and its state after the run.
#[derive(Debug)]
pub(super) struct Appearance {
    /// What happened, in words.
    pub(super) note: String,
    /// Who created it.
    pub(super) maker: Maker,
    /// Whether the path is still there.
    pub(super) is_there: bool,
    /// Whether it was changed after somebody outside of the sandbox had created it.
    pub(super) is_changed: bool,
}

impl Appearance {
    /// The same, if it was changed after it was first seen.
    pub(super) fn changed(self) -> Self {
        let note = format!(
            "{}; it was changed after it was first seen, or that cannot be told, perhaps by the \
             sandbox: look at it before you use it",
            self.note
        );
        Self { note, is_changed: true, ..self }
    }
}

impl Writable {
    /// The folders that these files allow to be written, opened now.
    pub(super) fn of(files: &Files) -> Result<Vec<Self>, Failure> {
        let open = |path: &PathBuf| {
            let path = placed(path, &files.root)?;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let handle = rustix::fs::openat2(CWD, &path, flags, Mode::empty(), resolve);
            let handle = handle.map_err(|errno| unwatched(&path, errno))?;
            Ok(Self { path, handle: Arc::new(handle) })
        };
        files.write.iter().map(open).collect()
    }

    /// A folder that is open already, so that it is the one that the sandbox gets.
    pub(super) fn opened(path: PathBuf, handle: BorrowedFd<'_>) -> Result<Self, Failure> {
        let handle = handle.try_clone_to_owned().map_err(|error| {
            let message = format!("could not keep {path:?} open: {error}");
            Failure::new(FailureKind::WatchProtected, message)
        })?;
        Ok(Self { path, handle: Arc::new(handle) })
    }

    /// Where it was when it was opened.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Whether anything in it has this name, or that cannot be seen.
    pub(super) fn has(&self, name: &OsStr) -> bool {
        !is_missing(&self.handle, name)
    }

    /// The folder of a list that holds this path, and the names below it.
    fn of_path<'a>(all: &'a [Self], path: &Path) -> Option<(&'a Self, Vec<OsString>)> {
        all.iter().find_map(|one| {
            let below = path.strip_prefix(&one.path).ok()?;
            let names: Vec<OsString> = below.iter().map(OsStr::to_owned).collect();
            (!names.is_empty()).then_some((one, names))
        })
    }
}

/// The paths that do not exist and that the sandbox could create.
///
/// A path that no sandbox can write is not watched, whoever names it. A folder that cannot be opened
/// ends the launch: a file that is created in it would not be seen.
pub(super) fn watched(
    absent: &[PathBuf],
    files: &Files,
    writable: &[Writable],
) -> Result<Vec<Absent>, Failure> {
    let watch = |path: &PathBuf| Absent::of(path, files.origin_of(path), writable).transpose();
    absent.iter().filter_map(watch).collect()
}

fn unwatched(path: &Path, errno: Errno) -> Failure {
    Failure::new(FailureKind::WatchProtected, format!("could not watch for {path:?}: {errno}"))
}

/// What is at a path now.
enum AbsentState {
    /// Nothing, and no symbolic link on the way there.
    Nothing,
    /// An entry of this folder: the path itself, or a symbolic link on the way to it. The number says
    /// how many names lead there.
    There(Arc<OwnedFd>, usize),
}

impl Absent {
    fn of(path: &Path, origin: Origin, writable: &[Writable]) -> Result<Option<Self>, Failure> {
        let Some((folder, names)) = Writable::of_path(writable, path) else { return Ok(None) };
        // The sandbox owns what `git init` creates in it.
        let is_git = names.len() > 1 && names.first().is_some_and(|first| first == ".git");
        if is_git && is_missing(&folder.handle, OsStr::new(".git")) {
            return Ok(None);
        }
        let absent = Self::at(path, origin, folder, names);
        match absent.find(Rights::AsTheyAre, LOOKING) {
            Ok(AbsentState::Nothing) => Ok(Some(absent)),
            // A link was on the way before, or it has just been created.
            Ok(AbsentState::There(..)) => Ok(None),
            Err(errno) => Err(unwatched(path, errno)),
        }
    }

    /// A path that was found by a search, in a folder that the sandbox can write.
    pub(super) fn found(path: &Path, origin: Origin, writable: &[Writable]) -> Option<Self> {
        let (folder, names) = Writable::of_path(writable, path)?;
        Some(Self::at(path, origin, folder, names))
    }

    fn at(path: &Path, origin: Origin, folder: &Writable, names: Vec<OsString>) -> Self {
        let from = Arc::clone(&folder.handle);
        Self { from, folder: folder.path.clone(), names, path: path.to_owned(), origin }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The first name on the way down to it.
    pub(super) fn first_name(&self) -> Option<&OsStr> {
        self.names.first().map(OsString::as_os_str)
    }

    /// Whether something is there now, or that cannot be seen.
    pub(super) fn has_appeared(&self) -> bool {
        !matches!(self.find(Rights::AsTheyAre, LOOKING), Ok(AbsentState::Nothing))
    }

    /// What is there now, if it can be found.
    pub(super) fn sight(&self) -> Option<Sight> {
        let Ok(AbsentState::There(folder, at)) = self.find(Rights::AsTheyAre, LOOKING) else {
            return None;
        };
        Some(Sight::of(&folder, self.names.get(at)?))
    }

    /// Deals with what has appeared, once nothing runs in the sandbox any more.
    pub(super) fn settle(&self, maker: Maker) -> Option<Appearance> {
        let path = &self.path;
        let found = self.find(Rights::AsTheyAre, LOOKING);
        if matches!(found, Ok(AbsentState::Nothing)) {
            return None;
        }
        if let (Maker::Other, Err(errno)) = (maker, found) {
            let note = format!(
                "{:?} could not be looked into after the run ({errno}), so it is not known whether a \
                 protected path was created in it",
                self.closed_folder()
            );
            return Some(Appearance { note, maker, is_there: true, is_changed: false });
        }
        if maker == Maker::Other {
            let note = format!(
                "{path:?} was created outside of the sandbox during the run; it is protected from \
                 the next call on"
            );
            return Some(Appearance { note, maker, is_there: true, is_changed: false });
        }
        if self.origin == Origin::Project {
            let note = format!(
                "{path:?} was created; it was left as it is, because only an untrusted project file \
                 protects it"
            );
            return Some(Appearance { note, maker, is_there: true, is_changed: false });
        }
        let (note, is_there) = match self.rename_aside() {
            Ok(None) => return None,
            Ok(Some(aside)) => (format!("{path:?} was created and is now {aside:?}"), false),
            Err(errno) => {
                (format!("{path:?} was created and could not be renamed aside: {errno}"), true)
            }
        };
        Some(Appearance { note, maker, is_there, is_changed: false })
    }

    /// The first folder on the way that cannot be entered.
    fn closed_folder(&self) -> &Path {
        let enter = |folder: &&Path| {
            rustix::fs::accessat(CWD, *folder, Access::EXEC_OK, AtFlags::EACCESS).is_err()
        };
        let way = self.path.ancestors().skip(1).take_while(|above| above.starts_with(&self.folder));
        way.filter(enter).last().unwrap_or(&self.folder)
    }

    /// Goes down name by name and follows no link.
    fn find(&self, rights: Rights, resolve: ResolveFlags) -> Result<AbsentState, Errno> {
        let Some((last, way)) = self.names.split_last() else { return Ok(AbsentState::Nothing) };
        let mut folder = Arc::clone(&self.from);
        for (at, name) in way.iter().enumerate() {
            let next = rights.try_in(&folder, || open(folder.as_fd(), name, resolve));
            folder = match next {
                Ok(next) => Arc::new(next),
                Err(Errno::NOENT) => return Ok(AbsentState::Nothing),
                // Of all that is not a folder, only a link leads anywhere.
                Err(Errno::NOTDIR | Errno::LOOP) if is_link(&folder, name) => {
                    return Ok(AbsentState::There(folder, at));
                }
                Err(Errno::NOTDIR) => return Ok(AbsentState::Nothing),
                Err(errno) => return Err(errno),
            };
        }
        let look = || rustix::fs::statat(&*folder, last, AtFlags::SYMLINK_NOFOLLOW);
        match rights.try_in(&folder, look) {
            Ok(_) => Ok(AbsentState::There(folder, way.len())),
            Err(Errno::NOENT) => Ok(AbsentState::Nothing),
            Err(errno) => Err(errno),
        }
    }

    /// Gives what is there another name in the same folder, by which nothing runs: its path now.
    fn rename_aside(&self) -> Result<Option<PathBuf>, Errno> {
        // The way is walked again, from the one handle that nobody can swap.
        let AbsentState::There(folder, at) = self.find(Rights::Taken, RENAMING)? else {
            return Ok(None);
        };
        let Some(name) = self.names.get(at) else { return Ok(None) };
        let aside = aside::rename(&folder, name, "held")?;
        let way: PathBuf = self.names.iter().take(at).collect();
        Ok(Some(self.folder.join(way).join(aside)))
    }
}

/// How a folder is found that is only looked into.
pub(super) const LOOKING: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);
/// How a folder is found in which a name is changed.
const RENAMING: ResolveFlags = LOOKING.union(ResolveFlags::NO_XDEV);

/// How to deal with folders that a sandbox has closed to their owner.
#[derive(Clone, Copy)]
pub(super) enum Rights {
    AsTheyAre,
    Taken,
}

impl Rights {
    pub(super) fn try_in<T>(
        self,
        folder: &OwnedFd,
        act: impl Fn() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match (act(), self) {
            (Err(Errno::ACCESS), Self::Taken) => {
                aside::take_rights(folder)?;
                act()
            }
            (other, _) => other,
        }
    }
}

pub(super) fn open(
    at: BorrowedFd<'_>,
    name: &OsStr,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(at, name, flags, Mode::empty(), resolve)
}

fn is_missing(folder: &OwnedFd, name: &OsStr) -> bool {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!(found, Err(Errno::NOENT))
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests;
