//! What a box needs whatever is in it, begun in a thread while the host still decides: a keeper on its
//! feet, and a first process in its namespaces.

use std::thread::JoinHandle;

use rustix::io::Errno;

use super::mounts::MountWatch;
use crate::booting::Booting;
use crate::cgroup::{Cgroup, CgroupLimits, Hierarchies, Limits};
use crate::identity::Identity;
use crate::jail::pack::namespaces_with;
use crate::jail::{Jail, Network};
use crate::{elsewhere, hasten};

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
    /// Where the host makes the cgroups, unless a box is cloned into them: then the thread has.
    hierarchies: Option<Result<Hierarchies, Errno>>,
    // None only while it is dropped.
    begun: Option<Begun>,
}

/// What was begun.
#[derive(Debug)]
enum Begun {
    Thread(JoinHandle<Option<Made>>),
    /// By the host itself: a keeper was there, and had only to be told.
    Here(Option<Made>),
}

/// What the thread has made.
#[derive(Debug)]
struct Made {
    keeper: Booting,
    cgroup: Option<Cgroup>,
    mounts: MountWatch,
}

/// What was made, and the mounts of the host at that time: the first process has a copy of them.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) keeper: Booting,
    pub(super) limits: Limits,
    pub(super) mounts: MountWatch,
}

impl Ahead {
    /// Begins; none if there can be no thread.
    pub(super) fn begin(expected: Expectation) -> Option<Self> {
        let identity = Identity::of_caller();
        let is_limited_first = Cgroup::is_unified();
        // Watched from before the first look at them.
        let mounts = MountWatch::begin().ok()?;
        let work = move || make(expected, identity, is_limited_first, mounts);
        let read = || (!is_limited_first).then(Hierarchies::read);
        // Before a keeper is there: to read the list of mounts while it makes namespaces, and takes their
        // lock, would hold up both.
        let (hierarchies, begun) = if hasten::is_there() {
            (read(), Begun::Here(work()))
        } else {
            let thread = elsewhere::begin(work)?;
            (read(), Begun::Thread(thread))
        };
        Some(Self { expected, identity, hierarchies, begun: Some(begun) })
    }

    /// What was made, if it is for this box; what was made for another is ended. What went wrong in the
    /// thread is none too: it is tried again, and told by that.
    pub(super) fn finish(mut self, jail: &Jail, limits: CgroupLimits) -> Option<Parts> {
        let made = match self.begun.take()? {
            Begun::Thread(thread) => thread.join().ok().flatten(),
            Begun::Here(made) => made,
        };
        let is_as_expected = self.expected == Expectation { limits, network: jail.network }
            && self.identity == jail.identity;
        let Made { keeper, cgroup, mounts } =
            made.filter(|made| is_as_expected && !made.mounts.saw_change())?;
        let limits = match self.hierarchies.take() {
            // The host may have moved to another one meanwhile.
            Some(there) => Limits::Later(limits, there.and_then(|there| there.again())),
            None => Limits::There(cgroup),
        };
        Some(Parts { keeper, limits, mounts })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(Begun::Thread(thread)) = self.begun.take() {
            drop(thread.join());
        }
    }
}

fn make(
    expected: Expectation,
    identity: Identity,
    is_limited_first: bool,
    mounts: MountWatch,
) -> Option<Made> {
    let limited = || Cgroup::create_for_box(expected.limits, Hierarchies::read());
    let cgroup = is_limited_first.then(limited);
    let namespaces = namespaces_with(expected.network);
    let keeper = Booting::begin_early(namespaces, identity, cgroup.as_ref()).ok()?;
    Some(Made { keeper, cgroup, mounts })
}
