//! The single ports that connect the loopback of a sandbox with that of the machine.

use std::num::NonZeroU16;

use super::Network;

/// Ports that lead into the loopback of a sandbox, and out of it. They mean something with
/// [`Network::Loopback`] only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Ports of the sandbox that can be reached on the loopback of the machine, under the same number.
    pub publish: Vec<NonZeroU16>,
    /// Ports of the machine's loopback that can be reached on that of the sandbox.
    pub host: Vec<NonZeroU16>,
}

impl Ports {
    /// The most that a list can have.
    pub const MAX: usize = 32;

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.publish.is_empty() && self.host.is_empty()
    }

    /// Whether any is open in this network.
    pub fn open_in(&self, network: Network) -> bool {
        network == Network::Loopback && !self.is_empty()
    }
}
