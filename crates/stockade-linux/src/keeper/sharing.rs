//! The program's process while it is still ours: it shares the memory of the box's first process,
//! which waits for it, and so costs no copy of it.
//!
//! What it leaves in that memory is cleared away when there is time: its stack, and the arguments and
//! the environment of the program.

use core::ffi::c_void;

use super::boxed::option;
use super::cell::Cell;
use super::gate;
use super::job;
use super::step::Step;
use super::sys::{self, Fd, Left, Sharer, pr};
use super::watch::{At, Failed, tell};
use super::wire::{Report, kind};
use super::{apply, first};

/// Starts the program's process, and waits until it has executed the program or failed. While it puts
/// its locks on, the host's folders go, and the host is told: until then it lets no program in.
pub(crate) fn start(cell: &Cell, line: Fd) -> Result<Left, Failed> {
    // The host may not look at the namespaces of a process that is not dumpable, which is a property
    // of the memory. Nothing else runs in the box, and the program's process takes it back in time.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::Fork)?;
    let argument = core::ptr::from_ref(cell).cast();
    // SAFETY: the entry ends in an execution or an exit, uses what it is given while this frame waits,
    // or this process ends and all with it, and writes nothing else but its own stack.
    let started = unsafe { Sharer::start(0, be_program, argument) }.at(Step::Fork)?;
    // The gate is the program's process's alone, so that the host hears of the execution, which closes it,
    // while this process has to wait for the processor. That of a copy may be the host's own, which would
    // get in the way of the program.
    if !cell.has(option::COPY)
        && let Some(gate) = cell.fd(cell.plan.gate)
    {
        sys::close(gate);
    }
    if let Err(failed) = show(cell, line) {
        tell(line, failed);
    }
    let program = started.await_leaving();
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::Fork)?;
    Ok(program)
}

/// Clears away what it left.
pub(crate) fn clear_away(left: Left) {
    left.give_back();
    job::forget_strings();
}

/// Says that there is a box, and leaves the host, if it has not: the host looks at all but the mounts
/// meanwhile.
fn show(cell: &Cell, line: Fd) -> Result<(), Failed> {
    if !apply::is_to_leave_host(cell) {
        return first::announce(line, kind::FORKED).at(Step::Announce);
    }
    first::announce(line, kind::LEAVING).at(Step::Announce)?;
    apply::leave_host_in_child(cell)?;
    let left = Report { kind: kind::LEFT, ..Report::default() };
    sys::send(line, &left, None).at(Step::Announce)
}

extern "C" fn be_program(cell: *const c_void) -> ! {
    // SAFETY: `start` gives a reference to such a value, and waits.
    let cell = unsafe { &*cell.cast::<Cell>() };
    gate::fail_in_child(cell, apply::become_program_in_child(cell))
}
