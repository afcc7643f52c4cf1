//! What was made before it is asked for: boxes, containers, interpreters. It is one policy's and one
//! project's, and is shared with nobody else.

use stockade_sandbox::{PoolSize, SandboxPool};

use super::container::Containers;
use super::interpreters::Interpreters;
use super::session::Sessions;
use crate::limits::SessionLimits;

/// All that may wait for a call. Dropping it ends what waits.
#[derive(Debug)]
pub struct WarmState {
    pub(super) pool: SandboxPool,
    pub(super) containers: Containers,
    pub(super) interpreters: Interpreters,
    pub(super) sessions: Sessions,
}

impl WarmState {
    /// Sandboxes by this size, at most so many interpreters of each language, and sessions within these
    /// limits. Nothing is made yet.
    pub fn new(pool_size: PoolSize, interpreters: usize, sessions: SessionLimits) -> Self {
        Self {
            pool: SandboxPool::new(pool_size),
            containers: Containers::default(),
            interpreters: Interpreters::new(interpreters),
            sessions: Sessions::new(sessions),
        }
    }

    /// Nothing waits: each call has all of its own.
    pub fn cold() -> Self {
        Self::new(PoolSize::NoTemplates, 0, SessionLimits::default())
    }

    /// The same, with as much made in advance as this says.
    #[must_use]
    pub fn with_pool_size(mut self, pool_size: PoolSize) -> Self {
        self.pool = SandboxPool::new(pool_size);
        if pool_size == PoolSize::NoTemplates {
            self.interpreters = Interpreters::new(0);
        }
        self
    }

    /// Where boxes wait.
    pub fn pool(&self) -> &SandboxPool {
        &self.pool
    }

    /// Containers that calls share.
    pub fn containers(&self) -> &Containers {
        &self.containers
    }

    /// What calls of one session share.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Interpreters that wait.
    pub fn interpreters(&self) -> &Interpreters {
        &self.interpreters
    }
}
