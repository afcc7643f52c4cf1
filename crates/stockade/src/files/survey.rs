//! What a program changed in the folders that it could write.
//!
//! Before the run the names in them are read, and files from which code runs are hashed. Afterwards
//! the names are read again: what is new, gone, another file, or has a ctime, which nobody can set,
//! that is not before the start was changed.

mod after;
mod bounds;
mod candidate;
mod folder;
mod hashing;
mod listing;
mod look;
mod past;
mod places;
mod rank;
#[cfg(test)]
mod tests;
mod unseen;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use self::after::{Walk, Walked, shown};
use self::bounds::Bounds;
use self::candidate::{Candidate, most_worth};
use self::hashing::Hashing;
use self::listing::{Listing, Start};
use self::places::Placed;
use self::unseen::{Unseen, Why};
use super::{Change, Changes, risky};
use crate::confine::Watched;

/// How the folders were before the run.
#[derive(Debug)]
pub struct Before {
    starts: Vec<Start>,
    bounds: Bounds,
    /// Empty if there was no walk.
    listing: Arc<Listing>,
    /// None if the walk has seen these, too.
    places: Option<Placed>,
    unopened: Vec<String>,
    /// The kernel's own time for files, which is coarser than others.
    started: (i64, i64),
}

impl Before {
    /// Looks at what has to be known before, in this time at most; none if nothing is to be told.
    pub fn look(
        root: &Path,
        write: &[PathBuf],
        watched: Watched,
        time_max: Duration,
    ) -> Option<Self> {
        let bounds = Bounds::of(watched);
        let bounds = bounds.map(|it| Bounds { time: it.time.min(time_max), ..it });
        (watched != Watched::Nothing).then(|| Self::within(root, write, bounds))
    }

    /// Without bounds there is no walk, and only the places are looked at from which code runs.
    fn within(root: &Path, write: &[PathBuf], bounds: Option<Bounds>) -> Self {
        let (starts, unopened) = starts(root, write);
        let listing = bounds.map(|bounds| look::look(&starts, bounds));
        let is_whole = listing.as_ref().is_some_and(|listing| !listing.is_cut());
        let places = (!is_whole).then(|| Placed::look(&starts));
        let (bounds, listing) = (bounds.unwrap_or(Bounds::NONE), listing.unwrap_or_default());
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let started = (now.tv_sec, now.tv_nsec);
        Self { starts, bounds, listing, places, unopened, started }
    }

    /// Looks again, and tells the difference.
    pub fn compare(self) -> Changes {
        let Self { starts, bounds, listing, places, unopened, started } = self;
        let (placed, mut unseen) = places.map(|places| places.compare(&starts)).unwrap_or_default();
        let walk = Walk::new((&starts, &listing), started, bounds);
        let Walked { found, unseen: mut unwalked } = walk.through();
        let (listed, left_out) = most_worth(Candidate::all(found, placed, &starts));
        let mut hashing = Hashing::new((&starts, &listing), bounds, &mut unwalked);
        let mut files: Vec<Change> =
            listed.into_iter().filter_map(|candidate| hashing.change(candidate)).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        unseen.extend(left_out);
        unseen.extend(unwalked.in_words(bounds));
        unseen.extend(unopened);
        Changes { files, unseen }
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
