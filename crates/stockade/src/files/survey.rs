//! What a program changed in the folders that it could write.
//!
//! Before the run the names in them are read, and files from which code runs are hashed. Afterwards
//! the names are read again: what is new, gone, another file, or has a ctime, which nobody can set,
//! that is not before the start was changed.

mod after;
mod bounds;
mod folder;
mod listing;
mod look;
mod past;
mod places;
mod rank;
#[cfg(test)]
mod tests;
mod unseen;

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use self::after::{Found, Walk, shown};
use self::bounds::{Bounds, Deadline};
use self::listing::{Listing, Start};
use self::places::Placed;
use self::unseen::{Unseen, Why};
use super::changes::exact;
use super::digest::{BYTES_MAX, remembered};
use super::open::beneath;
use super::{Change, Changes, FileError, risky};
use crate::confine::Watched;
use crate::inspect::stat_of;

/// Files that a report lists.
const LISTED_MAX: usize = 1000;
/// What is read of changed files to hash them.
const HASHED_BYTES_MAX: u64 = 64 << 20;

/// How the folders were before the run.
#[derive(Debug)]
pub struct Before {
    starts: Vec<Start>,
    walked: Option<(Bounds, Arc<Listing>)>,
    places: Option<Placed>,
    unopened: Vec<String>,
    /// The kernel's own time for files, which is coarser than others.
    started: (i64, i64),
}

impl Before {
    /// Looks at what has to be known before; none if nothing is to be told.
    pub fn look(root: &Path, write: &[PathBuf], watched: Watched) -> Option<Self> {
        (watched != Watched::Nothing).then(|| Self::within(root, write, Bounds::of(watched)))
    }

    /// Without bounds there is no walk, and only the places are looked at from which code runs.
    fn within(root: &Path, write: &[PathBuf], bounds: Option<Bounds>) -> Self {
        let (starts, unopened) = starts(root, write);
        let walked = bounds.map(|bounds| (bounds, look::look(&starts, bounds)));
        // A walk that saw everything has seen these, too.
        let is_whole = walked.as_ref().is_some_and(|(_, listing)| !listing.is_cut());
        let places = (!is_whole).then(|| Placed::look(&starts));
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let started = (now.tv_sec, now.tv_nsec);
        Self { starts, walked, places, unopened, started }
    }

    /// Looks again, and tells the difference.
    pub fn compare(self) -> Changes {
        let (mut files, mut unseen) = match &self.places {
            Some(places) => places.compare(&self.starts),
            None => (Vec::new(), Vec::new()),
        };
        if let Some((bounds, listing)) = &self.walked {
            let mut walk = Walk::new((&self.starts, listing), self.started, *bounds);
            walk.through();
            let Walk { found, unseen: mut unlooked, .. } = walk;
            let known = |told: &Told| {
                let name = (&told.path, &told.path_base64);
                files.iter().any(|change| (&change.path, &change.path_base64) == name)
            };
            let told: Vec<Told> =
                self.told(found).into_iter().filter(|told| !known(told)).collect();
            let count = files.len().saturating_add(told.len());
            if count > LISTED_MAX {
                unseen.push(format!("{count} files were changed; {LISTED_MAX} are listed"));
            }
            let most = LISTED_MAX.saturating_sub(files.len());
            let mut hashing = Hashing {
                starts: &self.starts,
                listing,
                bytes_left: HASHED_BYTES_MAX,
                until: bounds.end(),
                unseen: &mut unlooked,
            };
            let listed = told.into_iter().take(most);
            files.extend(listed.filter_map(|told| hashing.change(told)));
            unseen.extend(unlooked.in_words(*bounds));
        }
        unseen.extend(self.unopened);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Changes { files, unseen }
    }

    /// What was found, as it is told: those first that matter most, else in the order of their paths.
    fn told(&self, found: Vec<Found>) -> Vec<Told> {
        let mut all: Vec<Told> = Vec::with_capacity(found.len());
        for found in found {
            let Some(start) = self.starts.get(found.start) else { continue };
            let path = start.told.join(&found.below);
            let is_link =
                found.described.is_some_and(|described| described.kind == FileType::Symlink);
            let (runs_code, path_base64) = (why(&path, is_link), exact(&path));
            all.push(Told { path: shown(&path), path_base64, runs_code, found });
        }
        all.sort_by(|one, other| {
            let key = |told: &Told| told.runs_code.is_none();
            key(one).cmp(&key(other)).then_with(|| one.path.cmp(&other.path))
        });
        all
    }
}

/// A changed file with its path, and how code runs from it.
#[derive(Debug)]
struct Told {
    path: String,
    path_base64: Option<String>,
    runs_code: Option<&'static str>,
    found: Found,
}

/// Hashes what was found, within bounds.
struct Hashing<'h> {
    starts: &'h [Start],
    listing: &'h Listing,
    bytes_left: u64,
    until: Deadline,
    unseen: &'h mut Unseen,
}

impl Hashing<'_> {
    /// The change with its hashes; none if nothing that matters is other than before.
    fn change(&mut self, told: Told) -> Option<Change> {
        let after = self.hash(&told);
        let Told { path, path_base64, runs_code, found } = told;
        let known = found.entry.and_then(|entry| self.listing.known(entry));
        if let (Some(known), Some(described)) = (known, found.described)
            && known.hash.is_some()
            && (&known.hash, known.mode) == (&after, described.mode)
        {
            return None;
        }
        let size = found.described.map(|described| described.size);
        let before = known.and_then(|known| known.hash.clone());
        let kind = found.kind;
        Some(Change { path, path_base64, kind, size, before, after, runs_code })
    }

    fn hash(&mut self, told: &Told) -> Option<String> {
        let described = told.found.described?;
        if described.kind != FileType::RegularFile || described.size > BYTES_MAX {
            return None;
        }
        let Some(left) = self.bytes_left.checked_sub(described.size) else {
            self.unseen.add(Why::Unhashed, || told.path.clone());
            return None;
        };
        self.bytes_left = left;
        if self.until.is_over() {
            self.unseen.add(Why::Unhashed, || told.path.clone());
            return None;
        }
        match self.read(&told.found) {
            Ok(hash) => hash,
            Err(_) => {
                self.unseen.add(Why::Unread, || told.path.clone());
                None
            }
        }
    }

    fn read(&self, found: &Found) -> Result<Option<String>, FileError> {
        let Some(folder) = self.starts.get(found.start) else { return Ok(None) };
        let path = &found.below;
        let handle = beneath(folder.handle.as_fd(), path, OFlags::PATH)
            .map_err(FileError::system("open", path))?;
        let stat = stat_of(handle.as_fd()).map_err(FileError::system("look at", path))?;
        remembered(handle.as_fd(), &stat, path)
    }
}

/// The outermost of these folders, opened, and in words those that cannot be.
fn starts(root: &Path, write: &[PathBuf]) -> (Vec<Start>, Vec<String>) {
    let is_inner =
        |folder: &Path| write.iter().any(|other| folder != other && folder.starts_with(other));
    let (mut starts, mut unopened): (Vec<Start>, Unseen) = (Vec::new(), Unseen::default());
    for path in write.iter().filter(|path| !is_inner(path)) {
        if starts.iter().any(|known| known.path == *path) {
            continue;
        }
        let told = path.strip_prefix(root).unwrap_or(path).to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
            Ok(handle) => starts.push(Start { handle, path: path.clone(), told }),
            Err(Errno::NOENT) => {}
            Err(_) => unopened.add(Why::Unread, || shown(&told)),
        }
    }
    (starts, unopened.in_words(Bounds::NONE))
}

/// How code runs from this path, beneath the root or absolute.
fn why(path: &Path, is_link: bool) -> Option<&'static str> {
    let above = || is_link.then(|| risky::why_above(path)).flatten();
    risky::why(path).or_else(above)
}

/// The size in a `stat`.
fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}
