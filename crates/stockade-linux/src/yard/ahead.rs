//! What a box needs whatever is in it, begun while the host still decides: a keeper on its feet, and a
//! first process in its namespaces.

use super::mounts::MountWatch;
use crate::booting::Booting;
use crate::cgroup::{CgroupLimits, Limits};
use crate::hasten::{self, Before};
use crate::identity::Identity;
use crate::jail::pack::namespaces_with;
use crate::jail::{Jail, Network};

/// What is known of a box before it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// Limits for all its processes.
    pub limits: CgroupLimits,
    /// What it has of the network.
    pub network: Network,
}

/// What was begun. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Ahead {
    expected: Expectation,
    identity: Identity,
    parts: Parts,
}

/// What was made, and the mounts of the host at that time: the first process has a copy of them.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) keeper: Booting,
    pub(super) limits: Limits,
    pub(super) mounts: MountWatch,
}

impl Ahead {
    /// Begins. None if something goes wrong, which will be told when the box is asked for.
    pub(super) fn begin(expected: Expectation) -> Option<Self> {
        let identity = Identity::of_caller();
        let namespaces = namespaces_with(expected.network);
        let hastened = hasten::taken_for(namespaces, identity);
        let (mut keeper, begun) = match hastened {
            Some(hastened) => hastened,
            None => (Booting::elsewhere()?, None),
        };
        let is_told = begun.is_some();
        let Before { mounts, hierarchies } = begun.map_or_else(Before::now, Ok).ok()?;
        let limits = Limits::of_box_among(expected.limits, hierarchies);
        if !is_told {
            keeper.begin_early(namespaces, identity, limits.so_far()).ok()?;
        }
        Some(Self { expected, identity, parts: Parts { keeper, limits, mounts } })
    }

    /// What was made, if it is for this box; what was made for another is ended.
    pub(super) fn finish(self, jail: &Jail, limits: CgroupLimits) -> Option<Parts> {
        let Self { expected, identity, parts } = self;
        let is_as_expected = expected == Expectation { limits, network: jail.network }
            && identity == jail.identity
            && !parts.mounts.saw_change();
        is_as_expected.then(|| Parts { limits: parts.limits.again(), ..parts })
    }
}
