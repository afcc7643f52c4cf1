//! Limits that are being made, in a thread, while something else is.

use std::thread::{self, JoinHandle};

use super::{Cgroup, CgroupLimits};

/// Limits that are there, or will be.
#[derive(Debug)]
pub(crate) enum Pending {
    /// There, or not wanted.
    There(Option<Cgroup>),
    /// Under way. If the thread is lost they are made by who needs them.
    UnderWay(JoinHandle<Cgroup>, CgroupLimits),
}

impl Pending {
    /// Begins to make limits for a box. Where a process is cloned into its cgroup that has to be there
    /// first, and so they are made at once; as they are if there can be no thread.
    pub(crate) fn begin(limits: CgroupLimits) -> Self {
        let make = move || Cgroup::create_for_box(limits);
        if Cgroup::is_unified() {
            return Self::There(Some(make()));
        }
        let thread = thread::Builder::new().name("stockade-cgroup".to_owned());
        match thread.spawn(make) {
            Ok(thread) => Self::UnderWay(thread, limits),
            Err(_) => Self::There(Some(Cgroup::create_for_box(limits))),
        }
    }

    /// Those that are there.
    pub(crate) fn so_far(&self) -> Option<&Cgroup> {
        match self {
            Self::There(cgroup) => cgroup.as_ref(),
            Self::UnderWay(..) => None,
        }
    }

    /// Whether they are still being made.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self, Self::UnderWay(..))
    }

    /// Waits for them.
    pub(crate) fn finish(self) -> Option<Cgroup> {
        match self {
            Self::There(cgroup) => cgroup,
            Self::UnderWay(thread, limits) => {
                let made = thread.join().unwrap_or_else(|_| Cgroup::create_for_box(limits));
                Some(made)
            }
        }
    }
}
