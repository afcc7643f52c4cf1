//! Resolves paths on open handles, without changing anything.
//!
//! The walk opens one component at a time and never lets the kernel follow a link, so every step is
//! checked: a path is inside if the folder where it ends was reached by descending from the root.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use stockade_policy::Policy;

use super::home::Homes;
use super::walk::{PathWalk, WalkPosition};
use crate::inspect::path_of;

/// The project root as an open folder.
#[derive(Debug)]
pub struct Root {
    pub(super) handle: OwnedFd,
    path: PathBuf,
    pub(super) identity: Identity,
    pub(super) is_everything: bool,
}

/// The identity of a file under any name: device and inode.
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
    pub fn open(path: &Path) -> Result<Self, ResolverError> {
        let fail =
            |errno: Errno| ResolverError::OpenRoot { path: path.to_owned(), source: errno.into() };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(fail)?;
        let identity = Identity::of(&rustix::fs::fstat(&handle).map_err(fail)?);
        let slash = rustix::fs::stat("/").map_err(fail)?;
        let path = path_of(handle.as_fd()).map_err(fail)?;
        Ok(Self { handle, path, identity, is_everything: identity == Identity::of(&slash) })
    }

    /// Opens the root of a project. It may be or contain a home directory only if the policy allows
    /// that.
    pub fn open_for(path: &Path, policy: &Policy) -> Result<Self, ResolverError> {
        let root = Self::open(path)?;
        if policy.project_home { Ok(root) } else { root.outside_of_homes() }
    }

    /// Refuses a root that is or contains a home directory of the user.
    pub fn outside_of_homes(self) -> Result<Self, ResolverError> {
        match Homes::find().held_by(self.identity, &self.path) {
            None => Ok(self),
            Some(home) => {
                let home = home.to_owned();
                Err(ResolverError::HoldsHome { path: self.path, home })
            }
        }
    }

    /// The real path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The handle of the root.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Resolves the paths of one call: from the root and the working directory of the call.
#[derive(Debug)]
pub struct PathResolver<'r> {
    pub(super) root: &'r Root,
    pub(super) cwd: Base,
    cwd_path: PathBuf,
}

/// The folder at which relative paths start.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) place: WalkPosition,
    /// The components of it that do not exist.
    pub(super) absent: Vec<OsString>,
}

/// Where a path leads.
#[derive(Debug)]
pub enum Resolution {
    /// Beneath the root, or the root itself.
    Inside {
        /// Whether the last component exists.
        exists: bool,
        /// The file, or the deepest existing folder above it.
        handle: Rc<OwnedFd>,
    },
    /// Not beneath the root.
    Outside {
        /// The real path, for messages.
        real: PathBuf,
        /// Whether it exists.
        exists: bool,
    },
    /// The path cannot be resolved, for this reason.
    Unknowable(Errno),
}

impl<'r> PathResolver<'r> {
    /// Opens the resolver for a working directory beneath the root.
    pub fn open(root: &'r Root, cwd: Option<&Path>) -> Result<Self, ResolverError> {
        let top = root
            .handle
            .try_clone()
            .map_err(|source| ResolverError::OpenCwd { path: root.path.clone(), source })?;
        let place = WalkPosition::Inside(vec![Rc::new(top)]);
        let cwd_path = root.path.clone();
        let mut resolver = Self { root, cwd: Base { place, absent: Vec::new() }, cwd_path };
        let Some(cwd) = cwd else { return Ok(resolver) };
        let fail =
            |errno: Errno| ResolverError::OpenCwd { path: cwd.to_owned(), source: errno.into() };
        let mut walk = resolver.walk();
        match walk.run(cwd.as_os_str()).map_err(fail)? {
            WalkPosition::Inside(folders) => {
                let last = folders.last().ok_or_else(|| fail(Errno::NOENT))?;
                if walk.absent > 0 {
                    return Err(fail(Errno::NOENT));
                }
                let stat = rustix::fs::fstat(last).map_err(fail)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                    return Err(fail(Errno::NOTDIR));
                }
                resolver.cwd_path = path_of(last.as_fd()).map_err(fail)?;
                resolver.cwd = Base { place: WalkPosition::Inside(folders), absent: Vec::new() };
                Ok(resolver)
            }
            WalkPosition::Outside(_) if walk.absent > 0 => Err(fail(Errno::NOENT)),
            WalkPosition::Outside(_) => {
                Err(ResolverError::CwdOutside { path: cwd.to_owned(), root: root.path.clone() })
            }
        }
    }

    /// The root.
    pub fn root(&self) -> &'r Root {
        self.root
    }

    /// The resolver for another folder, which may be outside the root and may not exist.
    pub fn from_folder(&self, folder: &Path) -> Result<Self, Errno> {
        let mut walk = self.walk();
        let place = walk.run(folder.as_os_str())?;
        let cwd = Base { place, absent: walk.absent_names };
        Ok(Self { root: self.root, cwd, cwd_path: folder.to_owned() })
    }

    /// The working directory, or the deepest existing folder of its path.
    pub fn cwd(&self) -> BorrowedFd<'_> {
        match &self.cwd.place {
            WalkPosition::Inside(folders) => folders.last(),
            WalkPosition::Outside(folder) => Some(folder),
        }
        .map_or_else(|| self.root.handle.as_fd(), |folder| folder.as_fd())
    }

    /// The real path of the working directory.
    pub fn cwd_path(&self) -> &Path {
        &self.cwd_path
    }

    /// Resolves a path as a program in the working directory would.
    pub fn resolve(&self, path: &OsStr) -> Resolution {
        let mut walk = self.walk();
        let place = match walk.run(path) {
            Ok(place) => place,
            Err(errno) => return Resolution::Unknowable(errno),
        };
        let exists = walk.absent == 0;
        match place {
            WalkPosition::Inside(folders) => match folders.last() {
                Some(handle) => Resolution::Inside { exists, handle: Rc::clone(handle) },
                None => Resolution::Unknowable(Errno::NOENT),
            },
            WalkPosition::Outside(handle) => match path_of(handle.as_fd()) {
                Ok(real) if exists => Resolution::Outside { real, exists },
                Ok(real) => Resolution::Outside { real: real.join(walk.absent_path()), exists },
                Err(errno) => Resolution::Unknowable(errno),
            },
        }
    }

    /// The real path to which a path leads, or would lead if it were created; `None` if that is
    /// unknown.
    pub fn real(&self, path: &OsStr) -> Option<PathBuf> {
        // A path below the working directory is walked from its handle, which exists.
        let beneath = Path::new(path).strip_prefix(&self.cwd_path);
        let path = match beneath {
            Ok(rest) if rest.as_os_str().is_empty() => OsStr::new("."),
            Ok(rest) => rest.as_os_str(),
            Err(_) => path,
        };
        let mut walk = self.walk();
        let place = walk.run(path).ok()?;
        let real = match &place {
            WalkPosition::Inside(folders) => path_of(folders.last()?.as_fd()).ok()?,
            WalkPosition::Outside(handle) => path_of(handle.as_fd()).ok()?,
        };
        Some(if walk.absent == 0 { real } else { real.join(walk.absent_path()) })
    }

    pub(super) fn walk(&self) -> PathWalk<'_> {
        PathWalk { resolver: self, links: 0, absent: 0, absent_names: Vec::new() }
    }
}

/// Why the project root or the working directory cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolverError {
    /// The root cannot be opened.
    #[error("open the project root {path:?}")]
    OpenRoot {
        /// The path as given.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The root is or contains a home directory.
    #[error(
        "use {path:?} as the project root: it is or holds the home folder {home:?}, so that keys, start-up \
         files and other projects would be part of the project; hint: start in the folder of one project, or \
         name it with --root; `home = true` under `[project]` in your own policy file allows this"
    )]
    HoldsHome {
        /// The real root.
        path: PathBuf,
        /// The home directory.
        home: PathBuf,
    },
    /// The working directory cannot be opened.
    #[error("open the working folder {path:?}")]
    OpenCwd {
        /// The path as given.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The working directory is not beneath the root.
    #[error("cwd {path:?} is not under the project root {root:?}")]
    CwdOutside {
        /// The path as given.
        path: PathBuf,
        /// The real root.
        root: PathBuf,
    },
}

/// The `stat` of a handle.
pub fn stat_of(handle: BorrowedFd<'_>) -> Result<Stat, Errno> {
    rustix::fs::statat(handle, "", AtFlags::EMPTY_PATH)
}

/// A path beneath the root, on handles. There is no link between its folder and the file.
#[derive(Debug)]
pub struct ResolvedPath {
    /// The folder that contains it, or the deepest existing folder above it.
    pub folder: OwnedFd,
    /// The real path of that folder.
    pub folder_path: PathBuf,
    /// The folders between that and the file that do not exist.
    pub missing: Vec<OsString>,
    /// Its name; `.` for the root.
    pub name: OsString,
    /// The file or folder, if it exists.
    pub file: Option<OwnedFd>,
    /// Its real path, or the one that it would have.
    pub real: PathBuf,
}

/// Why a path cannot be resolved beneath the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError {
    /// It leads here, outside the root.
    Outside(PathBuf),
    /// Resolving it failed.
    Unknowable(Errno),
}

impl From<Errno> for ResolveError {
    fn from(errno: Errno) -> Self {
        Self::Unknowable(errno)
    }
}

impl PathResolver<'_> {
    /// Resolves a path to handles for reading or writing.
    pub fn locate(&self, path: &OsStr) -> Result<ResolvedPath, ResolveError> {
        let mut walk = self.walk();
        let folders = match walk.run(path)? {
            WalkPosition::Inside(folders) => folders,
            WalkPosition::Outside(handle) => {
                let real = path_of(handle.as_fd())?;
                return Err(ResolveError::Outside(real.join(walk.absent_path())));
            }
        };
        let last = folders.last().ok_or(Errno::NOENT)?;
        let last_path = path_of(last.as_fd())?;
        if !last_path.starts_with(self.root().path()) {
            return Err(ResolveError::Outside(last_path));
        }
        let owned = |handle: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(handle, 3);
        if let Some((name, missing)) = walk.absent_names.split_last() {
            return Ok(ResolvedPath {
                folder: owned(last)?,
                missing: missing.to_vec(),
                name: name.clone(),
                file: None,
                real: last_path.join(walk.absent_path()),
                folder_path: last_path,
            });
        }
        if stat_of(last.as_fd())?.st_nlink == 0 {
            return Err(ResolveError::Unknowable(Errno::NOENT));
        }
        let above = folders.len().checked_sub(2).and_then(|at| folders.get(at));
        let (folder, name) = match (above, last_path.file_name()) {
            (Some(above), Some(name)) => (above, name.to_owned()),
            _ => (last, OsString::from(".")),
        };
        Ok(ResolvedPath {
            folder: owned(folder)?,
            folder_path: path_of(folder.as_fd())?,
            missing: Vec::new(),
            name,
            file: Some(owned(last)?),
            real: last_path,
        })
    }
}
