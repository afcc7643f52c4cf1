//! How much of the folders is compared, so that a comparison never costs more than it is worth.

use std::time::{Duration, Instant};

use crate::confine::ListedChanges;

/// The bounds of one look at the folders, before a run or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) scope: Scope,
    /// Names that are remembered before the run.
    pub(super) names: usize,
    /// How many of these may be in folders that tools fill.
    pub(super) bulk_names: usize,
    /// Names besides these that are looked at afterwards.
    pub(super) new_names: usize,
    /// How long each look may take.
    pub(super) time: Duration,
}

/// Which files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Files from which code runs, near the top of the folders.
    Risky,
    /// All. The kernel's notices say which folders have to be compared, where there are any.
    Noticed,
    /// All, each file compared.
    Each,
}

impl Bounds {
    const RISKY: Self = Self {
        scope: Scope::Risky,
        names: 2_000,
        bulk_names: 2_000,
        new_names: 2_000,
        time: Duration::from_millis(500),
    };
    const BOUNDED: Self = Self {
        scope: Scope::Noticed,
        names: 10_000,
        bulk_names: 1_000,
        new_names: 10_000,
        time: Duration::from_millis(500),
    };
    /// Where all is asked for: only so much that no project makes the host slow for good.
    const ALL: Self = Self {
        scope: Scope::Each,
        names: 200_000,
        bulk_names: 200_000,
        new_names: 200_000,
        time: Duration::from_secs(2),
    };

    /// The bounds of this setting; none if nothing is compared.
    pub(super) fn of(watched: ListedChanges) -> Option<Self> {
        match watched {
            ListedChanges::Nothing => None,
            ListedChanges::Risky => Some(Self::RISKY),
            ListedChanges::Bounded => Some(Self::BOUNDED),
            ListedChanges::All => Some(Self::ALL),
        }
    }

    /// When a look that begins now has to end.
    pub(super) fn end(&self) -> Deadline {
        Deadline(Instant::now().checked_add(self.time))
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn is_over(self) -> bool {
        self.0.is_none_or(|until| Instant::now() >= until)
    }
}
