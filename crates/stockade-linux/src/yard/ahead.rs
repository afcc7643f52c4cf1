//! What a box needs whatever is in it, begun in a thread while the host still decides: a keeper on its
//! feet, and a first process in its namespaces.

use std::thread::{self, JoinHandle};

use super::mounts::MountWatch;
use crate::cgroup::{CgroupLimits, Limits};
use crate::identity::Identity;
use crate::jail::pack::namespaces_with;
use crate::jail::{Jail, Network};
use crate::ready::Booting;
use crate::start::StartError;

/// What is known of a box before it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// Limits for all its processes.
    pub limits: CgroupLimits,
    /// What it has of the network.
    pub network: Network,
}

/// A thread that begins it. Dropping it waits for it, and ends what it made.
#[derive(Debug)]
pub(super) struct Ahead {
    expected: Expectation,
    identity: Identity,
    // None only while it is dropped.
    thread: Option<JoinHandle<Option<Parts>>>,
}

/// What was made, and the mounts of the host at that time: the first process has a copy of them.
#[derive(Debug)]
struct Parts {
    keeper: Booting,
    limits: Limits,
    mounts: MountWatch,
}

impl Ahead {
    /// Begins; none if there can be no thread.
    pub(super) fn begin(expected: Expectation) -> Option<Self> {
        let identity = Identity::of_caller();
        let thread = thread::Builder::new().name("stockade-ahead".to_owned());
        let thread = thread.spawn(move || make(expected, identity)).ok()?;
        // It may have been put behind this one on the same processor, though another is idle; soon it
        // waits for the keeper, which gets that one.
        thread::yield_now();
        Some(Self { expected, identity, thread: Some(thread) })
    }

    /// The keeper, and limits, for this box. What was made for another is ended; what went wrong in
    /// the thread is tried again, and told by that.
    pub(super) fn finish(
        mut self,
        jail: &Jail,
        limits: CgroupLimits,
    ) -> Result<(Booting, Limits), StartError> {
        let made = self.thread.take().and_then(|thread| thread.join().ok()).flatten();
        let is_as_expected = self.expected == Expectation { limits, network: jail.network }
            && self.identity == jail.identity;
        match made {
            Some(made) if is_as_expected && !made.mounts.saw_change() => {
                Ok((made.keeper, made.limits))
            }
            Some(_) | None => make_now(limits),
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// A keeper and limits here and now.
pub(super) fn make_now(limits: CgroupLimits) -> Result<(Booting, Limits), StartError> {
    let keeper = Booting::begin()?;
    Ok((keeper, Limits::of_new_box(limits)))
}

fn make(expected: Expectation, identity: Identity) -> Option<Parts> {
    let mounts = MountWatch::begin().ok()?;
    let limits = Limits::of_new_box(expected.limits);
    let namespaces = namespaces_with(expected.network);
    let keeper = Booting::begin_early(namespaces, identity, limits.so_far()).ok()?;
    Some(Parts { keeper, limits, mounts })
}
