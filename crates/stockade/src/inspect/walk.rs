//! The walk that resolves a path: one component at a time, on open handles.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::rc::Rc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::resolver::{Identity, PathResolver};

/// The most links that one walk follows, as in the kernel.
const LINKS_MAX: usize = 40;
/// The error for a link that the kernel would follow and the walk does not.
pub(super) const NOT_FOLLOWED: Errno = Errno::PERM;
/// The longest path that the kernel accepts.
const PATH_BYTES_MAX: usize = 4096;

/// The current position of a walk.
#[derive(Debug, Clone)]
pub(super) enum WalkPosition {
    /// The folders from the root down to here.
    Inside(Vec<Rc<OwnedFd>>),
    /// Outside the root.
    Outside(Rc<OwnedFd>),
}

pub(super) struct PathWalk<'v> {
    pub(super) resolver: &'v PathResolver<'v>,
    pub(super) links: usize,
    /// The number of components below the position that do not exist.
    pub(super) absent: usize,
    pub(super) absent_names: Vec<OsString>,
}

impl PathWalk<'_> {
    pub(super) fn run(&mut self, path: &OsStr) -> Result<WalkPosition, Errno> {
        if path.len() >= PATH_BYTES_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        let mut place = if path.as_bytes().starts_with(b"/") {
            self.slash()?
        } else {
            self.absent_names.clone_from(&self.resolver.cwd.absent);
            self.absent = self.absent_names.len();
            self.resolver.cwd.place.clone()
        };
        let mut todo = components(path.as_bytes());
        while let Some(name) = todo.pop() {
            match name.as_bytes() {
                b".." if self.absent > 0 => self.leave_absent(),
                b".." => place = self.up(place)?,
                _ if self.absent > 0 => self.enter_absent(name),
                _ => place = self.down(place, name, &mut todo)?,
            }
        }
        Ok(place)
    }

    fn slash(&self) -> Result<WalkPosition, Errno> {
        if self.resolver.root.is_everything {
            return self.top();
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(WalkPosition::Outside(Rc::new(rustix::fs::openat(CWD, "/", flags, Mode::empty())?)))
    }

    fn top(&self) -> Result<WalkPosition, Errno> {
        let handle = rustix::io::fcntl_dupfd_cloexec(&self.resolver.root.handle, 3)?;
        Ok(WalkPosition::Inside(vec![Rc::new(handle)]))
    }

    fn up(&self, place: WalkPosition) -> Result<WalkPosition, Errno> {
        let here = match place {
            WalkPosition::Inside(mut folders) => {
                folders.pop();
                if !folders.is_empty() {
                    return Ok(WalkPosition::Inside(folders));
                }
                None
            }
            WalkPosition::Outside(folder) => Some(folder),
        };
        let folder =
            here.as_ref().map_or(self.resolver.root.handle.as_fd(), |folder| folder.as_fd());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::openat(folder, "..", flags, Mode::empty())?;
        self.outside_unless_root(parent)
    }

    fn down(
        &mut self,
        place: WalkPosition,
        name: OsString,
        todo: &mut Vec<OsString>,
    ) -> Result<WalkPosition, Errno> {
        let folder = match &place {
            WalkPosition::Inside(folders) => folders.last().ok_or(Errno::NOENT)?.as_fd(),
            WalkPosition::Outside(folder) => folder.as_fd(),
        };
        let entry = match open_entry(folder, &name) {
            Ok(entry) => entry,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                self.enter_absent(name);
                return Ok(place);
            }
            Err(errno) => return Err(errno),
        };
        let stat = rustix::fs::fstat(&entry)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return self.follow(place, &entry, todo);
        }
        match place {
            WalkPosition::Inside(mut folders) => {
                folders.push(Rc::new(entry));
                Ok(WalkPosition::Inside(folders))
            }
            WalkPosition::Outside(_) => self.outside_unless_root(entry),
        }
    }

    fn follow(
        &mut self,
        place: WalkPosition,
        link: &OwnedFd,
        todo: &mut Vec<OsString>,
    ) -> Result<WalkPosition, Errno> {
        self.links = self.links.saturating_add(1);
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
        // The text of procfs links does not say where they lead; nothing in procfs belongs to the
        // project.
        if rustix::fs::fstatfs(link)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
            return Err(NOT_FOLLOWED);
        }
        let target = rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes();
        todo.extend(components(&target));
        if todo.len() > PATH_BYTES_MAX {
            return Err(NOT_FOLLOWED);
        }
        if target.starts_with(b"/") { self.slash() } else { Ok(place) }
    }

    fn outside_unless_root(&self, folder: OwnedFd) -> Result<WalkPosition, Errno> {
        if Identity::of(&rustix::fs::fstat(&folder)?) == self.resolver.root.identity {
            return self.top();
        }
        Ok(WalkPosition::Outside(Rc::new(folder)))
    }

    fn enter_absent(&mut self, name: OsString) {
        self.absent = self.absent.saturating_add(1);
        self.absent_names.push(name);
    }

    fn leave_absent(&mut self) {
        self.absent = self.absent.saturating_sub(1);
        self.absent_names.pop();
    }

    pub(super) fn absent_path(&self) -> PathBuf {
        self.absent_names.iter().collect()
    }
}

/// Opens one name in one folder, without following a link.
fn open_entry(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve) {
        // Before Linux 5.6, or if seccomp denies it: for one name without a slash, openat is as
        // safe.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(folder, name, flags, Mode::empty()),
        other => other,
    }
}

/// The names in a path in reverse order, without empty ones and `.`.
fn components(path: &[u8]) -> Vec<OsString> {
    path.split(|byte| *byte == b'/')
        .rev()
        .filter(|name| !name.is_empty() && *name != b".")
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect()
}
