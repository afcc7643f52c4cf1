//! The changes that a report lists, where there are too many, and their hashes, within bounds.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags};

use super::bounds::{Bounds, Deadline};
use super::compare::Difference;
use super::folder::Start;
use super::take::Listing;
use super::unseen::{UnseenPlaces, Why};
use super::{Change, exact, runs_code, shown};
use crate::files::FileError;
use crate::files::digest::{BYTES_MAX as HASHED_FILE_BYTES_MAX, of_file};
use crate::files::open::{beneath, regular};

/// Files that a report lists.
pub(super) const LISTED_MAX: usize = 1000;
/// How long their paths may be together.
pub(super) const LISTED_BYTES_MAX: usize = 1 << 20;
/// How many bytes of changed files are hashed.
pub(super) const HASHED_BYTES_MAX: u64 = 64 << 20;

/// A difference with its path in the report, and how code runs from it.
#[derive(Debug)]
pub(super) struct Candidate {
    full_path: PathBuf,
    path: String,
    path_base64: Option<String>,
    runs_code: Option<&'static str>,
    difference: Difference,
}

impl Candidate {
    pub(super) fn new(difference: Difference, starts: &[Start]) -> Option<Self> {
        let full_path = starts.get(difference.start)?.shown.join(&difference.below);
        let is_link = difference.stat.is_some_and(|stat| stat.kind == FileType::Symlink);
        let (path, path_base64) = (shown(&full_path), exact(&full_path));
        let runs_code = runs_code(&full_path, is_link);
        Some(Self { full_path, path, path_base64, runs_code, difference })
    }

    fn path_bytes(&self) -> usize {
        self.path.len().saturating_add(self.path_base64.as_ref().map_or(0, String::len))
    }
}

/// Chooses those that are listed, and says how many are not. Of more than fit, each way in which code
/// runs has its share before any has more, and files from which none runs come last: much of one kind
/// hides nothing of another.
pub(super) fn most_important(mut all: Vec<Candidate>) -> (Vec<Candidate>, Option<String>) {
    all.sort_by(|one, other| one.path.cmp(&other.path));
    let bytes = all.iter().map(Candidate::path_bytes).fold(0, usize::saturating_add);
    if all.len() <= LISTED_MAX && bytes <= LISTED_BYTES_MAX {
        return (all, None);
    }
    let (count, running) = (all.len(), count_running(&all));
    let listed = first_that_fit(in_turn(all));
    let more = match running.saturating_sub(count_running(&listed)) {
        0 => String::new(),
        hidden => format!("; of those left out, code runs from {hidden}"),
    };
    let line = format!("{count} files were changed; {} are listed{more}", listed.len());
    (listed, Some(line))
}

/// How many of these code runs from.
fn count_running(candidates: &[Candidate]) -> usize {
    candidates.iter().filter(|candidate| candidate.runs_code.is_some()).count()
}

/// The first of each way in which code runs, then the second of each; those without one at the end.
fn in_turn(all: Vec<Candidate>) -> impl Iterator<Item = Candidate> {
    let mut met: HashMap<Option<&'static str>, usize> = HashMap::new();
    let mut ranked: Vec<((bool, usize), Candidate)> = Vec::with_capacity(all.len());
    for candidate in all {
        let place = met.entry(candidate.runs_code).or_default();
        *place = place.saturating_add(1);
        ranked.push(((candidate.runs_code.is_none(), *place), candidate));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, candidate)| candidate)
}

fn first_that_fit(candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
    let mut bytes_left = LISTED_BYTES_MAX;
    let fits = |candidate: &Candidate| match bytes_left.checked_sub(candidate.path_bytes()) {
        Some(left) => {
            bytes_left = left;
            true
        }
        None => false,
    };
    candidates.filter(fits).take(LISTED_MAX).collect()
}

/// Hashes one file after the other. Names those for which there is no room.
pub(super) struct Hashing<'h> {
    starts: &'h [Start],
    before: &'h Listing,
    bytes_left: u64,
    until: Deadline,
    unseen: &'h mut UnseenPlaces,
}

impl<'h> Hashing<'h> {
    pub(super) fn new(
        (starts, before): (&'h [Start], &'h Listing),
        bounds: Bounds,
        unseen: &'h mut UnseenPlaces,
    ) -> Self {
        Self { starts, before, bytes_left: HASHED_BYTES_MAX, until: bounds.end(), unseen }
    }

    /// The change with its hashes; none if content and mode are as before.
    pub(super) fn change(&mut self, candidate: Candidate) -> Option<Change> {
        let Candidate { full_path, path, path_base64, runs_code, difference } = candidate;
        let Difference { kind, stat, .. } = &difference;
        let after = self.hash(&difference, &path);
        let known = self.before.known.get(&full_path);
        if let (Some(known), Some(stat)) = (known, stat)
            && known.hash.is_some()
            && (&known.hash, known.mode) == (&after, stat.mode)
        {
            return None;
        }
        let (kind, size) = (*kind, stat.map(|stat| stat.size));
        let before = known.and_then(|known| known.hash.clone());
        Some(Change { path, path_base64, kind, size, before, after, runs_code })
    }

    fn hash(&mut self, difference: &Difference, path: &str) -> Option<String> {
        let stat = difference.stat?;
        if stat.kind != FileType::RegularFile || stat.size > HASHED_FILE_BYTES_MAX {
            return None;
        }
        if !self.has_room(stat.size) {
            self.unseen.add(Why::Unhashed, || path.to_owned());
            return None;
        }
        let top = self.starts.get(difference.start)?;
        match hash(top, &difference.below) {
            Ok(hash) => hash,
            Err(_) => {
                self.unseen.add(Why::Unread, || path.to_owned());
                None
            }
        }
    }

    /// Takes so many bytes, if there are so many left and there is time.
    fn has_room(&mut self, bytes: u64) -> bool {
        let Some(left) = self.bytes_left.checked_sub(bytes) else { return false };
        self.bytes_left = left;
        !self.until.is_over()
    }
}

/// Reads a file each time: a page that is mapped can be written again within one ctime.
fn hash(top: &Start, path: &Path) -> Result<Option<String>, FileError> {
    let handle =
        beneath(top.handle.as_fd(), path, OFlags::PATH).map_err(FileError::system("open", path))?;
    let (file, stat) = regular(handle.as_fd(), path)?;
    of_file(&file, &stat).map_err(|source| FileError::System {
        doing: "read",
        path: path.to_owned(),
        source,
    })
}
