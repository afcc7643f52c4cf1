//! On which processors a template makes its copies.

use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::spawning::{Where, other_processors};

/// Where a template's process may run. Its copies are told if it was ever moved: they use all processors
/// again before their programs run.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    process: Option<(Pid, CpuSet)>,
    now: Mutex<(Where, Moved)>,
}

/// Whether a process was ever kept from a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Never.
    Never,
    /// It was, and may be so still.
    Once,
}

impl Whereabouts {
    /// Those of a process that may run wherever it could when it was made.
    pub(crate) fn of(process: Option<Pid>) -> Self {
        let all =
            process.and_then(|process| Some((process, sched_getaffinity(Some(process)).ok()?)));
        Self { process: all, now: Mutex::new((Where::Anywhere, Moved::Never)) }
    }

    /// Moves it, before it is told to make a copy. What cannot be done only takes longer.
    pub(crate) fn be(&self, place: Where) -> Moved {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((process, all)) = &self.process {
            let wanted = match place {
                Where::Elsewhere => other_processors().map(|(_, others)| others),
                Where::Anywhere if now.0 == Where::Elsewhere => Some(*all),
                Where::Anywhere => None,
            };
            // This thread may have moved itself, so that it is said each time.
            if wanted.is_some_and(|wanted| sched_setaffinity(Some(*process), &wanted).is_ok()) {
                *now = (place, Moved::Once);
            }
        }
        now.1
    }
}
