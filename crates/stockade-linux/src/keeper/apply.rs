//! How a box is made and entered: the order of everything, on one screen.
//!
//! Nothing here allocates or decides. What is needed was prepared by the host; each line is a step
//! with a name, and the first that fails ends the launch.

use super::boxed::{new, option};
use super::cell::Cell;
use super::cgroups;
use super::child::{
    clear_in_child, enter_by_path_in_child, enter_in_child, limit_in_child,
    place_own_null_in_child, place_streams_in_child,
};
use super::gate;
use super::ids;
use super::job::Job;
use super::locks;
use super::mechanism::Mechanism;
use super::program;
use super::root;
use super::sabotage;
use super::sources;
use super::step::Step;
use super::sys;
use super::watch::{At, Failed};
use super::wire::slot;

/// Makes the box around its first process.
pub(crate) fn make_box_in_child(cell: &mut Cell) -> Result<(), Failed> {
    let namespaces = cell.plan.namespaces;
    let has = |namespace| namespaces & namespace != 0;
    ids::map_in_child(cell).at(Step::MapIds)?;
    if has(new::UTS) && cell.plan.host_name != 0 {
        sys::spaces::set_host_name(cell.text(cell.plan.host_name)).at(Step::NameHost)?;
    }
    if has(new::NET) && cell.has(option::LOOPBACK) {
        sys::spaces::raise_loopback().at(Step::RaiseLoopback)?;
    }
    if cell.has(option::NO_NESTING) && !cell.leaves_out(Mechanism::NoNesting) {
        ids::forbid_nesting_in_child().at(Step::ForbidNesting)?;
    }
    if cell.has(option::COPY) {
        root::renew_in_child(cell)?;
    } else if cell.plan.base != 0 {
        sources::take_in_child(cell).at(Step::TakeSource)?;
        root::make_in_child(cell)?;
    }
    cgroups::join_in_child(cell).at(Step::JoinCgroups)
}

/// Whether the host's folders are still in the box: a copy of a template has never had them.
pub(crate) const fn is_to_leave_host(cell: &Cell) -> bool {
    cell.plan.base != 0 && !cell.has(option::COPY)
}

/// Takes the host's folders out of the box. Nothing may run in it before.
pub(crate) fn leave_host_in_child(cell: &Cell) -> Result<(), Failed> {
    if is_to_leave_host(cell) { root::leave_host_in_child() } else { Ok(()) }
}

/// Waits until they are gone.
pub(crate) fn await_leaving_in_child(cell: &Cell) {
    if is_to_leave_host(cell) {
        root::await_leaving_in_child();
    }
}

/// Turns a process of the box into the program that the host hands over. Returns only what went
/// wrong.
pub(crate) fn become_program_in_child(cell: &Cell) -> Failed {
    let locked = sys::setsid().at(Step::OpenSession).and_then(|()| lock_in_child(cell));
    let program = locked.and_then(|seen| {
        let job = gate::await_job_in_child(cell, seen)?;
        take_on_in_child(&job, cell).map(|program| (job, program))
    });
    match program {
        // The gate closes with the execution, which tells the host.
        Ok((job, program)) => match gate::close_in_child() {
            Ok(()) => program::execute_in_child(&job, program),
            Err(failed) => failed,
        },
        Err(failed) => failed,
    }
}

/// Takes on what only this program has: its streams, its folder, its limits.
fn take_on_in_child(job: &Job, cell: &Cell) -> Result<sys::Fd, Failed> {
    place_streams_in_child(job)?;
    if cell.has_namespaces() {
        place_own_null_in_child(job).at(Step::PlaceStreams)?;
        enter_by_path_in_child(job).at(Step::EnterDirectory)?;
    } else {
        enter_in_child(job.fd(slot::CWD)).at(Step::EnterDirectory)?;
    }
    let program = program::find_in_child(job).at(Step::FindProgram)?;
    if !cell.leaves_out(Mechanism::Rlimits) {
        limit_in_child(job)?;
    }
    clear_in_child()?;
    sabotage::leak_in_child(job, &cell.plan).at(Step::CloseDescriptors)?;
    Ok(program)
}

/// Without a box: the same in the order of a program that is known, and gives it to be executed.
pub(crate) fn lock_alone_in_child(job: &Job, cell: &Cell) -> Result<sys::Fd, Failed> {
    cgroups::join_in_child(cell).at(Step::JoinCgroups)?;
    let program = take_on_in_child(job, cell)?;
    if !cell.has(option::UNLOCKED) {
        let seen = lock_in_child(cell)?;
        gate::await_leave_in_child(cell, seen)?;
    }
    Ok(program)
}

/// Puts every lock on.
fn lock_in_child(cell: &Cell) -> Result<locks::Tested, Failed> {
    if cell.leaves_out(Mechanism::NoCapabilities) {
        sys::locks::hand_on_capabilities().at(Step::DropCapabilities)?;
    } else {
        locks::drop_capabilities_in_child(cell).at(Step::DropCapabilities)?;
    }
    if !cell.leaves_out(Mechanism::NoNewPrivileges) {
        locks::refuse_privileges_in_child()?;
    }
    let landlock = locks::restrict_files_in_child(cell)?;
    // Last, because it refuses some of what was done above.
    if !cell.has_namespaces() && !cell.leaves_out(Mechanism::Filter) {
        // A limit on time kills as a signal does, and every process of the user is in reach.
        sys::locks::refuse_limiting_others().at(Step::FilterCalls)?;
    }
    let broker = locks::filter_calls_in_child(cell)?;
    Ok(locks::Tested { landlock, broker })
}
