//! What a test build breaks on purpose: a step that fails, a mechanism that is left out.
//!
//! Without the feature `sabotage` these functions are constant, and nothing can be broken.

use core::sync::atomic::{AtomicU32, Ordering};

use super::boxed::Plan;
use super::job::Job;
use super::mechanism::Mechanism;
use super::step::Step;
use super::sys;

/// Whether this build obeys tests that break something.
pub(crate) const OBEYS: bool = cfg!(feature = "sabotage");

/// The step that fails, its number plus one, or zero.
static FAIL_AT: AtomicU32 = AtomicU32::new(0);

/// Takes the order of a test.
pub(crate) fn obey(plan: &Plan) {
    if OBEYS {
        FAIL_AT.store(plan.fail_at, Ordering::Relaxed);
    }
}

/// Whether a test wants this step to fail, although it did not.
pub(crate) fn fails(step: Step) -> bool {
    OBEYS && FAIL_AT.load(Ordering::Relaxed) == step.number().wrapping_add(1)
}

/// Whether a test wants this mechanism left out.
pub(crate) fn leaves_out(plan: &Plan, mechanism: Mechanism) -> bool {
    OBEYS && plan.left_out & mechanism.bit() != 0
}

/// Lets the program inherit the host's folder, where a test wants descriptors left open.
pub(crate) fn leak_in_child(job: &Job, plan: &Plan) -> sys::Result<()> {
    const LEAKED: sys::Fd = 50;
    if leaves_out(plan, Mechanism::ClosedDescriptors) {
        sys::dup3(job.last(), LEAKED)?;
    }
    Ok(())
}
