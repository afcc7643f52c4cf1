//! A sandbox in which nothing runs: its init makes copies of it, each a sandbox of its own.
//!
//! A copy has a user namespace inside that of the template, so it cannot change the mounts that it
//! has from there; what sandboxes must not share, as `/tmp`, it makes anew.

use super::init;
use super::received_plan::ReceivedPlan;
use super::run::{At, CONTROL, StepError, report_failure};
use super::sys::{self, Errno, Fd, ForkSide, Poll};
use crate::protocol::kind;
use crate::protocol::step::Step;

const SUPERVISOR: Fd = CONTROL + 1;

/// Makes a sandbox for every plan that comes by the channel, until the host is gone. Returns a
/// failure before the first.
pub(crate) fn serve(plan: &ReceivedPlan, channel: Fd) -> StepError {
    if let Err(failed) = settle(plan, channel) {
        return failed;
    }
    loop {
        let mut fds = [Poll::input(CONTROL), Poll::input(SUPERVISOR)];
        let _retried = sys::poll(&mut fds, None);
        let [asked, gone] = fds.map(|fd| fd.revents != 0);
        if gone {
            sys::exit(0);
        }
        if asked {
            match ReceivedPlan::receive(CONTROL) {
                Ok(Some(copy)) => make_copy(copy),
                // An invalid plan may have left descriptors open: exit, and let the host make a new
                // template.
                Ok(None) | Err(_) => sys::exit(0),
            }
        }
    }
}

/// Keeps two descriptors and no capability, and tells the host that all is in place.
fn settle(plan: &ReceivedPlan, channel: Fd) -> Result<(), StepError> {
    let supervisor = plan.fd(plan.fixed.supervisor).ok_or(Errno::BADMSG).at(Step::ReadRequest)?;
    sys::locks::set_capabilities(0).at(Step::DropCapabilities)?;
    // Copies are reaped by the kernel.
    sys::ignore_children().at(Step::SetUpShim)?;
    // Neither is one of the two places: they are taken by the streams of the shim.
    sys::move_to(channel, CONTROL).at(Step::CloseDescriptors)?;
    sys::move_to(supervisor, SUPERVISOR).at(Step::CloseDescriptors)?;
    sys::close_from(SUPERVISOR + 1, 0).at(Step::CloseDescriptors)?;
    sys::set_name(c"stockade-pool");
    init::announce(CONTROL, kind::FORKED).at(Step::Announce)
}

fn make_copy(mut plan: ReceivedPlan) {
    match init::clone(&mut plan).at(Step::CloneBox) {
        Ok(ForkSide::Child) => init::be_first_in_child(&mut plan),
        // It waits for this processor as often as not.
        Ok(ForkSide::Parent(_)) => sys::step_aside(),
        // Report it on the channel of the copy, not on this one.
        Err(failed) => {
            let _unheard = plan.channel().map(|channel| report_failure(channel, failed));
        }
    }
    plan.forget();
}
