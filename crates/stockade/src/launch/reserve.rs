//! What was made before it is asked for: boxes, containers, interpreters. It is one policy's and one
//! project's, and is shared with nobody else.

use stockade_linux::{Warmth, Yard};

use super::container::Containers;
use super::warm::Interpreters;

/// All that may wait for a call. Dropping it ends what waits.
#[derive(Debug)]
pub struct Reserve {
    pub(super) yard: Yard,
    pub(super) containers: Containers,
    pub(super) interpreters: Interpreters,
}

impl Reserve {
    /// Boxes by this warmth, and at most so many interpreters of each language. Nothing is made yet.
    pub fn new(warmth: Warmth, interpreters: usize) -> Self {
        Self {
            yard: Yard::new(warmth),
            containers: Containers::default(),
            interpreters: Interpreters::new(interpreters),
        }
    }

    /// Nothing waits: each call has all of its own.
    pub fn cold() -> Self {
        Self::new(Warmth::Cold, 0)
    }

    /// The same, with as much made in advance as this says.
    #[must_use]
    pub fn with_warmth(mut self, warmth: Warmth) -> Self {
        self.yard = Yard::new(warmth);
        if warmth == Warmth::Cold {
            self.interpreters = Interpreters::new(0);
        }
        self
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
