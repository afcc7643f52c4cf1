//! Looks through folders that a box will show, within bounds: so many entries, so much time, and no
//! link followed. What was not seen is said.

use std::collections::{BTreeSet, VecDeque};
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
/// How many of them are remembered.
const CLOSED_MAX: usize = 1000;

/// What is left of the bounds, and what was missed.
#[derive(Debug)]
pub(super) struct WalkBounds {
    entries: u64,
    checked_at: u64,
    until: Instant,
    bound: Option<&'static str>,
    closed: BTreeSet<PathBuf>,
}

impl WalkBounds {
    /// Bounds that end at this time at the latest.
    pub(super) fn new(until: Option<Instant>) -> Self {
        let own = Instant::now().checked_add(TIME_MAX).unwrap_or_else(Instant::now);
        let until = until.map_or(own, |until| until.min(own));
        Self { entries: 0, checked_at: 0, until, bound: None, closed: BTreeSet::new() }
    }

    /// Bounds of which so much is left.
    #[cfg(test)]
    pub(super) fn with_entries_left(left: u64) -> Self {
        Self { entries: ENTRIES_MAX.saturating_sub(left), ..Self::new(None) }
    }

    /// How many entries were looked at.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Counts entries that were looked at.
    pub(super) fn count(&mut self, entries: u64) {
        self.entries = self.entries.saturating_add(entries);
    }

    /// Remembers a folder that could not be looked into.
    pub(super) fn close(&mut self, folder: PathBuf) {
        // So many are never named.
        if self.closed.len() <= CLOSED_MAX {
            self.closed.insert(folder);
        }
    }

    /// Whether the end is reached.
    pub(super) fn are_met(&mut self) -> bool {
        /// How often the clock is read.
        const EVERY: u64 = 256;
        let is_time = self.entries >= self.checked_at;
        if self.entries > ENTRIES_MAX {
            self.bound = Some("more entries than are looked at for one box");
        } else if is_time {
            self.checked_at = self.entries.saturating_add(EVERY);
            if Instant::now() > self.until {
                self.bound = Some("it took longer than is waited for one box");
            }
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
        let named: Vec<String> = self.closed.iter().take(NAMED_MAX).map(|one| short(one)).collect();
        let more = self.closed.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| format!("could not look into {}{more}", named.join(", ")))
    }
}

/// A path as a message shows it: a program can make one of any length.
fn short(path: &Path) -> String {
    const LETTERS_MAX: usize = 200;
    let text = format!("{path:?}");
    if text.chars().count() <= LETTERS_MAX {
        return text;
    }
    let start: String = text.chars().take(LETTERS_MAX).collect();
    format!("{start}…\" ({} folders deep)", path.components().count())
}

/// A walk through folders.
pub(super) struct FolderWalk(WalkBounds);

/// One entry of a folder.
pub(super) struct WalkedName<'a> {
    pub(super) name: &'a OsStr,
    pub(super) inode: u64,
    folder: &'a Path,
}

impl WalkedName<'_> {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }
}

impl FolderWalk {
    pub(super) fn new(until: Option<Instant>) -> Self {
        Self(WalkBounds::new(until))
    }

    /// Goes through a folder and what is in it, the shallow folders first. `look` gets every entry.
    pub(super) fn through(&mut self, folder: PathBuf, mut look: impl FnMut(&WalkedName<'_>)) {
        let mut left = VecDeque::from([folder]);
        while let Some(folder) = left.pop_front() {
            if self.0.are_met() {
                return;
            }
            let entries = match open(&folder) {
                Ok(entries) => entries,
                // It has gone since, or it is no folder.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(Errno::ACCESS) if is_closed_to_all(&folder) => continue,
                Err(_) => {
                    self.0.close(folder);
                    continue;
                }
            };
            for entry in entries {
                let Ok(entry) = entry else {
                    self.0.close(folder.clone());
                    break;
                };
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                self.0.count(1);
                if self.0.are_met() {
                    return;
                }
                let seen = WalkedName { name, inode: entry.ino(), folder: &folder };
                look(&seen);
                if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                    left.push_back(seen.path());
                }
            }
        }
    }

    /// What was not seen, in words.
    pub(super) fn gap(&self) -> Option<String> {
        self.0.gap()
    }
}

fn open(folder: &Path) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Dir::new(rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)?)
}

/// Whether the box cannot get into it either: it belongs to somebody else, and cannot be entered.
pub(super) fn is_closed_to_all(folder: &Path) -> bool {
    let is_others = rustix::fs::lstat(folder)
        .is_ok_and(|found| found.st_uid != rustix::process::geteuid().as_raw());
    let enter = rustix::fs::accessat(CWD, folder, Access::EXEC_OK, AtFlags::EACCESS);
    is_others && enter == Err(Errno::ACCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(walk: &mut FolderWalk, folder: &Path) -> usize {
        let mut seen = Vec::new();
        walk.through(folder.to_owned(), |entry| seen.push(entry.path()));
        seen.len()
    }

    #[test]
    fn a_bound_that_is_hit_is_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/file"), "").unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("link")).unwrap();
        let mut walk = FolderWalk::new(None);
        assert_eq!((seen(&mut walk, folder.path()), walk.gap()), (3, None), "no link is followed");
        let mut long = FolderWalk(WalkBounds { entries: ENTRIES_MAX, ..WalkBounds::new(None) });
        assert_eq!(seen(&mut long, folder.path()), 0);
        assert!(long.gap().unwrap().contains("more entries"), "{:?}", long.gap());
        let mut late = FolderWalk(WalkBounds { until: Instant::now(), ..WalkBounds::new(None) });
        assert_eq!(seen(&mut late, folder.path()), 0);
        assert!(late.gap().unwrap().contains("longer"), "{:?}", late.gap());
        assert!(FolderWalk::new(None).gap().is_none());
    }

    #[test]
    fn a_path_of_any_length_is_named_in_a_few_words() {
        let long: PathBuf = std::iter::repeat_n("deep", 1000).collect();
        let mut bounds = WalkBounds::new(None);
        bounds.close(long);
        let said = bounds.gap().unwrap();
        assert!(said.contains("1000 folders deep") && said.len() < 300, "{said}");
    }
}
