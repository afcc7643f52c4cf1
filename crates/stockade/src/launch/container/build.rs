//! What the operations of a container add up to.

use crate::confine::{Keep, Oci};
use crate::launch::setup::{Setup, has_all, misplaced};
use crate::outcome::Failure;
use crate::plan::ops::{self, Mount, Op, Rlimit};
use crate::tier::Tier;

/// What is done for every container.
const ALWAYS: [Op; 5] =
    [Op::Oci(ops::Oci::EngineFilter), Op::Attest, Op::Shim, Op::Oci(ops::Oci::Remove), Op::CleanUp];

/// The parts of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own of the engine")]
pub(super) struct ContainerSetup {
    pub(super) common: Setup,
    pub(super) oci: Oci,
    /// A directory in memory, and how much it can hold.
    pub(super) memory: Option<(&'static str, u64)>,
    pub(super) is_started: bool,
    pub(super) has_read_only_root: bool,
    pub(super) has_other_user: bool,
    pub(super) drops_capabilities: bool,
    pub(super) forbids_privileges: bool,
}

impl ContainerSetup {
    /// What these operations add up to.
    pub(super) fn of(ops: &[Op]) -> Result<Self, Failure> {
        has_all(ops, &ALWAYS, Tier::Container)?;
        let mut setup = Self {
            common: Setup::empty(),
            oci: Oci::default(),
            memory: None,
            is_started: false,
            has_read_only_root: false,
            has_other_user: false,
            drops_capabilities: false,
            forbids_privileges: false,
        };
        for op in ops {
            setup.add(op)?;
        }
        if !setup.is_started && setup.oci.warm.is_none() {
            has_all(ops, &[Op::Oci(ops::Oci::Start)], Tier::Container)?;
        }
        setup.common = setup.common.complete();
        Ok(setup)
    }

    fn add(&mut self, op: &Op) -> Result<(), Failure> {
        let common = &mut self.common;
        match op {
            Op::Survey(_) | Op::Attest | Op::Shim | Op::CleanUp => {}
            Op::GuardOwn(own) => common.guard_own(own),
            Op::Unenforced(keep, origin, what) => common.leave_unenforced(*keep, *origin, what),
            Op::Scratch(scratch) => common.scratch = Some(scratch.clone()),
            Op::Environment(environment) => common.environment = Some(environment.clone()),
            Op::Network(network) => common.network = Some(*network),
            Op::HostName(name) => common.host_name = Some(name),
            Op::Mount(Mount::Memory { path, bytes, .. }) => self.memory = Some((path, *bytes)),
            Op::Mount(
                mount @ (Mount::Project(..) | Mount::Path(..) | Mount::Exception(_) | Mount::Pins),
            ) => common.mount(mount),
            Op::Hide(target) => common.keep(Keep::Hidden, target),
            Op::Protect(target) => common.keep(Keep::Protected, target),
            Op::Cgroup(limits) => common.cgroup = *limits,
            Op::DropCapabilities => self.drops_capabilities = true,
            Op::NoNewPrivileges => self.forbids_privileges = true,
            Op::Watch(watch) => common.watch(*watch),
            Op::Oci(op) => self.add_own(op)?,
            Op::Rlimit(Rlimit::MoreTasks(_) | Rlimit::AddressSpace { .. })
            | Op::Mount(
                Mount::System(_)
                | Mount::Devices { .. }
                | Mount::Proc
                | Mount::HideInProc(_)
                | Mount::Session { .. }
                | Mount::Home(_)
                | Mount::Toolchain(_)
                | Mount::Agent(_),
            )
            | Op::JoinSession { .. }
            | Op::Publish(_)
            | Op::HostPort(_)
            | Op::Namespaces(_)
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
            | Op::CloseDescriptors
            | Op::Exec
            | Op::Inline(_) => return Err(misplaced(op, Tier::Container)),
            Op::Rlimit(limit) => common.rlimit(*limit),
        }
        Ok(())
    }

    fn add_own(&mut self, op: &ops::Oci) -> Result<(), Failure> {
        match op {
            ops::Oci::Container { image, engine, runtime, pull } => {
                let (image, runtime) = (image.clone(), runtime.clone());
                let (engine, pull, warm) = (*engine, *pull, self.oci.warm);
                self.oci = Oci { image, engine, runtime, pull, warm };
            }
            ops::Oci::ReadOnlyRoot => self.has_read_only_root = true,
            ops::Oci::OtherUser => self.has_other_user = true,
            ops::Oci::EngineFilter | ops::Oci::Remove => {}
            ops::Oci::Start => self.is_started = true,
            ops::Oci::ExecInWaiting(calls) => self.oci.warm = Some(*calls),
            ops::Oci::Bundle(_) | ops::Oci::OwnKernel => {
                return Err(misplaced(&Op::Oci(op.clone()), Tier::Container));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
