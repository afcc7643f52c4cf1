//! The `process` tier, applied.

use std::time::Instant;

use super::git::GitSettings;
use super::run::{Guards, SupervisedRun};
use super::setup::{Setup, has_all, make_scratch, misplaced};
use super::spec::{added, input, not_started, spec};
use super::tree::ProgramTree;
use crate::outcome::Failure;
use crate::plan::ops::Op;
use crate::plan::{Parts, ProgramPlan};
use crate::tier::Tier;

/// What the shim does for every program.
const ALWAYS: [Op; 5] =
    [Op::Shim, Op::NoNewPrivileges, Op::CloseDescriptors, Op::Exec, Op::CleanUp];

/// Carries out the plan.
pub(super) fn start(plan: ProgramPlan) -> Result<SupervisedRun, Failure> {
    let Parts { cleared, description, terms, .. } = plan.into_parts();
    let setup = setup(&description.ops)?;
    let scratch = make_scratch(&setup)?;
    let spec = spec(&cleared, added(&setup, Some(scratch.path()), &GitSettings::default(), None)?)?;
    let is_scoped = spec.signal_scope.is_some();
    let input = input(cleared);
    let started = Instant::now();
    let running = stockade_sandbox::start(spec).map_err(not_started)?;
    Ok(SupervisedRun {
        tree: ProgramTree::of_process(running, is_scoped),
        scratch: Some(scratch),
        started,
        input,
        limits: setup.limits,
        hints: terms.hints,
        tier: Tier::Process,
        enforcement: description.enforcement,
        guards: Guards::default(),
        before: None,
        joined: None,
        ports: None,
    })
}

/// What the operations add up to.
pub(super) fn setup(ops: &[Op]) -> Result<Setup, Failure> {
    has_all(ops, &ALWAYS, Tier::Process)?;
    let mut setup = Setup::empty();
    for op in ops {
        match op {
            Op::Survey(_)
            | Op::Shim
            | Op::NoNewPrivileges
            | Op::CloseDescriptors
            | Op::Exec
            | Op::CleanUp => {}
            Op::Scratch(scratch) => setup.scratch = Some(scratch.clone()),
            Op::Environment(environment) => setup.environment = Some(environment.clone()),
            Op::Rlimit(limit) => setup.rlimit(*limit),
            Op::SignalScope { .. } => setup.signal_scope = true,
            Op::Watch(watch) => setup.watch(*watch),
            Op::GuardOwn(_)
            | Op::Unenforced(..)
            | Op::Namespaces(_)
            | Op::Network(_)
            | Op::JoinSession { .. }
            | Op::Publish(_)
            | Op::HostPort(_)
            | Op::HostName(_)
            | Op::ForbidNesting
            | Op::NewRoot
            | Op::Mount(_)
            | Op::Hide(_)
            | Op::Protect(_)
            | Op::Check(..)
            | Op::SealRoot
            | Op::Cgroup(_)
            | Op::Broker
            | Op::RefuseCreation
            | Op::DropCapabilities
            | Op::Allow(_)
            | Op::Landlock
            | Op::Seccomp(_)
            | Op::Attest
            | Op::Oci(_)
            | Op::Inline(_) => return Err(misplaced(op, Tier::Process)),
        }
    }
    Ok(setup.complete())
}

#[cfg(test)]
mod tests;
