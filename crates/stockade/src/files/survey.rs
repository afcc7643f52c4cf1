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

use std::collections::{HashMap, HashSet};
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
use super::digest::{BYTES_MAX, of_file, remembered};
use super::open::{beneath, regular};
use super::{Change, Changes, FileError, risky};
use crate::confine::Watched;

/// Files that a report lists.
const LISTED_MAX: usize = 1000;
/// How long their paths may be together.
const LISTED_BYTES_MAX: usize = 1 << 20;
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
        let (placed, mut unseen) = match &self.places {
            Some(places) => places.compare(&self.starts),
            None => (Vec::new(), Vec::new()),
        };
        let known: HashSet<(&str, Option<&str>)> = placed
            .iter()
            .map(|change| (change.path.as_str(), change.path_base64.as_deref()))
            .collect();
        let mut all: Vec<Told> = Vec::new();
        let mut walk = self.walked.as_ref().map(|(bounds, listing)| {
            let mut walk = Walk::new((&self.starts, listing), self.started, *bounds);
            walk.through();
            (walk, *bounds, listing)
        });
        if let Some((walk, ..)) = &mut walk {
            let found = std::mem::take(&mut walk.found);
            let told = found.into_iter().filter_map(|found| self.told(found));
            let is_new =
                |told: &Told| !known.contains(&(told.path.as_str(), told.path_base64.as_deref()));
            all.extend(told.filter(is_new));
        }
        all.extend(placed.into_iter().map(Told::placed));
        let (listed, left_out) = most_worth(all);
        unseen.extend(left_out);
        let mut files: Vec<Change> = match walk {
            Some((mut walk, bounds, listing)) => {
                let mut hashing = Hashing {
                    starts: &self.starts,
                    listing,
                    bytes_left: HASHED_BYTES_MAX,
                    until: bounds.end(),
                    unseen: &mut walk.unseen,
                };
                let files = listed.into_iter().filter_map(|told| hashing.change(told)).collect();
                unseen.extend(walk.unseen.in_words(bounds));
                files
            }
            None => listed.into_iter().filter_map(Told::into_placed).collect(),
        };
        unseen.extend(self.unopened);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Changes { files, unseen }
    }

    /// What was found, with its path.
    fn told(&self, found: Found) -> Option<Told> {
        let path = self.starts.get(found.start)?.told.join(&found.below);
        let is_link = found.described.is_some_and(|described| described.kind == FileType::Symlink);
        let (runs_code, path_base64) = (why(&path, is_link), exact(&path));
        Some(Told { path: shown(&path), path_base64, runs_code, what: What::Found(found) })
    }
}

/// Those that are listed, and in words how many are not. Of more than fit, each way in which code runs
/// has its share before any has more, and files from which none runs come last: what matters cannot
/// be hidden behind much of one kind.
fn most_worth(mut all: Vec<Told>) -> (Vec<Told>, Option<String>) {
    all.sort_by(|one, other| one.path.cmp(&other.path));
    let bytes = |told: &Told| {
        told.path.len().saturating_add(told.path_base64.as_ref().map_or(0, String::len))
    };
    let total: usize = all.iter().map(bytes).fold(0, usize::saturating_add);
    if all.len() <= LISTED_MAX && total <= LISTED_BYTES_MAX {
        return (all, None);
    }
    let (count, running) = (all.len(), all.iter().filter(|told| told.runs_code.is_some()).count());
    let mut met: HashMap<Option<&'static str>, usize> = HashMap::new();
    let mut ranked: Vec<((bool, usize), Told)> = Vec::with_capacity(count);
    for told in all {
        let place = met.entry(told.runs_code).or_default();
        *place = place.saturating_add(1);
        ranked.push(((told.runs_code.is_none(), *place), told));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut bytes_left = LISTED_BYTES_MAX;
    let fits = |told: &Told| match bytes_left.checked_sub(bytes(told)) {
        Some(left) => {
            bytes_left = left;
            true
        }
        None => false,
    };
    let listed: Vec<Told> =
        ranked.into_iter().map(|(_, told)| told).filter(fits).take(LISTED_MAX).collect();
    let listed_running = listed.iter().filter(|told| told.runs_code.is_some()).count();
    let hidden = running.saturating_sub(listed_running);
    let more = if hidden == 0 {
        String::new()
    } else {
        format!("; of those left out, code runs from {hidden}")
    };
    let line = format!("{count} files were changed; {} are listed{more}", listed.len());
    (listed, Some(line))
}

/// A changed file with its path, and how code runs from it.
#[derive(Debug)]
struct Told {
    path: String,
    path_base64: Option<String>,
    runs_code: Option<&'static str>,
    what: What,
}

/// What is known of it.
#[derive(Debug)]
enum What {
    /// It is still to be looked at closely.
    Found(Found),
    /// It was, in a place of the list.
    Placed(Box<Change>),
}

impl Told {
    fn placed(change: Change) -> Self {
        let (path, path_base64) = (change.path.clone(), change.path_base64.clone());
        let runs_code = change.runs_code;
        Self { path, path_base64, runs_code, what: What::Placed(Box::new(change)) }
    }

    fn into_placed(self) -> Option<Change> {
        match self.what {
            What::Placed(change) => Some(*change),
            What::Found(_) => None,
        }
    }
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
        let Told { path, path_base64, runs_code, what } = told;
        let found = match what {
            What::Placed(change) => return Some(*change),
            What::Found(found) => found,
        };
        let after = self.hash(&found, &path);
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

    fn hash(&mut self, found: &Found, told: &str) -> Option<String> {
        let described = found.described?;
        if described.kind != FileType::RegularFile || described.size > BYTES_MAX {
            return None;
        }
        let Some(left) = self.bytes_left.checked_sub(described.size) else {
            self.unseen.add(Why::Unhashed, || told.to_owned());
            return None;
        };
        self.bytes_left = left;
        if self.until.is_over() {
            self.unseen.add(Why::Unhashed, || told.to_owned());
            return None;
        }
        match self.read(found) {
            Ok(hash) => hash,
            Err(_) => {
                self.unseen.add(Why::Unread, || told.to_owned());
                None
            }
        }
    }

    fn read(&self, found: &Found) -> Result<Option<String>, FileError> {
        let Some(folder) = self.starts.get(found.start) else { return Ok(None) };
        let path = &found.below;
        let handle = beneath(folder.handle.as_fd(), path, OFlags::PATH)
            .map_err(FileError::system("open", path))?;
        // Read, and not remembered: a page that is mapped can be written again within one ctime.
        let (file, stat) = regular(handle.as_fd(), path)?;
        of_file(&file, &stat).map_err(|source| FileError::System {
            doing: "read",
            path: path.clone(),
            source,
        })
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
