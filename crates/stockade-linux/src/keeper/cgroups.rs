//! The cgroups of a box, entered by its first process before there is any other.
//!
//! The files were opened by the host, and it is the opener's rights that count.

use super::boxed::{NONE, new};
use super::cell::Cell;
use super::mechanism::Mechanism;
use super::sys::{self, Errno, Fd};

/// Enters the cgroups and makes them the root of what the box sees of them.
pub(crate) fn join_in_child(cell: &Cell) -> sys::Result<()> {
    // The first is that of version 2, if there is one; writing there again would take a lock of the
    // whole machine.
    let is_cloned_into = cell.has_namespaces() && cell.plan.unified != NONE;
    for at in u32::from(is_cloned_into)..cell.plan.entrance_count {
        let entrance = cell.fd(cell.plan.entrances.saturating_add(at)).ok_or(Errno::BADMSG)?;
        enter_in_child(cell, entrance)?;
    }
    if cell.plan.namespaces & new::CGROUP != 0 {
        sys::spaces::unshare_cgroups()?;
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
