//! Holds the program until the host has attested its sandbox.

use super::exec_request::ExecRequest;
use super::received_plan::ReceivedPlan;
use super::restrict::{SelfTest, SelfTests};
use super::run::{At, StepError};
use super::sys::{self, Errno, Fd, pr};
use crate::protocol::plan::exec_channel;
use crate::protocol::step::Step;
use crate::protocol::{Failure, Plain};

/// In a sandbox: tells the host that everything is in place, and waits for the program.
pub(crate) fn await_request_in_child(
    plan: &ReceivedPlan,
    tested: SelfTests,
) -> Result<ExecRequest, StepError> {
    let exec_channel =
        plan.fd(plan.fixed.exec_channel).ok_or(Errno::BADMSG).at(Step::AwaitRelease)?;
    show_in_child(exec_channel, tested).at(Step::AwaitRelease)?;
    ExecRequest::receive_at(exec_channel)
}

/// In a sandbox: attestation is done, and no process of the sandbox may read this memory, which
/// init goes on using. The program gets memory of its own.
pub(crate) fn close_in_child() -> Result<(), StepError> {
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::AwaitRelease)
}

/// In a sandbox: tells the host what went wrong.
pub(crate) fn fail_in_child(plan: &ReceivedPlan, StepError { step, errno }: StepError) -> ! {
    let told = plan.fd(plan.fixed.exec_channel).ok_or(Errno::BADMSG);
    let told = told.and_then(|exec_channel| say(exec_channel, step.number(), errno.0));
    sys::exit(if told.is_ok() { 127 } else { 126 })
}

/// Without a sandbox: the same, and waits for leave.
pub(crate) fn await_leave_in_child(
    plan: &ReceivedPlan,
    tested: SelfTests,
) -> Result<(), StepError> {
    let Some(exec_channel) = plan.fd(plan.fixed.exec_channel) else { return Ok(()) };
    show_in_child(exec_channel, tested).at(Step::AwaitRelease)?;
    await_word_in_child(exec_channel)
}

fn await_word_in_child(exec_channel: Fd) -> Result<(), StepError> {
    let mut answer = Failure::default();
    let heard = match sys::read(exec_channel, answer.bytes_mut()) {
        Ok(_) if answer.step == exec_channel::GO => Ok(()),
        Ok(_) => Err(Errno::CANCELED),
        Err(errno) => Err(errno),
    };
    heard.at(Step::AwaitRelease)
}

fn show_in_child(exec_channel: Fd, tested: SelfTests) -> sys::Result<()> {
    // The host may not read the namespaces of a process that is not dumpable. This one has nothing
    // to hide, nothing else runs in the sandbox, and exec would set it anyway.
    sys::prctl(pr::SET_DUMPABLE, 1)?;
    let word = match tested.landlock {
        SelfTest::Refusing => exec_channel::READY_LANDLOCKED,
        SelfTest::Nothing => exec_channel::READY,
    };
    let broker = match tested.broker {
        SelfTest::Refusing => exec_channel::BROKER_REFUSES,
        SelfTest::Nothing => 0,
    };
    say(exec_channel, word, broker)
}

fn say(exec_channel: Fd, word: u32, errno: i32) -> sys::Result<()> {
    sys::send(exec_channel, &Failure { step: word, errno }, None)
}
