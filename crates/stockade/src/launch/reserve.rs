//! What was made before it is asked for: boxes, containers, interpreters. It is one policy's and one
//! project's, and is shared with nobody else.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stockade_linux::{Expectation, Warmth, Yard};

use super::container::Containers;
use super::jail::{Draft, network_of_box, tree_limits};
use super::warm::Interpreters;
use crate::confine::{Confinement, Network};
use crate::limits::Limits;

/// All that may wait for a call. Dropping it ends what waits.
#[derive(Debug)]
pub struct Reserve {
    pub(super) yard: Yard,
    pub(super) containers: Containers,
    pub(super) interpreters: Interpreters,
    /// The description of the box that is made for the first call.
    draft: Mutex<Option<Draft>>,
}

/// Keeps the description of a box that was begun with: its folders are open as long.
#[derive(Debug)]
pub(crate) struct Drafted<'r>(&'r Reserve);

impl Drop for Drafted<'_> {
    fn drop(&mut self) {
        drop(self.0.draft().take());
    }
}

impl Reserve {
    /// Boxes by this warmth, and at most so many interpreters of each language. Nothing is made yet.
    pub fn new(warmth: Warmth, interpreters: usize) -> Self {
        Self {
            yard: Yard::new(warmth),
            containers: Containers::default(),
            interpreters: Interpreters::new(interpreters),
            draft: Mutex::default(),
        }
    }

    /// Nothing waits: each call has all of its own.
    pub fn cold() -> Self {
        Self::new(Warmth::Cold, 0)
    }

    /// The same, with as much made in advance as this says.
    #[must_use]
    pub fn with_warmth(mut self, warmth: Warmth) -> Self {
        self.yard = self.yard.with_warmth(warmth);
        if warmth == Warmth::Cold {
            self.interpreters = Interpreters::new(0);
        }
        self
    }

    /// Says that a box with these limits and this network will be asked for soon.
    pub fn expect_box(&self, limits: &Limits, network: Network) {
        self.yard
            .expect(Expectation { limits: tree_limits(limits), network: network_of_box(network) });
    }

    /// Begins with the box of a call that is still decided about.
    pub(super) fn foresee(&self, confinement: &Confinement) -> Drafted<'_> {
        *self.draft() = Draft::foresee(confinement, &self.yard);
        Drafted(self)
    }

    fn draft(&self) -> MutexGuard<'_, Option<Draft>> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where boxes wait or are made, and the description of the one that was begun with, for who is the
    /// first to ask.
    pub(super) fn boxes(&self) -> (&Yard, Option<Draft>) {
        (&self.yard, self.draft().take())
    }

    /// Where boxes wait.
    pub fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Containers that calls share.
    pub fn containers(&self) -> &Containers {
        &self.containers
    }

    /// Interpreters that wait, and sessions.
    pub fn interpreters(&self) -> &Interpreters {
        &self.interpreters
    }
}
