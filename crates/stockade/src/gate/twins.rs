//! Other names of files that must not be seen: by a hard link, what one name hides another shows.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::inspect::Identity;

/// Names that are looked at, and how long that may take.
const NAMES_MAX: usize = 500_000;
const TIME_MAX: Duration = Duration::from_secs(2);

/// The files with several names of which one must not be seen.
#[derive(Debug)]
pub(super) struct Twins {
    hidden: HashSet<Identity>,
    names_left: usize,
    until: Option<Instant>,
    is_whole: bool,
}

/// Whether what is in a folder may be seen at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    ByName,
    Hidden,
}

impl Twins {
    /// Looks through the root, and through hidden folders outside of it.
    pub(super) fn look(root: &Path, hide: &[PathBuf], sees: impl Fn(&Path) -> bool) -> Self {
        let until = Instant::now().checked_add(TIME_MAX);
        let (hidden, names_left) = (HashSet::new(), NAMES_MAX);
        let mut twins = Self { hidden, names_left, until, is_whole: true };
        let mut todo = vec![(root.to_owned(), Inside::ByName)];
        for path in hide.iter().filter(|path| !path.starts_with(root)) {
            twins.note(path);
            todo.push((path.clone(), Inside::Hidden));
        }
        while let Some((folder, inside)) = todo.pop() {
            if twins.names_left == 0 || twins.until.is_none_or(|until| Instant::now() >= until) {
                twins.is_whole = false;
                break;
            }
            match twins.folder(&folder, inside, &sees, &mut todo) {
                // It has gone, is no folder, or is closed and nothing says that it hides something.
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(Errno::ACCESS) if inside == Inside::ByName => {}
                Err(_) => twins.is_whole = false,
            }
        }
        twins
    }

    /// Whether a file may be one that must not be seen.
    pub(super) fn may_hold(&self, stat: &Stat) -> bool {
        !self.is_whole || self.hidden.contains(&Identity::of(stat))
    }

    fn folder(
        &mut self,
        folder: &Path,
        inside: Inside,
        sees: &impl Fn(&Path) -> bool,
        todo: &mut Vec<(PathBuf, Inside)>,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        for entry in Dir::new(handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(left) = self.names_left.checked_sub(1) else { break };
            self.names_left = left;
            let path = folder.join(name);
            let is_hidden = inside == Inside::Hidden || !sees(&path);
            let below = if is_hidden { Inside::Hidden } else { Inside::ByName };
            let may_be_folder =
                matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if is_hidden && entry.file_type() != FileType::Directory {
                self.note(&path);
            }
            if may_be_folder {
                todo.push((path, below));
            }
        }
        Ok(())
    }

    /// Keeps a file in mind if it has other names.
    fn note(&mut self, path: &Path) {
        match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_nlink > 1 => {
                self.hidden.insert(Identity::of(&stat));
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => self.is_whole = false,
        }
    }
}
