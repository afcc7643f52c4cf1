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

    /// Takes those of another in.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in [(&mut self.publish, &other.publish), (&mut self.host, &other.host)] {
            own.extend(other);
            own.sort_unstable();
            own.dedup();
        }
    }

    /// Those that another does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let left = |own: &[NonZeroU16], other: &[NonZeroU16]| {
            own.iter().filter(|port| !other.contains(port)).copied().collect()
        };
        Self { publish: left(&self.publish, &other.publish), host: left(&self.host, &other.host) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(publish: &[u16], host: &[u16]) -> Ports {
        let list = |ports: &[u16]| ports.iter().filter_map(|port| NonZeroU16::new(*port)).collect();
        Ports { publish: list(publish), host: list(host) }
    }

    #[test]
    fn ports_are_added_once_and_taken_out_by_their_direction() {
        let mut all = ports(&[80], &[81]);
        all.add(&ports(&[81, 80], &[]));
        assert_eq!(all, ports(&[80, 81], &[81]));
        assert_eq!(all.without(&ports(&[81], &[80])), ports(&[80], &[81]));
        assert!(all.without(&all).is_empty());
    }
}
