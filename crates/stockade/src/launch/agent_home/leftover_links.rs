//! Links that an agent has left in folders of the machine. The agent on this machine writes there too, and
//! would follow them: a line of a conversation must not end in a start-up file of the person's.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::look_at;
use crate::bounded;

const NAMES_MAX: usize = 200_000;
const TIME_MAX: Duration = Duration::from_secs(10);
const DEPTH_MAX: usize = 64;
/// How many are named.
const NAMED_MAX: usize = 10;

/// A look through these folders.
pub(super) struct LinkSweep {
    /// What has changed later was made by the agent, in seconds since 1970.
    since: i64,
    names_left: usize,
    until: Instant,
    removed: Vec<PathBuf>,
    /// Folders that were not looked through.
    unseen: Vec<PathBuf>,
}

impl LinkSweep {
    /// For an agent that started at this time, or a little earlier: clocks of file systems are coarse.
    pub(super) fn since(started: SystemTime) -> Self {
        let seconds = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            since: i64::try_from(seconds).unwrap_or(i64::MAX).saturating_sub(1),
            names_left: NAMES_MAX,
            until: Instant::now().checked_add(TIME_MAX).unwrap_or_else(Instant::now),
            removed: Vec::new(),
            unseen: Vec::new(),
        }
    }

    /// Removes from a folder, and from those in it, what the agent has made and is neither a file nor a
    /// folder. Nothing is followed: everything is reached by the handle of the folder that it is in.
    pub(super) fn through(&mut self, folder: BorrowedFd<'_>, path: &Path, depth: usize) {
        let names = match open_listed(folder) {
            Ok(listed) if depth < DEPTH_MAX && Instant::now() < self.until => {
                bounded::names_in(&listed, self.names_left)
            }
            Ok(_) => Err(Errno::OVERFLOW.into()),
            Err(errno) => Err(errno.into()),
        };
        let Ok(names) = names else {
            self.unseen.push(path.to_owned());
            return;
        };
        self.names_left = self.names_left.saturating_sub(names.len());
        for (name, kind) in names {
            let below = path.join(&name);
            match kind {
                FileType::RegularFile => {}
                FileType::Directory => match open_beneath(folder, &name) {
                    Ok(inner) => self.through(inner.as_fd(), &below, depth.saturating_add(1)),
                    Err(_) => self.unseen.push(below),
                },
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => self.remove(folder, &name, below),
            }
        }
    }

    fn remove(&mut self, folder: BorrowedFd<'_>, name: &OsStr, path: PathBuf) {
        let is_of_agent = look_at(folder, name).is_ok_and(|found| found.st_ctime >= self.since);
        if is_of_agent && rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok() {
            self.removed.push(path);
        }
    }

    /// What a person should know.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let removed = named(&self.removed).map(|paths| {
            format!(
                "the agent has left what is neither a file nor a folder, which was removed: {paths}"
            )
        });
        let unseen = named(&self.unseen).map(|paths| {
            format!("not looked through for links that the agent may have left: {paths}")
        });
        removed.into_iter().chain(unseen)
    }
}

fn named(paths: &[PathBuf]) -> Option<String> {
    let shown: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| format!("{path:?}")).collect();
    let more = paths.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!paths.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

fn open_beneath(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

fn open_listed(folder: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::empty())
}
