//! The program's process while it is still ours: it shares the memory of the box's first process,
//! which waits for it, and so costs no copy of it.
//!
//! What it leaves in that memory is cleared away before the first process goes on: the arguments and
//! the environment of the program are no business of anybody else.

use super::cell::Cell;
use super::gate;
use super::job;
use super::step::Step;
use super::sys::{self, Fd, Pid, pr};
use super::watch::{At, Failed};
use super::{apply, first};

const STACK_BYTES: usize = 64 << 10;

/// What the process is given.
struct Given<'a> {
    cell: &'a Cell,
    line: Fd,
}

/// Starts the program's process, and waits until it has executed the program or failed.
pub(crate) fn start(cell: &Cell, line: Fd) -> Result<Pid, Failed> {
    let stack = sys::map(None, STACK_BYTES).at(Step::Fork)?.cast::<u8>();
    let given = Given { cell, line };
    // The host may not look at the namespaces of a process that is not dumpable, which is a property
    // of the memory. Nothing else runs in the box, and the program's process takes it back in time.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::Fork)?;
    let argument = core::ptr::from_ref(&given).cast();
    let end = stack.wrapping_add(STACK_BYTES);
    // SAFETY: the entry ends in an execution or an exit, uses what it is given while this frame waits,
    // and writes nothing else but its own stack, which was mapped just now, page-aligned.
    let started = unsafe { sys::spaces::start_sharing(be_program, argument, end) };
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::Fork)?;
    job::forget_strings();
    // SAFETY: nobody is left who uses the stack.
    sys::unmap(unsafe { core::slice::from_raw_parts(stack, STACK_BYTES) });
    started.at(Step::Fork)
}

#[expect(clippy::cast_ptr_alignment, reason = "the pointer was made from such a value")]
extern "C" fn be_program(given: *const u8) -> ! {
    // SAFETY: `start` gives a reference to such a value, and waits.
    let Given { cell, line } = unsafe { &*given.cast::<Given<'_>>() };
    if let Err(failed) = first::announce(*line, sys::getppid()).at(Step::Announce) {
        gate::fail_in_child(cell, failed);
    }
    gate::fail_in_child(cell, apply::become_program_in_child(cell))
}
