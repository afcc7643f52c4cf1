//! How a sandbox is made and entered: the order of everything, on one screen.
//!
//! Nothing here allocates or decides. The host has prepared everything; each line is a step with a
//! name, and the first that fails ends the launch.

use super::cgroups;
use super::exec::{
    clear_in_child, enter_by_path_in_child, enter_in_child, limit_in_child,
    place_own_null_in_child, place_streams_in_child, place_terminal_in_child,
};
use super::exec_channel;
use super::exec_request::ExecRequest;
use super::fault;
use super::ids;
use super::program;
use super::received_plan::ReceivedPlan;
use super::restrict;
use super::root;
use super::run::{At, StepError};
use super::sources;
use super::sys;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{new, option};
use crate::protocol::slot;
use crate::protocol::step::Step;

/// Makes the sandbox around its init.
pub(crate) fn make_box_in_child(plan: &mut ReceivedPlan) -> Result<(), StepError> {
    let namespaces = plan.fixed.namespaces;
    let has = |namespace| namespaces & namespace != 0;
    ids::map_in_child(plan).at(Step::MapIds)?;
    if has(new::UTS) && plan.fixed.host_name != 0 {
        sys::spaces::set_host_name(plan.text(plan.fixed.host_name)).at(Step::NameHost)?;
    }
    if has(new::NET) && plan.has(option::LOOPBACK) {
        sys::spaces::raise_loopback().at(Step::RaiseLoopback)?;
        // Where /proc/sys is read-only, as in a container, ports below 1024 stay closed.
        let _refused = sys::spaces::open_low_ports().is_err();
    }
    let locks_mounts = locks_mounts(plan);
    if plan.has(option::NO_NESTING) && !plan.leaves_out(Mechanism::NoNesting) {
        ids::forbid_nesting_in_child(u8::from(locks_mounts)).at(Step::ForbidNesting)?;
    }
    let own =
        if locks_mounts { sys::mounts::handle(c"/proc/self").at(Step::LockMounts)? } else { -1 };
    if plan.fixed.pid_base != 0 {
        // Where this is not allowed, ids of an earlier call may come again.
        let _refused = sys::spaces::begin_pids_after(plan.fixed.pid_base).is_err();
    }
    if plan.has(option::COPY) {
        root::renew_in_child(plan)?;
    } else if plan.fixed.base != 0 {
        sources::take_in_child(plan).at(Step::TakeSource)?;
        root::make_in_child(plan)?;
    }
    cgroups::join_in_child(plan).at(Step::JoinCgroups)?;
    if locks_mounts {
        leave_host_in_child(plan)?;
        ids::lock_mounts_in_child(own).at(Step::LockMounts)?;
        plan.has_locked_mounts = true;
    }
    Ok(())
}

/// Returns whether init locks its mounts. Copies of a template have those of the template locked.
fn locks_mounts(plan: &ReceivedPlan) -> bool {
    is_to_leave_host(plan)
        && !plan.has(option::TEMPLATE)
        && !plan.has(option::SESSION)
        && plan.fixed.namespaces & new::USER != 0
        && plan.fixed.namespaces & new::MOUNT != 0
        && !plan.leaves_out(Mechanism::LockedMounts)
}

/// Returns whether the host's folders are still in the sandbox: a copy of a template has never had
/// them.
pub(crate) const fn is_to_leave_host(plan: &ReceivedPlan) -> bool {
    plan.fixed.base != 0 && !plan.has(option::COPY) && !plan.has_locked_mounts
}

/// Takes the host's folders out of the sandbox. Nothing may run in it before.
pub(crate) fn leave_host_in_child(plan: &ReceivedPlan) -> Result<(), StepError> {
    if is_to_leave_host(plan) { root::leave_host_in_child() } else { Ok(()) }
}

/// Waits until they are gone.
pub(crate) fn await_leaving_in_child(plan: &ReceivedPlan) {
    if is_to_leave_host(plan) {
        root::await_leaving_in_child();
    }
}

/// Turns a process of the sandbox into the program that the host hands over. Returns only what went
/// wrong.
pub(crate) fn become_program_in_child(plan: &ReceivedPlan) -> StepError {
    let locked = sys::setsid().at(Step::OpenSession).and_then(|()| lock_in_child(plan));
    let program = locked.and_then(|seen| {
        let exec = exec_channel::await_request_in_child(plan, seen)?;
        take_on_in_child(&exec, plan).map(|program| (exec, program))
    });
    match program {
        // The exec channel closes on exec, which tells the host.
        Ok((exec, program)) => match exec_channel::close_in_child() {
            Ok(()) => program::execute_in_child(&exec, program),
            Err(failed) => failed,
        },
        Err(failed) => failed,
    }
}

/// Takes on what only this program has: its streams, its folder, its limits.
fn take_on_in_child(exec: &ExecRequest, plan: &ReceivedPlan) -> Result<sys::Fd, StepError> {
    place_streams_in_child(exec)?;
    if plan.has_namespaces() {
        place_own_null_in_child(exec).at(Step::PlaceStreams)?;
        let exec_channel = plan.fd(plan.fixed.exec_channel).unwrap_or(-1);
        place_terminal_in_child(exec, exec_channel).at(Step::OpenTerminal)?;
        enter_by_path_in_child(exec).at(Step::EnterDirectory)?;
    } else {
        enter_in_child(exec.fd(slot::CWD)).at(Step::EnterDirectory)?;
    }
    let program = program::find_in_child(exec).at(Step::FindProgram)?;
    if !plan.leaves_out(Mechanism::Rlimits) {
        limit_in_child(exec)?;
    }
    clear_in_child()?;
    fault::leak_in_child(exec, &plan.fixed).at(Step::CloseDescriptors)?;
    Ok(program)
}

/// Without a sandbox: the same in the order of a program that is known, and gives it to be
/// executed.
pub(crate) fn lock_alone_in_child(
    exec: &ExecRequest,
    plan: &ReceivedPlan,
) -> Result<sys::Fd, StepError> {
    cgroups::join_in_child(plan).at(Step::JoinCgroups)?;
    let program = take_on_in_child(exec, plan)?;
    if !plan.has(option::UNLOCKED) {
        let seen = lock_in_child(plan)?;
        exec_channel::await_leave_in_child(plan, seen)?;
    }
    Ok(program)
}

/// Puts every lock on.
fn lock_in_child(plan: &ReceivedPlan) -> Result<restrict::SelfTests, StepError> {
    if plan.leaves_out(Mechanism::NoCapabilities) {
        sys::locks::hand_on_capabilities().at(Step::DropCapabilities)?;
    } else {
        restrict::drop_capabilities_in_child(plan).at(Step::DropCapabilities)?;
    }
    if !plan.leaves_out(Mechanism::NoNewPrivileges) {
        restrict::refuse_privileges_in_child()?;
    }
    let landlock = restrict::restrict_files_in_child(plan)?;
    // Last, because it refuses some of what was done above.
    if !plan.has_namespaces() && !plan.leaves_out(Mechanism::Filter) {
        // A limit on time kills as a signal does, and every process of the user is in reach.
        sys::locks::refuse_limiting_others().at(Step::FilterCalls)?;
    }
    let broker = restrict::filter_calls_in_child(plan)?;
    Ok(restrict::SelfTests { landlock, broker })
}
