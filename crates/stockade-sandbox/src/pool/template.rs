//! A sandbox in which nothing runs, and from which others are copied in a fraction of the time.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::channel::Channel;
use crate::creations::Creations;
use crate::handshake::wait_for_init;
use crate::jail::Jail;
use crate::jail::encode::{self, EncodedPlan, PerBoxFds};
use crate::mechanisms::cgroup::{Cgroup, Hierarchies};
use crate::prepared::{PendingSandbox, PreparedSandbox, SandboxParams};
use crate::protocol::step::Step;
use crate::spawn::StartingShim;
use crate::start::{At, StartError, supervisor};
use crate::teardown::Teardown;

/// A template. Dropping it ends it, and with it every sandbox that was copied from it.
#[derive(Debug)]
pub(crate) struct Template {
    // Closed first when dropped, so that the template ends before it is waited for.
    channel: Channel,
    copy: EncodedPlan<'static>,
    outlook: SandboxParams,
    hierarchies: Result<Hierarchies, Errno>,
    _remains: Teardown,
}

impl Template {
    /// Makes a template for sandboxes like this one; `None` if they cannot be copied.
    pub(crate) fn make(jail: &Jail, outlook: SandboxParams) -> Result<Option<Self>, StartError> {
        let Some(copy) = encode::encode_copy(jail).at(Step::PrepareBox)? else { return Ok(None) };
        let plan = encode::encode(jail).at(Step::PrepareBox)?.into_template();
        let (channel, far) = Channel::pair().at(Step::OpenControl)?;
        let supervisor = supervisor()?;
        let fds = PerBoxFds {
            channel: Some(far.as_fd()),
            exec_channel: None,
            cgroup: None,
            supervisor: Some(supervisor.as_fd()),
            creation_log: None,
        };
        let mut teardown = StartingShim::begin()?.make_sandbox(&plan, &fds)?;
        drop(far);
        let (_, pidfd, _) = wait_for_init(&channel, &mut teardown)?;
        teardown.has_init(pidfd);
        let hierarchies = Hierarchies::read();
        Ok(Some(Self { channel, copy, outlook, hierarchies, _remains: teardown }))
    }

    /// Where the cgroups of its copies are made, as long as the host's mounts are as they were.
    pub(crate) fn hierarchies(&self) -> Result<Hierarchies, Errno> {
        self.hierarchies.as_ref().map_err(|errno| *errno).and_then(Hierarchies::again)
    }

    /// Makes a sandbox.
    pub(crate) fn copy(self: &Arc<Self>, cgroup: Cgroup) -> Result<PreparedSandbox, StartError> {
        self.order(cgroup)?.wait()
    }

    /// Lets a sandbox be made.
    pub(crate) fn order(self: &Arc<Self>, cgroup: Cgroup) -> Result<PendingSandbox, StartError> {
        let (channel, channel_far) = Channel::pair().at(Step::OpenControl)?;
        let (exec_channel, exec_far) = Channel::pair().at(Step::OpenControl)?;
        let creations = Creations::begin(&self.outlook.refused).at(Step::PrepareBox)?;
        let fds = PerBoxFds {
            channel: Some(channel_far.as_fd()),
            exec_channel: Some(exec_far.as_fd()),
            cgroup: Some(&cgroup),
            supervisor: None,
            creation_log: creations.as_ref().map(Creations::file),
        };
        let packed = self.copy.with_fds(&fds).at(Step::PrepareBox)?;
        self.channel.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        drop(packed);
        drop((channel_far, exec_far));
        let template = Some(Arc::clone(self));
        let teardown =
            Teardown { _template: template, limits: Some(cgroup), ..Teardown::default() };
        let outlook = self.outlook.clone();
        Ok(PendingSandbox { exec_channel, channel, outlook, teardown, creations })
    }
}
