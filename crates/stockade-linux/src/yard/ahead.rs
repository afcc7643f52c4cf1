//! What a box needs whatever is in it, begun in a thread while the host still decides: a keeper on its
//! feet, and a first process in its namespaces.

use std::thread::{self, JoinHandle};

use rustix::io::Errno;
use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::mounts::MountWatch;
use crate::cgroup::{Cgroup, CgroupLimits, Hierarchies, Limits};
use crate::identity::Identity;
use crate::jail::pack::namespaces_with;
use crate::jail::{Jail, Network};
use crate::ready::Booting;

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
    thread: Option<JoinHandle<Option<Made>>>,
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
        let here = sched_getcpu();
        let is_limited_first = Cgroup::is_unified();
        let thread = thread::Builder::new().name("stockade-ahead".to_owned());
        let begin = move || {
            leave(here);
            make(expected, identity, is_limited_first)
        };
        let thread = thread.spawn(begin).ok()?;
        // It may have been put behind this one on the same processor, which it leaves at once.
        thread::yield_now();
        // Now, before the keeper is there: to read the list of mounts while it makes namespaces, and takes
        // their lock, would hold up both.
        let hierarchies = (!is_limited_first).then(Hierarchies::read);
        Some(Self { expected, identity, hierarchies, thread: Some(thread) })
    }

    /// What was made, if it is for this box; what was made for another is ended. What went wrong in the
    /// thread is none too: it is tried again, and told by that.
    pub(super) fn finish(mut self, jail: &Jail, limits: CgroupLimits) -> Option<Parts> {
        let made = self.thread.take().and_then(|thread| thread.join().ok()).flatten();
        let is_as_expected = self.expected == Expectation { limits, network: jail.network }
            && self.identity == jail.identity;
        let Made { keeper, cgroup, mounts } =
            made.filter(|made| is_as_expected && !made.mounts.saw_change())?;
        let limits = match self.hierarchies.take() {
            Some(there) => Limits::Later(limits, there),
            None => Limits::There(cgroup),
        };
        Some(Parts { keeper, limits, mounts })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Moves this thread, and with it the processes that it makes, to another processor than that of the
/// host, if there is one: some schedulers put what is new beside its maker, though another is idle. It
/// may come back.
fn leave(processor: usize) {
    let Ok(all) = sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(processor);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        // What cannot be undone only narrows a choice.
        sched_setaffinity(None, &all).ok();
    }
}

fn make(expected: Expectation, identity: Identity, is_limited_first: bool) -> Option<Made> {
    let mounts = MountWatch::begin().ok()?;
    let limited = || Cgroup::create_for_box(expected.limits, Hierarchies::read());
    let cgroup = is_limited_first.then(limited);
    let namespaces = namespaces_with(expected.network);
    let keeper = Booting::begin_early(namespaces, identity, cgroup.as_ref()).ok()?;
    Some(Made { keeper, cgroup, mounts })
}
