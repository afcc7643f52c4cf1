//! How much of the folders is looked at, so that a look never costs more than it is worth.

use std::time::{Duration, Instant};

use crate::confine::Watched;

/// The bounds of a look before a run and of the one after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Names that are remembered before.
    pub(super) names: usize,
    /// How many of these may be of what tools fill.
    pub(super) bulk_names: usize,
    /// Names besides these that are looked at afterwards.
    pub(super) new_names: usize,
    /// How long each look may take.
    pub(super) time: Duration,
}

const BOUNDED: Bounds = Bounds {
    names: 10_000,
    bulk_names: 1_000,
    new_names: 10_000,
    time: Duration::from_millis(500),
};
/// Where all is asked for: only so much that no project makes the host slow for good.
const ALL: Bounds = Bounds {
    names: 200_000,
    bulk_names: 200_000,
    new_names: 200_000,
    time: Duration::from_secs(2),
};

impl Bounds {
    /// Nothing is walked through.
    pub(super) const NONE: Self =
        Self { names: 0, bulk_names: 0, new_names: 0, time: Duration::ZERO };

    /// Those of a walk; none where there is none.
    pub(super) fn of(watched: Watched) -> Option<Self> {
        match watched {
            Watched::Nothing | Watched::Risky => None,
            Watched::Bounded => Some(BOUNDED),
            Watched::All => Some(ALL),
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
