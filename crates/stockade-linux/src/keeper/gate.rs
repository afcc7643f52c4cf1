//! Holds the program until the host has looked at it from outside.

use super::boxed::gate;
use super::cell::Cell;
use super::job::Job;
use super::locks::{Seen, Tested};
use super::step::Step;
use super::sys::{self, Errno, Fd, pr};
use super::watch::{At, Failed};
use super::wire::{Failure, Plain};

/// In a box: tells the host that everything is in place, and waits for the program.
pub(crate) fn await_job_in_child(cell: &Cell, tested: Tested) -> Result<Job, Failed> {
    let gate = cell.fd(cell.plan.gate).ok_or(Errno::BADMSG).at(Step::AwaitRelease)?;
    show_in_child(gate, tested).at(Step::AwaitRelease)?;
    Job::receive_at(gate)
}

/// In a box: the host has looked, and nobody in the box shall look at this memory, which the first
/// process goes on with. The program's own is another.
pub(crate) fn close_in_child() -> Result<(), Failed> {
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::AwaitRelease)
}

/// In a box: tells the host what went wrong.
pub(crate) fn fail_in_child(cell: &Cell, Failed { step, errno }: Failed) -> ! {
    let told = cell.fd(cell.plan.gate).ok_or(Errno::BADMSG);
    let told = told.and_then(|gate| say(gate, step.number(), errno.0));
    sys::exit(if told.is_ok() { 127 } else { 126 })
}

/// Without a box: the same, and waits for leave.
pub(crate) fn await_leave_in_child(cell: &Cell, tested: Tested) -> Result<(), Failed> {
    let Some(gate) = cell.fd(cell.plan.gate) else { return Ok(()) };
    show_in_child(gate, tested).at(Step::AwaitRelease)?;
    await_word_in_child(gate)
}

fn await_word_in_child(gate: Fd) -> Result<(), Failed> {
    let mut answer = Failure::default();
    let heard = match sys::read(gate, answer.bytes_mut()) {
        Ok(_) if answer.step == gate::GO => Ok(()),
        Ok(_) => Err(Errno::CANCELED),
        Err(errno) => Err(errno),
    };
    heard.at(Step::AwaitRelease)
}

fn show_in_child(gate: Fd, tested: Tested) -> sys::Result<()> {
    // The host may not look at the namespaces of a process that is not dumpable. This one has
    // nothing to hide, nothing else runs in the box, and execution would set it anyway.
    sys::prctl(pr::SET_DUMPABLE, 1)?;
    let word = match tested.landlock {
        Seen::Refusing => gate::READY_LANDLOCKED,
        Seen::Nothing => gate::READY,
    };
    let broker = match tested.broker {
        Seen::Refusing => gate::BROKER_REFUSES,
        Seen::Nothing => 0,
    };
    say(gate, word, broker)
}

fn say(gate: Fd, word: u32, errno: i32) -> sys::Result<()> {
    sys::send(gate, &Failure { step: word, errno }, None)
}
