//! What the operations of a jail add up to, and the sandbox that is made of it.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use stockade_sandbox::{
    self as sandbox, Filter, Form, InSession, Jail, Mount, Nesting, Network as BoxNetwork,
};

use super::broker;
use super::masks::PathMasks;
use super::root::{landlock, mounts};
use crate::confine::{Keep, Leftovers, Network, Ports};
use crate::launch::session::JoinedCall;
use crate::launch::setup::{Setup, has_all, misplaced};
use crate::outcome::{Failure, FailureKind};
use crate::plan::ops::Op;
use crate::tier::Tier;

/// What the shim does for every sandbox with namespaces.
const ALWAYS: [Op; 7] = [
    Op::Shim,
    Op::SealRoot,
    Op::DropCapabilities,
    Op::NoNewPrivileges,
    Op::Attest,
    Op::CloseDescriptors,
    Op::Exec,
];

/// The parts of a jail.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an operation of its own")]
pub(in crate::launch) struct JailSetup {
    pub(in crate::launch) common: Setup,
    has_namespaces: bool,
    forbids_nesting: bool,
    has_root: bool,
    has_broker: bool,
    refuses_creation: bool,
    has_landlock: bool,
    filter: Option<Filter>,
    leftovers: Option<Leftovers>,
    pub(in crate::launch) ports: Ports,
}

impl JailSetup {
    /// What these operations add up to.
    pub(in crate::launch) fn of(ops: &[Op]) -> Result<Self, Failure> {
        has_all(ops, &ALWAYS, Tier::Jail)?;
        let mut setup = Self {
            common: Setup::empty(),
            has_namespaces: false,
            forbids_nesting: false,
            has_root: false,
            has_broker: false,
            refuses_creation: false,
            has_landlock: false,
            filter: None,
            leftovers: None,
            ports: Ports::default(),
        };
        for op in ops {
            setup.add(op)?;
        }
        setup.common = setup.common.complete();
        Ok(setup)
    }

    fn add(&mut self, op: &Op) -> Result<(), Failure> {
        let common = &mut self.common;
        match op {
            Op::Survey(_)
            | Op::Shim
            | Op::SealRoot
            | Op::DropCapabilities
            | Op::NoNewPrivileges
            | Op::Attest
            | Op::CloseDescriptors
            | Op::Exec => {}
            Op::GuardOwn(own) => common.guard_own(own),
            Op::Unenforced(keep, origin, what) => common.leave_unenforced(*keep, *origin, what),
            Op::Environment(environment) => common.environment = Some(environment.clone()),
            Op::Namespaces(_) => self.has_namespaces = true,
            Op::Network(network) => common.network = Some(*network),
            Op::JoinSession { leftovers, network } => {
                (self.leftovers, common.network) = (Some(*leftovers), Some(*network));
            }
            Op::Publish(port) => self.ports.publish.push(*port),
            Op::HostPort(port) => self.ports.host.push(*port),
            Op::HostName(name) => common.host_name = Some(name),
            Op::ForbidNesting => self.forbids_nesting = true,
            Op::NewRoot => self.has_root = true,
            Op::Mount(mount) => common.mount(mount),
            Op::Hide(target) => common.keep(Keep::Hidden, target),
            Op::Protect(target) => common.keep(Keep::Protected, target),
            Op::Cgroup(limits) => common.cgroup = *limits,
            Op::Broker => self.has_broker = true,
            Op::RefuseCreation => self.refuses_creation = true,
            Op::Landlock => self.has_landlock = true,
            Op::Seccomp(filter) => self.filter = Some(*filter),
            Op::Rlimit(limit) => common.rlimit(*limit),
            Op::Watch(watch) => common.watch(*watch),
            Op::Scratch(_)
            | Op::Check(..)
            | Op::SignalScope { .. }
            | Op::Allow(_)
            | Op::Oci(_)
            | Op::Inline(_)
            | Op::CleanUp => return Err(misplaced(op, Tier::Jail)),
        }
        Ok(())
    }

    /// Whether its network is that of the session.
    pub(in crate::launch) fn shares_network(&self) -> bool {
        self.leftovers.is_some() && self.common.network == Some(Network::Loopback)
    }

    /// The session, if one was planned.
    fn session(&self, joined: Option<&JoinedCall>) -> Result<Option<InSession>, Failure> {
        let Some(planned) = self.leftovers else { return Ok(None) };
        let joined = joined
            .ok_or_else(|| Failure::new(FailureKind::UseSession, "the call has no session"))?;
        let leftovers = match planned {
            Leftovers::End => sandbox::Leftovers::End,
            Leftovers::Stay => sandbox::Leftovers::Stay,
        };
        let (space, pid_base) = (Arc::clone(&joined.space), joined.pid_base);
        Ok(Some(InSession { space, pid_base, leftovers }))
    }

    /// The sandbox for a program. A pool does not use the program and has no working directory for it.
    pub(super) fn jail(
        &self,
        program: &CStr,
        cover: &PathMasks,
        joined: Option<&JoinedCall>,
    ) -> Result<Jail, Failure> {
        let common = &self.common;
        let mut jail = Jail::new(program, c"/");
        jail.form = if self.has_namespaces { Form::Namespaces } else { Form::Unlocked };
        jail.nesting = if self.forbids_nesting { Nesting::Forbidden } else { Nesting::Allowed };
        jail.network = network(common.network);
        jail.host_name = super::root::c_path(common.host_name.unwrap_or_default().as_ref())?;
        // A sandbox that waits covers the files that were there when it was made.
        jail.stamp = cover.stamp();
        let mounts = mounts(common, cover)?;
        jail.sealed = git_folders(&mounts);
        jail.landlock = self.has_landlock.then(|| landlock(&mounts));
        if self.has_broker {
            jail.forbidden = broker::forbidden(&common.files, cover)?;
        }
        if self.refuses_creation {
            jail.refused = broker::refused(cover, &mounts, common.files.agent.as_ref())?;
        }
        jail.session = self.session(joined)?;
        jail.root = self.has_root.then_some(mounts);
        jail.filter = self.filter;
        jail.processes_max = common.limits.processes;
        Ok(jail)
    }
}

/// The folders of git among those that are pinned: once the program has ended they become read-only, because
/// git on the host replaces its configuration, which takes the cover away.
///
/// A repository may be kept under another name than `.git`: its configuration is protected all the same.
fn git_folders(mounts: &[Mount]) -> Vec<CString> {
    let configs = mounts.iter().filter_map(|mount| {
        if let Mount::Protect { target } = mount {
            target.to_bytes().strip_suffix(b"/config")
        } else {
            None
        }
    });
    let configured: Vec<&[u8]> = configs.collect();
    let is_git = |target: &CStr| {
        let mut names = target.to_bytes().split(|byte| *byte == b'/');
        names.any(|name| name == b".git") || configured.contains(&target.to_bytes())
    };
    let pinned = mounts.iter().filter_map(|mount| {
        if let Mount::Pin { target } = mount { Some(target.clone()) } else { None }
    });
    pinned.filter(|target| is_git(target)).collect()
}

/// What a sandbox has of the network; that of the machine, unless it was planned otherwise.
fn network(planned: Option<Network>) -> BoxNetwork {
    match planned {
        Some(Network::None) => BoxNetwork::None,
        Some(Network::Loopback) => BoxNetwork::Loopback,
        Some(Network::Host) | None => BoxNetwork::Host,
    }
}

#[cfg(test)]
mod tests;
