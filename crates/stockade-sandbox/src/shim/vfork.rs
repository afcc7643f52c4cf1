//! The program's process while it is still ours: it shares the memory of the sandbox's init,
//! which waits for it, and so costs no copy of it.
//!
//! Its stack and the arguments and environment of the program stay in that memory; they are freed
//! when there is time.

use core::ffi::c_void;

use super::exec_channel;
use super::exec_request;
use super::received_plan::ReceivedPlan;
use super::run::{At, StepError, fail};
use super::sys::{self, Fd, Leftover, SharedChild, pr};
use super::{apply, init};
use crate::protocol::plan::option;
use crate::protocol::step::Step;
use crate::protocol::{Report, kind};

/// Starts the program's process, and waits until it has executed the program or failed. While that
/// process puts its locks on, init unmounts the host's folders and reports it; the host sends no
/// program before.
pub(crate) fn start(plan: &ReceivedPlan, channel: Fd) -> Result<Leftover, StepError> {
    // The host may not read the namespaces of a process that is not dumpable, which is a property
    // of the memory. Nothing else runs in the sandbox, and the program's process clears it in time.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::Fork)?;
    let argument = core::ptr::from_ref(plan).cast();
    // SAFETY: the entry ends in an execution or an exit, uses what it is given while this frame waits,
    // or this process ends and all with it, and writes nothing else but its own stack.
    let started = unsafe { SharedChild::start(shared_with_program(plan), be_program, argument) };
    let started = started.at(Step::Fork)?;
    // Only the program's process keeps the exec channel, so that its exec closes the channel and
    // the host learns of it while this process waits for a CPU. In a copy this process may share
    // the host's CPU and would delay the program.
    if !plan.has(option::COPY)
        && let Some(exec_channel) = plan.fd(plan.fixed.exec_channel)
    {
        sys::close(exec_channel);
    }
    if let Err(failed) = show(plan, channel) {
        fail(channel, failed);
    }
    let program = started.await_leaving();
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::Fork)?;
    Ok(program)
}

/// Init shares its working directory with a program whose last one the host wants to know. Nothing in
/// init depends on the directory or on the mask for new files.
fn shared_with_program(plan: &ReceivedPlan) -> u64 {
    if plan.has(option::REPORTS_FOLDER) { CLONE_FS } else { 0 }
}

/// `CLONE_FS` of `linux/sched.h`.
const CLONE_FS: u64 = 0x200;

/// Clears away what it left.
pub(crate) fn clear_away(left: Leftover) {
    left.give_back();
    exec_request::forget_strings();
}

/// Announces the sandbox, and unmounts the host's root if needed: the host attests everything but
/// the mounts meanwhile.
fn show(plan: &ReceivedPlan, channel: Fd) -> Result<(), StepError> {
    if !apply::is_to_leave_host(plan) {
        return init::announce(channel, kind::FORKED).at(Step::Announce);
    }
    init::announce(channel, kind::LEAVING).at(Step::Announce)?;
    apply::leave_host_in_child(plan)?;
    let left = Report { kind: kind::LEFT, ..Report::default() };
    sys::send(channel, &left, None).at(Step::Announce)
}

extern "C" fn be_program(plan: *const c_void) -> ! {
    // SAFETY: `start` gives a reference to such a value, and waits.
    let plan = unsafe { &*plan.cast::<ReceivedPlan>() };
    exec_channel::fail_in_child(plan, apply::become_program_in_child(plan))
}
