//! What a program changed in the folders that it could write.
//!
//! Files from which code runs are looked at before and after, so that their hashes are known and a
//! removed one is missed. Of all others, where the policy asks for them, only what is there afterwards
//! can be seen: those whose ctime, which nobody can set, is not before the start.

mod after;
mod before;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat};
use rustix::time::{ClockId, clock_gettime};

use self::after::Walk;
use self::before::{Looked, Seen, look};
use super::digest::remembered;
use super::{Change, Changes, Kind, risky};
use crate::confine::Watched;

/// Files that a report lists.
const LISTED_MAX: usize = 1000;

/// How the folders were before the run.
#[derive(Debug)]
pub struct Before {
    root: PathBuf,
    folders: Vec<(OwnedFd, PathBuf)>,
    watched: Watched,
    risky: Vec<Seen>,
    /// The kernel's own time for files, which is coarser than others.
    started: (i64, i64),
}

impl Before {
    /// Looks at what has to be known before; none if nothing is to be told.
    pub fn look(root: &Path, write: &[PathBuf], watched: Watched) -> Option<Self> {
        if watched == Watched::Nothing {
            return None;
        }
        let is_inner =
            |folder: &Path| write.iter().any(|other| folder != other && folder.starts_with(other));
        let mut folders: Vec<(OwnedFd, PathBuf)> = Vec::new();
        for path in write.iter().filter(|path| !is_inner(path)) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(folder) = rustix::fs::openat(CWD, path, flags, Mode::empty())
                && !folders.iter().any(|(_, known)| known == path)
            {
                folders.push((folder, path.clone()));
            }
        }
        let risky = folders.iter().flat_map(|(folder, path)| look(folder.as_fd(), path).seen);
        let risky = risky.collect();
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let started = (now.tv_sec, now.tv_nsec);
        Some(Self { root: root.to_owned(), folders, watched, risky, started })
    }

    /// Looks again, and tells the difference.
    pub fn compare(self) -> Changes {
        let (mut files, mut unseen) = self.risky_changes();
        if self.watched == Watched::All {
            let mut walk = Walk::new(self.started);
            for (folder, path) in &self.folders {
                walk.through(folder.as_fd(), path);
            }
            unseen = walk.unseen().or(unseen);
            let known: Vec<String> = files.iter().map(|change| change.path.clone()).collect();
            let others = walk.found.into_iter().map(|found| self.change(found));
            files.extend(others.filter(|change| !known.contains(&change.path)));
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        if files.len() > LISTED_MAX {
            unseen = Some(format!("{} files were changed; {LISTED_MAX} are listed", files.len()));
            // Those that matter most are kept.
            files.sort_by_key(|change| change.runs_code.is_none());
            files.truncate(LISTED_MAX);
        }
        Changes { files, unseen }
    }

    /// What changed of the files from which code runs, and what of them was not looked at.
    fn risky_changes(&self) -> (Vec<Change>, Option<String>) {
        let (mut now, mut unseen) = (Vec::new(), None);
        for (folder, path) in &self.folders {
            let Looked { seen, cut } = look(folder.as_fd(), path);
            let more = |name| format!("not all was looked at in {name}: there are too many files");
            unseen = unseen.or(cut.map(more));
            now.extend(seen);
        }
        let mut files = Vec::new();
        for seen in &now {
            let before = self.risky.iter().find(|before| before.path == seen.path);
            let kind = match before {
                None => Kind::Created,
                Some(before) if before.is_same(seen) => continue,
                Some(_) => Kind::Modified,
            };
            files.push(Change {
                path: self.told(&seen.path),
                kind,
                size: Some(seen.size),
                before: before.and_then(|before| before.hash.clone()),
                after: seen.hash.clone(),
                runs_code: self.why(&seen.path, seen.is_link()),
            });
        }
        for seen in self.risky.iter().filter(|seen| !now.iter().any(|now| now.path == seen.path)) {
            files.push(Change {
                path: self.told(&seen.path),
                kind: Kind::Deleted,
                size: None,
                before: seen.hash.clone(),
                after: None,
                runs_code: self.why(&seen.path, seen.is_link()),
            });
        }
        (files, unseen)
    }

    fn change(&self, found: after::Found) -> Change {
        let after::Found { path, kind, size, hash, is_link } = found;
        let runs_code = self.why(&path, is_link);
        Change {
            path: self.told(&path),
            kind,
            size: Some(size),
            before: None,
            after: hash,
            runs_code,
        }
    }

    fn why(&self, path: &Path, is_link: bool) -> Option<&'static str> {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        let above = || is_link.then(|| risky::why_above(path)).flatten();
        risky::why(path).or_else(above)
    }

    fn told(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// The size in a `stat`.
fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}
