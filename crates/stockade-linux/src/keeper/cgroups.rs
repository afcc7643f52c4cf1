//! The cgroups of a box, entered by its first process before there is any other.
//!
//! The files were opened by the host, and it is the opener's rights that count.

use super::boxed::{ENTRANCES_MAX, NONE, new, option};
use super::cell::Cell;
use super::mechanism::Mechanism;
use super::sys::{self, Errno, Fd};
use super::wire::Failure;

/// Enters the cgroups and makes them the root of what the box sees of them.
pub(crate) fn join_in_child(cell: &Cell) -> sys::Result<()> {
    if cell.has(option::CGROUPS_LATER) {
        enter_what_comes_in_child(cell)?;
    } else {
        enter_what_came_in_child(cell)?;
    }
    if cell.plan.namespaces & new::CGROUP != 0 {
        sys::spaces::unshare_cgroups()?;
    }
    Ok(())
}

/// With the files of the plan.
fn enter_what_came_in_child(cell: &Cell) -> sys::Result<()> {
    // The first is that of version 2, if there is one; writing there again would take a lock of the
    // whole machine.
    let is_cloned_into = cell.has_namespaces() && cell.plan.unified != NONE;
    for at in u32::from(is_cloned_into)..cell.plan.entrance_count {
        let entrance = cell.fd(cell.plan.entrances.saturating_add(at)).ok_or(Errno::BADMSG)?;
        enter_in_child(cell, entrance)?;
    }
    Ok(())
}

/// With files that come by the line.
fn enter_what_comes_in_child(cell: &Cell) -> sys::Result<()> {
    let line = cell.line()?;
    let mut fds = [-1; ENTRANCES_MAX];
    let (len, count) = loop {
        match sys::receive(line, &mut Failure::default(), &mut fds) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if len != size_of::<Failure>() {
        // The host is gone.
        return Err(Errno::CANCELED);
    }
    for entrance in fds.into_iter().take(count) {
        enter_in_child(cell, entrance)?;
        sys::close(entrance);
    }
    Ok(())
}

fn enter_in_child(cell: &Cell, entrance: Fd) -> sys::Result<()> {
    const MYSELF: &[u8] = b"0";
    if cell.leaves_out(Mechanism::Cgroup) {
        return Ok(());
    }
    sys::write(entrance, MYSELF).map(drop)
}
