//! The keeper of a box: it makes the first process, is its parent, and outlives it by little.
//!
//! All that happens in the box is told by the first process itself.

use super::cell::Cell;
use super::step::Step;
use super::sys::{self, Errno, Fd, Forked, Pid, Poll, sig};
use super::watch::{At, CONTROL, Failed, tell};
use super::{first, ids, sources};

/// Makes the box for the plan that comes next, and holds it until it or the host is gone.
pub(crate) fn keep_box(supervisor: Fd) -> Result<(), Failed> {
    let Some(mut cell) = Cell::receive(CONTROL)? else { return Ok(()) };
    let line = cell.line().at(Step::ReadRequest)?;
    let children = sys::child_signals().at(Step::BecomeKeeper);
    let first = children.and_then(|children| Ok((children, clone_first(&mut cell)?)));
    match first {
        Ok((children, first)) => {
            // It may wait for this processor.
            sys::step_aside();
            cell.forget();
            hold(first, supervisor, children)
        }
        // Who hears of the box hears of this.
        Err(failed) => tell(line, failed),
    }
}

/// Clones the first process of a box.
fn clone_first(cell: &mut Cell) -> Result<Pid, Failed> {
    // The first process shall not hold them.
    sources::take_as_root(cell)?.let_go();
    ids::change_user(cell)?;
    match first::clone(cell).at(Step::CloneBox)? {
        Forked::Child => first::be_first_in_child(cell),
        Forked::Parent(first) => Ok(first),
    }
}

/// Waits for the first process to end. A host that goes away takes it along.
fn hold(first: Pid, supervisor: Fd, children: Fd) -> Result<(), Failed> {
    // The first process has all that it needs; whatever fails here ends the box with this process.
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

/// Reaps what has ended, and says whether the first process is among it: there was a child before.
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

/// Kills the first process, and with it all that is in its box.
fn kill(first: Pid) {
    let _dead = sys::kill(first, sig::KILL);
    while is_other(sys::reap_next(), first) {}
}

/// Whether something else was reaped, so that it must be tried again.
fn is_other(reaped: sys::Result<(Pid, i32)>, first: Pid) -> bool {
    match reaped {
        Ok((pid, _)) => pid != first,
        Err(errno) => errno == Errno::INTR,
    }
}
