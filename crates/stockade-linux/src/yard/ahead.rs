//! What a box needs whatever is in it, made in a thread while the host still decides: a keeper on its
//! feet, a first process in its namespaces, and limits for all processes of a box.

use std::thread::{self, JoinHandle};

use super::mounts::MountWatch;
use crate::cgroup::{Cgroup, CgroupLimits};
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

/// A thread that makes all three. Dropping it waits for it, and ends what it made.
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
    cgroup: Cgroup,
    mounts: MountWatch,
}

impl Ahead {
    /// Begins; none if there can be no thread.
    pub(super) fn begin(expected: Expectation) -> Option<Self> {
        let identity = Identity::of_caller();
        let thread = thread::Builder::new().name("stockade-ahead".to_owned());
        let thread = thread.spawn(move || make(expected, identity)).ok()?;
        Some(Self { expected, identity, thread: Some(thread) })
    }

    /// The keeper, and a cgroup with these limits, for this box. What was made for another is ended;
    /// what went wrong in the thread is tried again, and told by that.
    pub(super) fn finish(
        mut self,
        jail: &Jail,
        limits: CgroupLimits,
    ) -> Result<(Booting, Cgroup), StartError> {
        let made = self.thread.take().and_then(|thread| thread.join().ok()).flatten();
        let is_as_expected = self.expected == Expectation { limits, network: jail.network }
            && self.identity == jail.identity;
        match made.filter(|made| is_as_expected && !made.mounts.saw_change()) {
            Some(Parts { keeper, cgroup, .. }) => Ok((keeper, cgroup)),
            None => make_now(limits),
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// A keeper and a cgroup here and now, at the same time.
pub(super) fn make_now(limits: CgroupLimits) -> Result<(Booting, Cgroup), StartError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("stockade-cgroup".to_owned());
        let cgroup = thread.spawn_scoped(scope, || Cgroup::create_for_box(limits));
        let keeper = Booting::begin()?;
        // Without a thread, or if it panicked, after it.
        let cgroup = cgroup.ok().and_then(|cgroup| cgroup.join().ok());
        Ok((keeper, cgroup.unwrap_or_else(|| Cgroup::create_for_box(limits))))
    })
}

/// The keeper comes first, for it gets on its feet and makes the namespaces while the cgroup is made;
/// but where the first process is cloned into the cgroup, that has to be there.
fn make(expected: Expectation, identity: Identity) -> Option<Parts> {
    let mounts = MountWatch::begin().ok()?;
    let namespaces = namespaces_with(expected.network);
    let keeper = |cgroup| Booting::begin_early(namespaces, identity, cgroup).ok();
    let cgroup = || Cgroup::create_for_box(expected.limits);
    let (keeper, cgroup) = if Cgroup::is_unified() {
        let cgroup = cgroup();
        (keeper(Some(&cgroup))?, cgroup)
    } else {
        (keeper(None)?, cgroup())
    };
    Some(Parts { keeper, cgroup, mounts })
}
