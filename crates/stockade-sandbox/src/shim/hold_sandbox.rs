//! The shim of a sandbox: it makes init, is its parent, and outlives it by little.
//!
//! Init itself reports what happens in the sandbox.

use super::received_plan::ReceivedPlan;
use super::run::{At, CONTROL, StepError, fail};
use super::sys::{self, Errno, Fd, ForkSide, Pid, Poll, sig};
use super::{ids, init, session, sources};
use crate::protocol::step::Step;

/// Makes the sandbox for the plan that comes next, and holds it until it or the host is gone.
pub(crate) fn run(supervisor: Fd) -> Result<(), StepError> {
    let Some(mut plan) = ReceivedPlan::receive(CONTROL)? else { return Ok(()) };
    let channel = plan.channel().at(Step::ReadRequest)?;
    let children = sys::child_signals().at(Step::SetUpShim);
    let first = children.and_then(|children| Ok((children, clone_first(&mut plan)?)));
    match first {
        Ok((children, first)) => {
            // It may wait for this processor.
            sys::step_aside();
            plan.forget();
            hold(first, supervisor, children)
        }
        // Report the failure on the sandbox's own channel.
        Err(failed) => fail(channel, failed),
    }
}

/// Clones the init of a sandbox.
fn clone_first(plan: &mut ReceivedPlan) -> Result<Pid, StepError> {
    // Init shall not hold them.
    sources::take_as_root(plan)?.let_go();
    ids::change_user(plan)?;
    session::enter(plan)?;
    match init::clone(plan).at(Step::CloneBox)? {
        ForkSide::Child => init::be_first_in_child(plan),
        ForkSide::Parent(first) => Ok(first),
    }
}

/// Waits for init to end. A host that goes away takes it along.
fn hold(first: Pid, supervisor: Fd, children: Fd) -> Result<(), StepError> {
    // Init has all that it needs; whatever fails here ends the sandbox with this process.
    sys::locks::set_capabilities(0).at(Step::ChangeUser)?;
    loop {
        let mut fds = [Poll::input(CONTROL), Poll::input(supervisor), Poll::input(children)];
        // Every signal is blocked, so polling fails for lack of kernel memory at worst.
        let _retried = sys::poll(&mut fds, None);
        let [control, gone, ended] = fds.map(|fd| fd.revents != 0);
        if control || gone {
            kill(first);
            return Ok(());
        }
        if ended && has_ended(first, children) {
            return Ok(());
        }
    }
}

/// Reaps what has ended, and says whether init is among it: there was a child before.
fn has_ended(first: Pid, children: Fd) -> bool {
    let mut information = [0; 128];
    let _taken = sys::read(children, &mut information);
    loop {
        match sys::reap() {
            Ok(None) => return false,
            Ok(Some(other)) if other.0 != first => {}
            Ok(Some(_)) => return true,
            Err(errno) => return errno != Errno::INTR,
        }
    }
}

/// Kills init, and with it all that is in its sandbox.
fn kill(first: Pid) {
    let _dead = sys::kill(first, sig::KILL);
    while is_other(sys::reap_next(), first) {}
}

/// Returns whether something else was reaped, so that it must be tried again.
fn is_other(reaped: sys::Result<(Pid, i32)>, first: Pid) -> bool {
    match reaped {
        Ok((pid, _)) => pid != first,
        Err(errno) => errno == Errno::INTR,
    }
}
