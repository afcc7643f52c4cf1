//! A read-only view of the machine on open handles, and the walk that finds where a path lands.
//!
//! The walk opens one component at a time and never lets the kernel follow a link, so that every
//! step is seen: a path is inside if the folder it ends in was reached by descending from the root.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::home::Homes;
use super::walk::{Place, Walk};

/// The project root as an open folder.
#[derive(Debug)]
pub struct Root {
    pub(super) handle: OwnedFd,
    path: PathBuf,
    pub(super) identity: Identity,
    pub(super) is_everything: bool,
}

/// Which file this is, whatever it is called: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The identity in a `stat`.
    pub fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl Root {
    /// Opens the folder once, following links, so that a later swap changes nothing.
    pub fn open(path: &Path) -> Result<Self, ViewError> {
        let fail =
            |errno: Errno| ViewError::OpenRoot { path: path.to_owned(), source: errno.into() };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(fail)?;
        let identity = Identity::of(&rustix::fs::fstat(&handle).map_err(fail)?);
        let slash = rustix::fs::stat("/").map_err(fail)?;
        let path = path_of(handle.as_fd()).map_err(fail)?;
        Ok(Self { handle, path, identity, is_everything: identity == Identity::of(&slash) })
    }

    /// Refuses a root that is or holds a home folder of the user.
    pub fn outside_of_homes(self) -> Result<Self, ViewError> {
        match Homes::find().held_by(self.identity, &self.path) {
            None => Ok(self),
            Some(home) => {
                let home = home.to_owned();
                Err(ViewError::HoldsHome { path: self.path, home })
            }
        }
    }

    /// The real path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root as a handle.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The machine as one call sees it: the root and the folder in which the call runs.
#[derive(Debug)]
pub struct View<'r> {
    pub(super) root: &'r Root,
    pub(super) cwd: Base,
    cwd_path: PathBuf,
}

/// The folder that relative paths start from.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) place: Place,
    /// The components of it that are not there.
    pub(super) absent: Vec<OsString>,
}

/// Where a path ends.
#[derive(Debug)]
pub enum Landing {
    /// Beneath the root, or the root itself.
    Inside {
        /// Whether the last component is there.
        exists: bool,
        /// What the path names, or the deepest folder of it that is there.
        handle: Rc<OwnedFd>,
    },
    /// Not beneath the root.
    Outside {
        /// The real path it leads to, for the message.
        real: PathBuf,
        /// Whether there is something.
        exists: bool,
    },
    /// It cannot be told, for this reason.
    Unknowable(Errno),
}

impl<'r> View<'r> {
    /// The view from a folder, which has to be beneath the root.
    pub fn open(root: &'r Root, cwd: Option<&Path>) -> Result<Self, ViewError> {
        let top = root
            .handle
            .try_clone()
            .map_err(|source| ViewError::OpenCwd { path: root.path.clone(), source })?;
        let place = Place::Inside(vec![Rc::new(top)]);
        let cwd_path = root.path.clone();
        let mut view = Self { root, cwd: Base { place, absent: Vec::new() }, cwd_path };
        let Some(cwd) = cwd else { return Ok(view) };
        let fail = |errno: Errno| ViewError::OpenCwd { path: cwd.to_owned(), source: errno.into() };
        let mut walk = view.walk();
        match walk.run(cwd.as_os_str()).map_err(fail)? {
            Place::Inside(folders) => {
                let last = folders.last().ok_or_else(|| fail(Errno::NOENT))?;
                if walk.absent > 0 {
                    return Err(fail(Errno::NOENT));
                }
                let stat = rustix::fs::fstat(last).map_err(fail)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                    return Err(fail(Errno::NOTDIR));
                }
                view.cwd_path = path_of(last.as_fd()).map_err(fail)?;
                view.cwd = Base { place: Place::Inside(folders), absent: Vec::new() };
                Ok(view)
            }
            Place::Outside(_) if walk.absent > 0 => Err(fail(Errno::NOENT)),
            Place::Outside(_) => {
                Err(ViewError::CwdOutside { path: cwd.to_owned(), root: root.path.clone() })
            }
        }
    }

    /// The root of this view.
    pub fn root(&self) -> &'r Root {
        self.root
    }

    /// The view from another folder, which may lie outside the root and may not be there.
    pub fn from_folder(&self, folder: &Path) -> Result<Self, Errno> {
        let mut walk = self.walk();
        let place = walk.run(folder.as_os_str())?;
        let cwd = Base { place, absent: walk.absent_names };
        Ok(Self { root: self.root, cwd, cwd_path: folder.to_owned() })
    }

    /// The folder in which the call runs, or the deepest part of its path that is there.
    pub fn cwd(&self) -> BorrowedFd<'_> {
        match &self.cwd.place {
            Place::Inside(folders) => folders.last(),
            Place::Outside(folder) => Some(folder),
        }
        .map_or_else(|| self.root.handle.as_fd(), |folder| folder.as_fd())
    }

    /// The real path of that folder.
    pub fn cwd_path(&self) -> &Path {
        &self.cwd_path
    }

    /// Finds where a path leads that a program in the call's folder would open.
    pub fn land(&self, path: &OsStr) -> Landing {
        let mut walk = self.walk();
        let place = match walk.run(path) {
            Ok(place) => place,
            Err(errno) => return Landing::Unknowable(errno),
        };
        let exists = walk.absent == 0;
        match place {
            Place::Inside(folders) => match folders.last() {
                Some(handle) => Landing::Inside { exists, handle: Rc::clone(handle) },
                None => Landing::Unknowable(Errno::NOENT),
            },
            Place::Outside(handle) => match path_of(handle.as_fd()) {
                Ok(real) if exists => Landing::Outside { real, exists },
                Ok(real) => Landing::Outside { real: real.join(walk.absent_path()), exists },
                Err(errno) => Landing::Unknowable(errno),
            },
        }
    }

    /// The real path that a path leads to, or would if it were made; `None` where that cannot be
    /// told.
    pub fn real(&self, path: &OsStr) -> Option<PathBuf> {
        // A path that begins with the folder's own is walked from its handle, which is there.
        let beneath = Path::new(path).strip_prefix(&self.cwd_path);
        let path = match beneath {
            Ok(rest) if rest.as_os_str().is_empty() => OsStr::new("."),
            Ok(rest) => rest.as_os_str(),
            Err(_) => path,
        };
        let mut walk = self.walk();
        let place = walk.run(path).ok()?;
        let real = match &place {
            Place::Inside(folders) => path_of(folders.last()?.as_fd()).ok()?,
            Place::Outside(handle) => path_of(handle.as_fd()).ok()?,
        };
        Some(if walk.absent == 0 { real } else { real.join(walk.absent_path()) })
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { view: self, links: 0, absent: 0, absent_names: Vec::new() }
    }
}

/// Why the machine cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The root cannot be opened.
    #[error("open the project root {path:?}")]
    OpenRoot {
        /// As it was given.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The root is or holds a home folder.
    #[error(
        "use {path:?} as the project root: it is or holds the home folder {home:?}, so that keys, start-up \
         files and other projects would be part of the project; hint: start in the folder of one project, or \
         name it with --root; `home = true` under `[project]` in your own policy file allows this"
    )]
    HoldsHome {
        /// The real root.
        path: PathBuf,
        /// The home folder that it is or holds.
        home: PathBuf,
    },
    /// The working folder cannot be opened.
    #[error("open the working folder {path:?}")]
    OpenCwd {
        /// As it was given.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The working folder is not beneath the root.
    #[error("cwd {path:?} is not under the project root {root:?}")]
    CwdOutside {
        /// As it was given.
        path: PathBuf,
        /// The real root.
        root: PathBuf,
    },
}

/// The path by which the kernel knows a handle.
pub fn path_of(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let target = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// The real path of a folder, all links followed.
pub fn real_folder(path: &Path) -> Result<PathBuf, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    path_of(rustix::fs::openat(CWD, path, flags, Mode::empty())?.as_fd())
}

/// What a handle is.
pub fn stat_of(handle: BorrowedFd<'_>) -> Result<Stat, Errno> {
    rustix::fs::statat(handle, "", AtFlags::EMPTY_PATH)
}
