//! Links that an agent has left in folders of the machine. The agent on this machine writes there too, and
//! would follow them: a line of a conversation must not end in a start-up file of the person's.
//!
//! A folder that was not looked through to its end does not keep its name. It is renamed as a whole, in the
//! agent's folder, where no sandbox changes names: in the folder itself the next agent could give a part its
//! name back, and the links in it would be older than that agent.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::super::absent::{LOOKING, Rights, aside, open};
use super::{look_at, open_folder};
use crate::bounded;

/// How many are named.
const NAMED_MAX: usize = 10;
/// Why a folder has another name.
const UNCHECKED: &str = "unchecked";

/// How far a look goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SweepBounds {
    pub(super) names: usize,
    pub(super) depth: usize,
    pub(super) time: Duration,
}

impl Default for SweepBounds {
    fn default() -> Self {
        Self { names: 200_000, depth: 64, time: Duration::from_secs(30) }
    }
}

/// A look through these folders.
pub(super) struct LinkSweep {
    /// What has changed later was made by the agent, in seconds since 1970.
    since: i64,
    names_left: usize,
    depth_max: usize,
    until: Instant,
    /// The first that were removed, and how many more.
    removed: Vec<PathBuf>,
    more_removed: usize,
    /// What is told of folders that were not looked through.
    unchecked: Vec<String>,
}

impl LinkSweep {
    /// For an agent that started at this time, or a little earlier: clocks of file systems are coarse.
    pub(super) fn since(started: SystemTime, bounds: SweepBounds) -> Self {
        let seconds = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            since: i64::try_from(seconds).unwrap_or(i64::MAX).saturating_sub(1),
            names_left: bounds.names,
            depth_max: bounds.depth,
            until: Instant::now().checked_add(bounds.time).unwrap_or_else(Instant::now),
            removed: Vec::new(),
            more_removed: 0,
            unchecked: Vec::new(),
        }
    }

    /// Removes from a folder in the agent's, and from those in it, what the agent has made and is neither a
    /// file nor a folder. What cannot be looked through loses its name. Nothing in it is followed: everything
    /// is reached by the handle of the folder that it is in.
    pub(super) fn written(&mut self, agent: &OwnedFd, agent_path: &Path, name: &OsStr) {
        let path = agent_path.join(name);
        // A link in the agent's folder is the person's.
        let (folder, swept) = match open_folder(agent.as_fd(), name) {
            Err(Errno::NOENT) => return,
            Err(errno) => (None, Err(errno.into())),
            Ok(folder) => {
                let swept = self.through(&folder, &path, 0);
                (Some(folder), swept)
            }
        };
        let Err(why) = swept else { return };
        // Where a link leads is the person's to close.
        let is_folder = look_at(agent.as_fd(), name)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        let is_closed =
            is_folder && folder.as_ref().is_some_and(|folder| aside::close(folder).is_ok());
        let closed = if is_closed { ", closed to everybody" } else { "" };
        self.unchecked.push(match aside::rename(agent, name, UNCHECKED) {
            Ok(now) => format!(
                "{path:?} was not looked through to its end for links that the agent may have left \
                 ({why}), and an agent on this machine would write where one leads. So it is now \
                 {:?}{closed}. Before you give it its name back, remove links in it: chmod u+rwx, \
                 find -type l",
                agent_path.join(now)
            ),
            Err(errno) => format!(
                "WARNING: {path:?} was not looked through to its end for links that the agent may have \
                 left ({why}), and could not be renamed ({errno}). It is still there{closed}: start no \
                 agent on this machine before you have removed links in it (find -type l)"
            ),
        });
    }

    fn through(&mut self, folder: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        if depth >= self.depth_max {
            return Err(io::Error::other(format!("it is more than {} deep", self.depth_max)));
        }
        let listed = Rights::Taken.try_in(folder, || open_listed(folder))?;
        // One that is removed meanwhile has no names.
        let Some(names) = unless_gone(bounded::names_in(&listed, self.names_left))? else {
            return Ok(());
        };
        self.names_left = self.names_left.saturating_sub(names.len());
        for (name, kind) in names {
            if Instant::now() >= self.until {
                return Err(io::Error::other("it takes too long"));
            }
            let below = path.join(&name);
            match kind {
                FileType::RegularFile => {}
                // What is mounted in it the agent has written too.
                FileType::Directory => {
                    let inner =
                        Rights::Taken.try_in(folder, || open(folder.as_fd(), &name, LOOKING));
                    if let Some(inner) = unless_gone(inner.map_err(io::Error::from))? {
                        self.through(&inner, &below, depth.saturating_add(1))?;
                    }
                }
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => {
                    let removed = self.remove(folder, &name).map_err(io::Error::from);
                    if unless_gone(removed)? == Some(true) {
                        self.note_removed(below);
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes what the agent has made: whether it had.
    fn remove(&self, folder: &OwnedFd, name: &OsStr) -> Result<bool, Errno> {
        let found = Rights::Taken.try_in(folder, || look_at(folder.as_fd(), name))?;
        let is_of_agent = found.st_ctime >= self.since;
        if is_of_agent {
            let unlink = || rustix::fs::unlinkat(folder, name, AtFlags::empty());
            Rights::Taken.try_in(folder, unlink)?;
        }
        Ok(is_of_agent)
    }

    fn note_removed(&mut self, path: PathBuf) {
        if self.removed.len() < NAMED_MAX {
            self.removed.push(path);
        } else {
            self.more_removed = self.more_removed.saturating_add(1);
        }
    }

    /// What a person should know.
    pub(super) fn notes(self) -> impl Iterator<Item = String> {
        let shown: Vec<String> = self.removed.iter().map(|path| format!("{path:?}")).collect();
        let more = match self.more_removed {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let removed = (!shown.is_empty()).then(|| {
            format!(
                "the agent has left what is neither a file nor a folder, which was removed: {}{more}",
                shown.join(", ")
            )
        });
        removed.into_iter().chain(self.unchecked)
    }
}

/// Whether a name is that of a folder that was not looked through.
pub(super) fn is_unchecked(name: &OsStr) -> bool {
    name.to_string_lossy().contains(&format!(".stockade-{UNCHECKED}-"))
}

/// Nothing for what somebody else has removed meanwhile.
fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn open_listed(folder: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::empty())
}
