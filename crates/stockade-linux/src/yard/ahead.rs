//! What every box needs, whatever is in it, made in a thread while the host still decides: a keeper
//! on its feet, and limits for all processes of a box.

use std::thread::{self, JoinHandle};

use crate::cgroup::{Cgroup, CgroupLimits};
use crate::ready::Booting;
use crate::start::StartError;

/// A thread that makes both. Dropping it waits for it, and ends what it made.
#[derive(Debug)]
pub(super) struct Ahead {
    limits: CgroupLimits,
    // None only while it is dropped.
    thread: Option<JoinHandle<Parts>>,
}

type Parts = (Result<Booting, StartError>, Cgroup);

impl Ahead {
    /// Begins; none if there can be no thread.
    pub(super) fn begin(limits: CgroupLimits) -> Option<Self> {
        let thread = thread::Builder::new().name("stockade-ahead".to_owned());
        let thread = thread.spawn(move || make(limits)).ok()?;
        Some(Self { limits, thread: Some(thread) })
    }

    /// The keeper, and a cgroup with these limits. What went wrong in the thread is tried again, and
    /// told by that.
    pub(super) fn finish(mut self, limits: CgroupLimits) -> Result<(Booting, Cgroup), StartError> {
        let made = self.thread.take().and_then(|thread| thread.join().ok());
        let (keeper, cgroup) = match made {
            Some((keeper, cgroup)) => (keeper.or_else(|_| Booting::begin())?, Some(cgroup)),
            None => (Booting::begin()?, None),
        };
        let cgroup = cgroup.filter(|_| self.limits == limits);
        Ok((keeper, cgroup.unwrap_or_else(|| Cgroup::create_for_box(limits))))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Both here and now, at the same time.
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

/// The keeper comes first: it gets on its feet while the cgroup is made.
fn make(limits: CgroupLimits) -> Parts {
    (Booting::begin(), Cgroup::create_for_box(limits))
}
