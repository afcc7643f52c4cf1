//! The guarantees without which nothing runs: those that the tier is for, unless a policy lists
//! only its own, and those that were asked for on top.

use std::collections::BTreeMap;

use crate::confine::{Network, Ports};
use crate::guarantee::{Guarantee, Kept};
use crate::model::tier::Tier;

/// What a policy requires to be kept, and how well.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Require {
    of_tier: bool,
    listed: BTreeMap<Guarantee, Kept>,
}

impl Require {
    /// In a policy file: all that the tier is for.
    pub const OF_TIER: &str = "tier";

    /// These and no others, whatever the tier is for.
    pub fn only(listed: impl IntoIterator<Item = (Guarantee, Kept)>) -> Self {
        Self { of_tier: false, listed: listed.into_iter().collect() }
    }

    /// Requires one more, or one better kept. Nothing is lowered by this.
    pub fn insert(&mut self, guarantee: Guarantee, kept: Kept) {
        raise(&mut self.listed, guarantee, kept);
    }

    /// Requires all that another requires, too.
    pub(crate) fn add(&mut self, other: Self) {
        self.of_tier |= other.of_tier;
        for (guarantee, kept) in other.listed {
            self.insert(guarantee, kept);
        }
    }

    /// All that is required in this tier. A policy that gives the machine's network away, or opens ports
    /// of it, does not also require that it is kept, or kept fully, unless it says so itself.
    pub fn in_tier(
        &self,
        tier: Tier,
        network: Network,
        ports: &Ports,
    ) -> BTreeMap<Guarantee, Kept> {
        let is_meant = |(guarantee, _): &(Guarantee, Kept)| {
            self.of_tier && (*guarantee != Guarantee::Network || network.is_own())
        };
        let mut required: BTreeMap<_, _> = tier.is_for().filter(is_meant).collect();
        if let Some(kept) = required.get_mut(&Guarantee::Network)
            && ports.open_in(network)
        {
            *kept = Kept::Partial.min(*kept);
        }
        for (guarantee, kept) in &self.listed {
            raise(&mut required, *guarantee, *kept);
        }
        required
    }

    /// How well the network has to be kept in a session where another call has opened ports: the tier is
    /// content with less, as in a policy that opens them itself.
    pub fn of_shared_network(&self, tier: Tier) -> Option<Kept> {
        let mut of_tier = tier.is_for().filter(|_| self.of_tier);
        let of_tier = of_tier.find(|(guarantee, _)| *guarantee == Guarantee::Network);
        let of_tier = of_tier.map(|(_, kept)| Kept::Partial.min(kept));
        of_tier.max(self.listed.get(&Guarantee::Network).copied())
    }
}

impl Default for Require {
    /// What the tier is for.
    fn default() -> Self {
        Self { of_tier: true, listed: BTreeMap::new() }
    }
}

fn raise(required: &mut BTreeMap<Guarantee, Kept>, guarantee: Guarantee, kept: Kept) {
    let held = required.entry(guarantee).or_insert(kept);
    *held = kept.max(*held);
}
