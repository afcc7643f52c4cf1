//! What the operations of a sandbox of `runsc` add up to.

use crate::confine::{ImageName, Keep};
use crate::launch::setup::{Setup, has_all, misplaced};
use crate::outcome::Failure;
use crate::plan::ops::{Mount, Oci, Op, Rlimit};
use crate::tier::Tier;

/// What is done for every sandbox of `runsc`.
const ALWAYS: [Op; 3] = [Op::Shim, Op::Oci(Oci::OwnKernel), Op::CleanUp];

/// The parts of a sandbox of `runsc`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its own of the bundle")]
pub(super) struct GvisorSetup {
    pub(super) common: Setup,
    /// The image of the bundle; without one it is of the system's directories.
    pub(super) image: Option<ImageName>,
    has_bundle: bool,
    pub(super) namespaces: &'static [&'static str],
    pub(super) has_read_only_root: bool,
    pub(super) has_other_user: bool,
    pub(super) drops_capabilities: bool,
    pub(super) forbids_privileges: bool,
}

impl GvisorSetup {
    /// What these operations add up to.
    pub(super) fn of(ops: &[Op]) -> Result<Self, Failure> {
        has_all(ops, &ALWAYS, Tier::Gvisor)?;
        let mut setup = Self {
            common: Setup::empty(),
            image: None,
            has_bundle: false,
            namespaces: &[],
            has_read_only_root: false,
            has_other_user: false,
            drops_capabilities: false,
            forbids_privileges: false,
        };
        for op in ops {
            setup.add(op)?;
        }
        if !setup.has_bundle {
            has_all(ops, &[Op::Oci(Oci::Bundle(None))], Tier::Gvisor)?;
        }
        setup.common = setup.common.complete();
        Ok(setup)
    }

    fn add(&mut self, op: &Op) -> Result<(), Failure> {
        let common = &mut self.common;
        match op {
            Op::Survey(_) | Op::Shim | Op::CleanUp | Op::Oci(Oci::OwnKernel) => {}
            Op::GuardOwn(own) => common.guard_own(own),
            Op::Unenforced(keep, origin, what) => common.leave_unenforced(*keep, *origin, what),
            Op::Scratch(scratch) => common.scratch = Some(scratch.clone()),
            Op::Environment(environment) => common.environment = Some(environment.clone()),
            Op::Namespaces(kinds) => self.namespaces = kinds,
            Op::Network(network) => common.network = Some(*network),
            Op::HostName(name) => common.host_name = Some(name),
            Op::Hide(target) => common.keep(Keep::Hidden, target),
            Op::Protect(target) => common.keep(Keep::Protected, target),
            Op::Cgroup(limits) => common.cgroup = *limits,
            Op::DropCapabilities => self.drops_capabilities = true,
            Op::NoNewPrivileges => self.forbids_privileges = true,
            Op::Watch(watch) => common.watch(*watch),
            Op::Oci(Oci::Bundle(image)) => {
                (self.image, self.has_bundle) = (image.clone(), true);
            }
            Op::Oci(Oci::ReadOnlyRoot) => self.has_read_only_root = true,
            Op::Oci(Oci::OtherUser) => self.has_other_user = true,
            Op::Mount(Mount::HideInProc(_) | Mount::Session { .. } | Mount::Home(_))
            | Op::JoinSession { .. }
            | Op::Publish(_)
            | Op::HostPort(_)
            | Op::Rlimit(Rlimit::MoreTasks(_) | Rlimit::AddressSpace { .. })
            | Op::Oci(
                Oci::Container { .. }
                | Oci::EngineFilter
                | Oci::Start
                | Oci::ExecInWaiting(_)
                | Oci::Remove,
            )
            | Op::ForbidNesting
            | Op::NewRoot
            | Op::Check(..)
            | Op::SealRoot
            | Op::Broker
            | Op::RefuseCreation
            | Op::SignalScope { .. }
            | Op::Allow(_)
            | Op::Landlock
            | Op::Seccomp(_)
            | Op::Attest
            | Op::CloseDescriptors
            | Op::Exec
            | Op::Inline(_) => return Err(misplaced(op, Tier::Gvisor)),
            Op::Mount(mount) => common.mount(mount),
            Op::Rlimit(limit) => common.rlimit(*limit),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
