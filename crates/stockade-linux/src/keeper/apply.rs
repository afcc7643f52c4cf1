//! How a box is made and entered: the order of everything, on one screen.
//!
//! Nothing here allocates or decides. What is needed was prepared by the host; each line is a step
//! with a name, and the first that fails ends the launch.

use core::sync::atomic::Ordering;

use super::boxed::{new, option};
use super::cell::Cell;
use super::cgroups;
use super::child::{clear_in_child, limit_in_child, place_streams_in_child};
use super::gate;
use super::ids;
use super::job::Job;
use super::locks;
use super::mechanism::Mechanism;
use super::program;
use super::root;
use super::sources;
use super::step::Step;
use super::sys;
use super::watch::{At, Failed};

/// Makes the box around its first process.
pub(crate) fn make_box_in_child(cell: &mut Cell) -> Result<(), Failed> {
    let namespaces = cell.plan.namespaces;
    let has = |namespace| namespaces & namespace != 0;
    ids::map_in_child(cell).at(Step::MapIds)?;
    cgroups::join_in_child(cell).at(Step::JoinCgroups)?;
    if has(new::UTS) && cell.plan.host_name != 0 {
        sys::spaces::set_host_name(cell.text(cell.plan.host_name)).at(Step::NameHost)?;
    }
    if has(new::NET) && cell.plan.options & option::LOOPBACK != 0 {
        sys::spaces::raise_loopback().at(Step::RaiseLoopback)?;
    }
    let no_nesting = cell.plan.options & option::NO_NESTING != 0;
    if no_nesting && !cell.leaves_out(Mechanism::NoNesting) {
        ids::forbid_nesting_in_child().at(Step::ForbidNesting)?;
    }
    if cell.plan.base != 0 {
        sources::take_in_child(cell).at(Step::TakeSource)?;
        root::make_in_child(cell)?;
    }
    Ok(())
}

/// Turns a process of the box into the program. Returns only what went wrong.
pub(crate) fn become_program_in_child(job: &Job, cell: &Cell) -> Failed {
    let locked = sys::setsid().at(Step::OpenSession).and_then(|()| lock_in_child(job, cell));
    match locked {
        Ok(program) => {
            cell.ending.executing.store(1, Ordering::Release);
            program::execute_in_child(job, program)
        }
        Err(failed) => failed,
    }
}

/// Puts every lock on, in a box or without one, and gives the program to be executed.
pub(crate) fn lock_in_child(job: &Job, cell: &Cell) -> Result<sys::Fd, Failed> {
    if !cell.has_namespaces() {
        cgroups::join_in_child(cell).at(Step::JoinCgroups)?;
    }
    place_streams_in_child(job)?;
    sys::mounts::chdir(cell.text(cell.plan.cwd)).at(Step::EnterDirectory)?;
    let program = program::find_in_child(job, cell).at(Step::FindProgram)?;
    limit_in_child(job)?;
    if !cell.leaves_out(Mechanism::NoCapabilities) {
        locks::drop_capabilities_in_child(cell).at(Step::DropCapabilities)?;
    }
    if !cell.leaves_out(Mechanism::NoNewPrivileges) {
        locks::refuse_privileges_in_child()?;
    }
    let seen = locks::restrict_files_in_child(cell)?;
    clear_in_child()?;
    // Last, because it refuses some of what was done above.
    if !cell.leaves_out(Mechanism::Filter) {
        locks::filter_calls_in_child(cell).at(Step::FilterCalls)?;
    }
    gate::wait_in_child(cell, seen).at(Step::AwaitRelease)?;
    Ok(program)
}
