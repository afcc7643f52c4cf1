//! A description of a box that was made a moment ago, while its call was judged.
//!
//! The folders in it are open, so that whoever moves them meanwhile changes nothing; what has to be
//! hidden and protected in them is looked at anew each time.

use std::time::{Duration, Instant};

use stockade_linux::{Jail, Yard};

use super::cover::Cover;
use super::{cover, described, tree_limits};
use crate::confine::{Confinement, Files, Network};
use crate::launch::machine;
use crate::plan;
use crate::tier::{Description, Step, Tier};

/// How long it is good for: no longer than a judgement takes that asks nobody.
const MOMENT: Duration = Duration::from_millis(50);

/// The description, and all that it was made of.
#[derive(Debug)]
pub(in crate::launch) struct Draft {
    at: Instant,
    files: Files,
    network: Network,
    processes: Option<u32>,
    steps: Vec<Step>,
    stamp: Vec<u8>,
    jail: Jail,
}

impl Draft {
    /// Describes the box of a call that is still decided about, and begins with it. Nothing runs in it,
    /// and it is used only if the plan's is the same in every point.
    pub(in crate::launch) fn foresee(confinement: &Confinement, yard: &Yard) -> Option<Self> {
        let at = Instant::now();
        let Description { steps, .. } =
            plan::describe(Tier::Jail, confinement, machine::probe()).ok()?;
        let cover = cover::look(&confinement.files).ok()?;
        let mut jail = described(c"/", confinement, &steps, &cover).ok()?;
        yard.foresee(&mut jail, tree_limits(&confinement.limits));
        Some(Self {
            at,
            files: confinement.files.clone(),
            network: confinement.network,
            processes: confinement.limits.processes,
            steps,
            stamp: cover.stamp(),
            jail,
        })
    }

    /// The description, if it is that of this box too.
    pub(super) fn of_same(
        self,
        confinement: &Confinement,
        steps: &[Step],
        cover: &Cover,
    ) -> Option<Jail> {
        let is_same = self.at.elapsed() < MOMENT
            && self.files == confinement.files
            && self.network == confinement.network
            && self.processes == confinement.limits.processes
            && self.steps == steps
            && self.stamp == cover.stamp()
            // What is not there is in no stamp.
            && !steps.contains(&Step::Broker);
        is_same.then_some(self.jail)
    }
}
