//! The processes and cgroups of a run that are still there when it has ended.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::Timespec;

use crate::channel::Channel;
use crate::mechanisms::cgroup::Cgroup;
use crate::pidfd::{ends_within, kill};
use crate::pool::template::Template;
use crate::spawn::ShimProcess;

/// Processes and folders that are waited for and removed when this is dropped, in this order.
#[derive(Debug, Default)]
pub(crate) struct Teardown {
    /// The control channel of a sandbox's shim, whose closing ends it.
    pub(crate) control: Option<Channel>,
    /// The init of a sandbox, and its cgroups, which are empty once init has exited.
    pub(crate) init: Option<(InitHandle, Option<Cgroup>)>,
    /// The shim, which outlives what it keeps.
    pub(crate) shim: Option<ShimProcess>,
    /// The template, whose end would be that of its sandboxes.
    pub(crate) _template: Option<Arc<Template>>,
    /// Limits of what has no init, which can be removed once the shim is gone.
    pub(crate) limits: Option<Cgroup>,
}

impl Teardown {
    /// There is an init, by this pidfd.
    pub(crate) fn has_init(&mut self, init: OwnedFd) {
        self.init = Some((InitHandle(init), self.limits.take()));
    }

    /// The limits of all its processes.
    pub(crate) fn cgroup(&self) -> Option<&Cgroup> {
        self.init.as_ref().and_then(|(_, limits)| limits.as_ref()).or(self.limits.as_ref())
    }
}

/// The init of a sandbox, by its pidfd. Dropping it waits for its end, and makes sure of it.
#[derive(Debug)]
pub(crate) struct InitHandle(OwnedFd);

impl Drop for InitHandle {
    fn drop(&mut self) {
        // It gives up on its tree after five seconds.
        const PATIENCE: Timespec = Timespec { tv_sec: 6, tv_nsec: 0 };
        const MOMENT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
        if !ends_within(&self.0, &PATIENCE) {
            // It was stopped, and does not read that its channel is closed. Everything in the
            // sandbox ends with it.
            kill(&self.0);
            let _either = ends_within(&self.0, &MOMENT);
        }
    }
}
