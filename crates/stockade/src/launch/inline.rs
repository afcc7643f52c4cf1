//! Closures of the host, applied: on a thread of their own, for no longer than their deadline.

use std::time::Instant;

use super::setup::{Setup, has_all, misplaced};
use crate::gate::InlineWork;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, Outcome, Usage};
use crate::output::CapturedOutput;
use crate::plan::InlinePlan;
use crate::plan::ops::{Inline, Op};
use crate::registry::{ClosureResult, run_closure};
use crate::tier::Tier;

/// Runs what was planned. Its value is on standard output, as that of any other tool.
pub(super) fn start(plan: InlinePlan) -> Result<Outcome, Failure> {
    let (work, description) = plan.into_parts();
    let limits = setup(&description.ops, Inline::Closure)?.limits;
    let InlineWork { closure, input, .. } = work;
    let started = Instant::now();
    let (exit, limit, stdout, stderr) = match run_closure(&closure, input, limits.wall) {
        ClosureResult::Value(value) => (Exit::Code(0), None, value.to_string(), String::new()),
        ClosureResult::Failed(why) => (Exit::Code(1), None, String::new(), why),
        ClosureResult::TooLate => {
            (Exit::Unknown, Some(LimitHit::Wall), String::new(), String::new())
        }
    };
    Ok(Outcome {
        exit,
        limit,
        stdout: captured(stdout, limits.output.as_len()),
        stderr: captured(stderr, limits.output.as_len()),
        usage: Usage { wall: started.elapsed(), ..Usage::default() },
        tier: Tier::Inline,
        enforcement: description.enforcement,
        denials: Vec::new(),
        changes: None,
        notes: Vec::new(),
        session: None,
        left_running: Vec::new(),
        is_unsealed: false,
    })
}

/// What the operations add up to, for one kind of work.
pub(super) fn setup(ops: &[Op], work: Inline) -> Result<Setup, Failure> {
    has_all(ops, &[Op::Inline(work)], Tier::Inline)?;
    let mut setup = Setup::empty();
    for op in ops {
        match op {
            Op::Inline(Inline::FileSize(most)) => setup.limits.file_size = Some(*most),
            Op::Inline(one) if *one == work => {}
            Op::Check(keep, target) => setup.keep(*keep, target),
            Op::Watch(watch) => setup.watch(*watch),
            Op::Survey(_)
            | Op::GuardOwn(_)
            | Op::Unenforced(..)
            | Op::Scratch(_)
            | Op::Environment(_)
            | Op::Shim
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
            | Op::SealRoot
            | Op::Cgroup(_)
            | Op::Broker
            | Op::RefuseCreation
            | Op::DropCapabilities
            | Op::NoNewPrivileges
            | Op::SignalScope { .. }
            | Op::Allow(_)
            | Op::Landlock
            | Op::Seccomp(_)
            | Op::Attest
            | Op::Rlimit(_)
            | Op::CloseDescriptors
            | Op::Exec
            | Op::Oci(_)
            | Op::Inline(_)
            | Op::CleanUp => return Err(misplaced(op, Tier::Inline)),
        }
    }
    Ok(setup.complete())
}

fn captured(text: String, most: usize) -> CapturedOutput {
    let mut bytes = text.into_bytes();
    let seen = bytes.len();
    bytes.truncate(most);
    let dropped = u64::try_from(seen.saturating_sub(bytes.len())).unwrap_or(u64::MAX);
    CapturedOutput { bytes, seen: u64::try_from(seen).unwrap_or(u64::MAX), dropped }
}
