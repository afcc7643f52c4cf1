//! How the program's process hands over its listener, and sees the broker refuse a name.

use super::super::received_plan::ReceivedPlan;
use super::super::restrict::SelfTest;
use super::super::run::{At, StepError};
use super::super::sys::{self, Errno, Fd, mounts, pr};
use crate::protocol::Failure;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::step::Step;

/// A name at the root of the sandbox that nobody may make. Without the broker the root is
/// read-only, which is another error.
pub(super) const NAME: &[u8] = b".stockade-name";

/// Sends the listener to init.
pub(crate) fn send_listener_in_child(plan: &ReceivedPlan, listener: Fd) -> sys::Result<()> {
    let sent = sys::send(plan.listener_channel, &Failure::default(), Some(listener));
    sys::close(listener);
    sent
}

/// Sends the listener to init, and tries to make a name that must be refused.
pub(crate) fn see_it_refuse_in_child(
    plan: &ReceivedPlan,
    listener: Fd,
) -> Result<SelfTest, StepError> {
    send_listener_in_child(plan, listener).at(Step::TestBroker)?;
    // The broker may not read the memory of a process that is not dumpable. This one has nothing
    // to hide, nothing else runs in the sandbox, and execution would set it anyway.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::TestBroker)?;
    match mounts::make_folder(sys::AT_FDCWD, c"/.stockade-name", 0o700) {
        Err(Errno::ACCES) => Ok(SelfTest::Refusing).at(Step::TestBroker),
        _ if plan.leaves_out(Mechanism::Broker) => Ok(SelfTest::Nothing),
        Ok(()) => Err(StepError { step: Step::TestBroker, errno: Errno::INVAL }),
        Err(errno) => Err(StepError { step: Step::TestBroker, errno }),
    }
}
