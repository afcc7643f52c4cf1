//! Looks through folders that a box will show, within bounds: so many entries, so much time, and no
//! link followed. What was not seen is said.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How many entries are looked at for one box.
pub(super) const ENTRIES_MAX: u64 = 500_000;
/// How long that may take.
pub(super) const TIME_MAX: Duration = Duration::from_secs(2);
/// How many folders that could not be looked into are named.
const NAMED_MAX: usize = 3;

/// What is left of the bounds, and what was missed.
pub(super) struct Walk {
    entries: u64,
    until: Instant,
    bound: Option<&'static str>,
    closed: BTreeSet<PathBuf>,
}

/// One entry of a folder.
pub(super) struct Entry<'a> {
    pub(super) name: &'a OsStr,
    pub(super) inode: u64,
    folder: &'a Path,
}

impl Entry<'_> {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }
}

impl Walk {
    pub(super) fn new() -> Self {
        let until = Instant::now().checked_add(TIME_MAX).unwrap_or_else(Instant::now);
        Self { entries: 0, until, bound: None, closed: BTreeSet::new() }
    }

    /// How many entries were looked at.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Goes through a folder and what is in it. `look` gets every entry with what its folder was
    /// given, and says what goes down with it, if it is a folder to be looked into.
    pub(super) fn through<T>(
        &mut self,
        folder: PathBuf,
        given: T,
        mut look: impl FnMut(&Entry<'_>, &T) -> Option<T>,
    ) {
        let mut left = vec![(folder, given)];
        while let Some((folder, given)) = left.pop() {
            if self.is_over() {
                return;
            }
            let entries = match open(&folder) {
                Ok(entries) => entries,
                // It has gone since, or it is no folder.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(Errno::ACCESS) if is_closed_to_all(&folder) => continue,
                Err(_) => {
                    self.closed.insert(folder);
                    continue;
                }
            };
            for entry in entries {
                let Ok(entry) = entry else {
                    self.closed.insert(folder.clone());
                    break;
                };
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                self.entries = self.entries.saturating_add(1);
                if self.is_over() {
                    return;
                }
                let seen = Entry { name, inode: entry.ino(), folder: &folder };
                let may_be_folder =
                    matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
                if let Some(below) = look(&seen, &given)
                    && may_be_folder
                {
                    left.push((seen.path(), below));
                }
            }
        }
    }

    fn is_over(&mut self) -> bool {
        /// How often the clock is read.
        const EVERY: u64 = 256;
        if self.entries > ENTRIES_MAX {
            self.bound = Some("more entries than are looked at for one box");
        } else if self.entries.is_multiple_of(EVERY) && Instant::now() > self.until {
            self.bound = Some("it took longer than is waited for one box");
        }
        self.bound.is_some()
    }

    /// What was not seen, in words.
    pub(super) fn gap(&self) -> Option<String> {
        if let Some(bound) = self.bound {
            return Some(format!(
                "not all folders were looked through: {bound} ({} entries seen)",
                self.entries
            ));
        }
        let named: Vec<String> =
            self.closed.iter().take(NAMED_MAX).map(|folder| format!("{folder:?}")).collect();
        let more = self.closed.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| format!("could not look into {}{more}", named.join(", ")))
    }
}

fn open(folder: &Path) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Dir::new(rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)?)
}

/// Whether the box cannot get into it either: it belongs to somebody else, and cannot be entered.
fn is_closed_to_all(folder: &Path) -> bool {
    let is_others = rustix::fs::lstat(folder)
        .is_ok_and(|found| found.st_uid != rustix::process::geteuid().as_raw());
    let enter = rustix::fs::accessat(CWD, folder, Access::EXEC_OK, AtFlags::EACCESS);
    is_others && enter == Err(Errno::ACCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(walk: &mut Walk, folder: &Path) -> usize {
        let mut seen = Vec::new();
        walk.through(folder.to_owned(), (), |entry, ()| {
            seen.push(entry.path());
            Some(())
        });
        seen.len()
    }

    #[test]
    fn a_bound_that_is_hit_is_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/file"), "").unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("link")).unwrap();
        let mut walk = Walk::new();
        assert_eq!((seen(&mut walk, folder.path()), walk.gap()), (3, None), "no link is followed");
        let mut long = Walk { entries: ENTRIES_MAX, ..Walk::new() };
        assert_eq!(seen(&mut long, folder.path()), 0);
        assert!(long.gap().unwrap().contains("more entries"), "{:?}", long.gap());
        let mut late = Walk { until: Instant::now(), ..Walk::new() };
        assert_eq!(seen(&mut late, folder.path()), 0);
        assert!(late.gap().unwrap().contains("longer"), "{:?}", late.gap());
        assert!(Walk::new().gap().is_none());
    }
}
