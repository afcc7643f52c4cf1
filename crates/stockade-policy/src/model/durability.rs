//! When the journal's entries reach the disk.

use std::time::Duration;

/// When an entry must have reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Before the entry's append returns.
    Each,
    /// Within this window, while the process lives.
    Batched {
        /// The longest time between a write and its `fdatasync`.
        window: Duration,
    },
}

impl Default for Durability {
    /// Batched, within one second.
    fn default() -> Self {
        Self::Batched { window: Duration::from_secs(1) }
    }
}
