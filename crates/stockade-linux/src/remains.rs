//! What of a run is still there when it has ended, and takes a moment to go.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::Timespec;

use crate::cgroup::Cgroup;
use crate::control::Line;
use crate::keeper::Keeper;
use crate::pidfd::{ends_within, kill};
use crate::template::Template;

/// Processes and folders that are waited for and removed when this is dropped, in this order.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    /// The line to the keeper of a box, whose closing ends it.
    pub(crate) control: Option<Line>,
    /// The first process of a box, and its limits, in which nobody is once that is gone.
    pub(crate) first: Option<(First, Option<Cgroup>)>,
    /// The keeper, which outlives what it keeps.
    pub(crate) keeper: Option<Keeper>,
    /// The template, whose end would be that of its boxes.
    pub(crate) _template: Option<Arc<Template>>,
    /// Limits of what has no first process, which can be removed once the keeper is gone.
    pub(crate) limits: Option<Cgroup>,
}

impl Remains {
    /// There is a first process, by this pidfd.
    pub(crate) fn has_first(&mut self, first: OwnedFd) {
        self.first = Some((First(first), self.limits.take()));
    }

    /// The limits of all its processes.
    pub(crate) fn cgroup(&self) -> Option<&Cgroup> {
        self.first.as_ref().and_then(|(_, limits)| limits.as_ref()).or(self.limits.as_ref())
    }
}

/// The first process of a box, by its pidfd. Dropping it waits for its end, and makes sure of it.
#[derive(Debug)]
pub(crate) struct First(OwnedFd);

impl Drop for First {
    fn drop(&mut self) {
        // It gives up on its tree after five seconds.
        const PATIENCE: Timespec = Timespec { tv_sec: 6, tv_nsec: 0 };
        const MOMENT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
        if !ends_within(&self.0, &PATIENCE) {
            // It was stopped, and cannot hear that it is to end. All in the box ends with it.
            kill(&self.0);
            let _either = ends_within(&self.0, &MOMENT);
        }
    }
}
