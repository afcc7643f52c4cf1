//! A box in which nothing runs: its first process makes copies of it, each a box of its own.
//!
//! A copy has a user namespace inside that of the template, so it cannot change the mounts that it
//! has from there; what boxes must not share, as `/tmp`, it makes anew.

use super::cell::Cell;
use super::first;
use super::step::Step;
use super::sys::{self, Errno, Fd, Forked, Poll};
use super::watch::{At, CONTROL, Failed, report_failure};
use super::wire::kind;

const SUPERVISOR: Fd = CONTROL + 1;

/// Makes a box for every plan that comes by the line, until the host is gone. Returns what went
/// wrong before the first.
pub(crate) fn serve(cell: &Cell, line: Fd) -> Failed {
    if let Err(failed) = settle(cell, line) {
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
            match Cell::receive(CONTROL) {
                Ok(Some(copy)) => make_copy(copy),
                // A plan that makes no sense has descriptors that nobody knows: begin afresh.
                Ok(None) | Err(_) => sys::exit(0),
            }
        }
    }
}

/// Keeps two descriptors and no capability, and tells the host that all is in place.
fn settle(cell: &Cell, line: Fd) -> Result<(), Failed> {
    let supervisor = cell.fd(cell.plan.supervisor).ok_or(Errno::BADMSG).at(Step::ReadRequest)?;
    sys::locks::set_capabilities(0).at(Step::DropCapabilities)?;
    // Copies are reaped by the kernel.
    sys::ignore_children().at(Step::BecomeKeeper)?;
    // Neither is one of the two places: they are taken by the streams of the keeper.
    sys::move_to(line, CONTROL).at(Step::CloseDescriptors)?;
    sys::move_to(supervisor, SUPERVISOR).at(Step::CloseDescriptors)?;
    sys::close_from(SUPERVISOR + 1, 0).at(Step::CloseDescriptors)?;
    sys::set_name(c"stockade-yard");
    first::announce(CONTROL, kind::FORKED).at(Step::Announce)
}

fn make_copy(mut cell: Cell) {
    match first::clone(&mut cell).at(Step::CloneBox) {
        Ok(Forked::Child) => first::be_first_in_child(&mut cell),
        // It waits for this processor as often as not.
        Ok(Forked::Parent(_)) => sys::step_aside(),
        // The line of the copy, not this one's, hears of it; one without a line hears nothing.
        Err(failed) => {
            let _unheard = cell.line().map(|line| report_failure(line, failed));
        }
    }
    cell.forget();
}
