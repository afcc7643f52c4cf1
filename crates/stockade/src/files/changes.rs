//! The files that a call changed. For a program, the names in the folders that it can write are
//! remembered before the run, with hashes of files from which code runs. Afterwards the folders are
//! compared: a file was changed if its name is new or gone, if it is another file, or if its ctime, which
//! no program can set, is not before the start.

mod bounds;
mod compare;
mod folder;
mod rank;
mod report;
mod take;
#[cfg(test)]
mod tests;
mod unseen;
mod watch;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use self::bounds::Bounds;
use self::compare::{Comparison, Differences};
use self::folder::Start;
use self::report::{Candidate, Hashing, most_important};
use self::take::{Listing, Notices, take};
use self::unseen::{UnseenPlaces, Why};
use crate::confine::ListedChanges;
use crate::files::risky;

/// One file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Beneath the root, or absolute if it is elsewhere; what is no text in it is replaced.
    pub path: String,
    /// The same exactly, as Base64, if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_base64: Option<String>,
    /// What became of it.
    pub kind: ChangeKind,
    /// Its size now; none if it is gone.
    pub size: Option<u64>,
    /// The SHA-256 of what was in it before, where that is known.
    pub before: Option<String>,
    /// The SHA-256 of what is in it now.
    pub after: Option<String>,
    /// How code runs from it later, outside of any box, if it does.
    pub runs_code: Option<&'static str>,
}

/// The exact bytes of a path, as they are told where it is no text.
pub(crate) fn exact(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| BASE64.encode(path.as_os_str().as_bytes()))
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was made.
    Created,
    /// What is in it, or its mode, was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// The files that a run changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the order of their paths.
    pub files: Vec<Change>,
    /// What was not looked at, a line for each reason.
    pub unseen: Vec<String>,
}

/// The folders before a run.
#[derive(Debug)]
pub struct Snapshot {
    starts: Vec<Start>,
    bounds: Bounds,
    listing: Arc<Listing>,
    /// None if every folder has to be compared.
    notices: Option<Notices>,
    unopened: UnseenPlaces,
    /// The kernel's own time for files, which is coarser than others.
    started: (i64, i64),
}

impl Snapshot {
    /// Takes a snapshot of these folders, in this time at most; none if changes are not reported.
    pub fn take(
        root: &Path,
        write: &[PathBuf],
        watched: ListedChanges,
        time_max: Duration,
    ) -> Option<Self> {
        let bounds = Bounds::of(watched)?;
        Some(Self::within(root, write, Bounds { time: bounds.time.min(time_max), ..bounds }))
    }

    fn within(root: &Path, write: &[PathBuf], bounds: Bounds) -> Self {
        let (starts, unopened) = starts(root, write);
        let (listing, notices) = take(&starts, bounds);
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let started = (now.tv_sec, now.tv_nsec);
        Self { starts, bounds, listing, notices, unopened, started }
    }

    /// Compares the folders with what they are now.
    pub fn compare(self) -> Changes {
        let mut found = self.differences(self.notices.as_ref());
        if found.has_twin && self.notices.is_some() {
            // The kernel reports a write under one name of the file.
            found = self.differences(None);
        }
        let Self { starts, bounds, listing, unopened, .. } = self;
        let Differences { files, mut unseen, .. } = found;
        let candidates = files.into_iter().filter_map(|file| Candidate::new(file, &starts));
        let (listed, left_out) = most_important(candidates.collect());
        let mut hashing = Hashing::new((&starts, &listing), bounds, &mut unseen);
        let mut files: Vec<Change> =
            listed.into_iter().filter_map(|candidate| hashing.change(candidate)).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let mut lines: Vec<String> = left_out.into_iter().collect();
        lines.extend(unseen.into_lines(bounds));
        lines.extend(unopened.into_lines(bounds));
        Changes { files, unseen: lines }
    }

    fn differences(&self, notices: Option<&Notices>) -> Differences {
        let touched = notices.map(|notices| {
            notices.watch.read();
            notices.watch.touched_after(notices.reading)
        });
        let folders = (self.starts.as_slice(), &*self.listing);
        Comparison::new(folders, touched.as_ref(), self.started, self.bounds).run()
    }
}

/// Opens the outermost of these folders, and names those that cannot be opened.
fn starts(root: &Path, write: &[PathBuf]) -> (Vec<Start>, UnseenPlaces) {
    let is_inner =
        |folder: &Path| write.iter().any(|other| folder != other && folder.starts_with(other));
    let (mut starts, mut unopened): (Vec<Start>, UnseenPlaces) =
        (Vec::new(), UnseenPlaces::default());
    for path in write.iter().filter(|path| !is_inner(path)) {
        if starts.iter().any(|known| known.path == *path) {
            continue;
        }
        let below = path.strip_prefix(root).unwrap_or(path).to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
            Ok(handle) => starts.push(Start { handle, path: path.clone(), shown: below }),
            Err(Errno::NOENT) => {}
            Err(_) => unopened.add(Why::Unread, || shown(&below)),
        }
    }
    (starts, unopened)
}

/// How code runs from a file with this path, beneath the root or absolute.
fn runs_code(path: &Path, is_link: bool) -> Option<&'static str> {
    let above = || is_link.then(|| risky::why_above(path)).flatten();
    risky::why(path).or_else(above)
}

/// A path in the report.
fn shown(path: &Path) -> String {
    let is_root = path.as_os_str().is_empty();
    if is_root { ".".to_owned() } else { path.to_string_lossy().into_owned() }
}
