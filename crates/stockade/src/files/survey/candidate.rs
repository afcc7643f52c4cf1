//! Files that seem to be changed, and which of them are listed where there are too many.

use std::collections::{HashMap, HashSet};

use rustix::fs::FileType;

use super::after::{Found, shown};
use super::listing::Start;
use super::why;
use crate::files::Change;
use crate::files::changes::exact;

/// Files that a report lists.
pub(super) const LISTED_MAX: usize = 1000;
/// How long their paths may be together.
pub(super) const LISTED_BYTES_MAX: usize = 1 << 20;

/// A file that seems to be changed, with its path and how code runs from it.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) path: String,
    pub(super) path_base64: Option<String>,
    pub(super) runs_code: Option<&'static str>,
    pub(super) what: What,
}

/// What is known of it.
#[derive(Debug)]
pub(super) enum What {
    /// It is still to be looked at closely.
    Found(Found),
    /// It was, in a place of the list.
    Placed(Box<Change>),
}

impl Candidate {
    /// All of them, each once: what was found in a place of the list is known best there.
    pub(super) fn all(found: Vec<Found>, placed: Vec<Change>, starts: &[Start]) -> Vec<Self> {
        let known: HashSet<(&str, Option<&str>)> = placed
            .iter()
            .map(|change| (change.path.as_str(), change.path_base64.as_deref()))
            .collect();
        let is_new = |one: &Self| !known.contains(&(one.path.as_str(), one.path_base64.as_deref()));
        let found = found.into_iter().filter_map(|found| Self::found(found, starts));
        let mut all: Vec<Self> = found.filter(is_new).collect();
        all.extend(placed.into_iter().map(Self::placed));
        all
    }

    fn found(found: Found, starts: &[Start]) -> Option<Self> {
        let path = starts.get(found.start)?.told.join(&found.below);
        let is_link = found.described.is_some_and(|described| described.kind == FileType::Symlink);
        let (runs_code, path_base64) = (why(&path, is_link), exact(&path));
        Some(Self { path: shown(&path), path_base64, runs_code, what: What::Found(found) })
    }

    fn placed(change: Change) -> Self {
        let (path, path_base64) = (change.path.clone(), change.path_base64.clone());
        let runs_code = change.runs_code;
        Self { path, path_base64, runs_code, what: What::Placed(Box::new(change)) }
    }

    fn path_bytes(&self) -> usize {
        self.path.len().saturating_add(self.path_base64.as_ref().map_or(0, String::len))
    }
}

/// Those that are listed, and in words how many are not. Of more than fit, each way in which code runs
/// has its share before any has more, and files from which none runs come last: what matters cannot
/// be hidden behind much of one kind.
pub(super) fn most_worth(mut all: Vec<Candidate>) -> (Vec<Candidate>, Option<String>) {
    all.sort_by(|one, other| one.path.cmp(&other.path));
    let bytes = all.iter().map(Candidate::path_bytes).fold(0, usize::saturating_add);
    if all.len() <= LISTED_MAX && bytes <= LISTED_BYTES_MAX {
        return (all, None);
    }
    let (count, running) = (all.len(), that_run(&all));
    let listed = that_fit(shared_out(all));
    let more = match running.saturating_sub(that_run(&listed)) {
        0 => String::new(),
        hidden => format!("; of those left out, code runs from {hidden}"),
    };
    let line = format!("{count} files were changed; {} are listed{more}", listed.len());
    (listed, Some(line))
}

/// How many of these code runs from.
fn that_run(candidates: &[Candidate]) -> usize {
    candidates.iter().filter(|candidate| candidate.runs_code.is_some()).count()
}

/// The first of each way in which code runs, then the second of each; those without one at the end.
fn shared_out(all: Vec<Candidate>) -> impl Iterator<Item = Candidate> {
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

fn that_fit(candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
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
