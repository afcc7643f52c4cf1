//! The cgroups of a box, entered by its first process before anything else is in it.

use super::boxed::{NONE, new};
use super::cell::Cell;
use super::mechanism::Mechanism;
use super::sys::{self, Errno};

/// Enters the cgroups and makes them the root of what the box sees of them.
///
/// The files were opened by the host, and it is the opener's rights that count.
pub(crate) fn join_in_child(cell: &Cell) -> sys::Result<()> {
    const MYSELF: &[u8] = b"0";
    let left_out = cell.leaves_out(Mechanism::Cgroup);
    let count = if left_out { 0 } else { cell.plan.entrance_count };
    // The first is that of version 2, if there is one; writing there again would take a lock of the
    // whole machine.
    let is_cloned_into = cell.has_namespaces() && cell.plan.unified != NONE;
    for at in u32::from(is_cloned_into)..count {
        let entrance = cell.fd(cell.plan.entrances.saturating_add(at)).ok_or(Errno::BADMSG)?;
        sys::write(entrance, MYSELF)?;
    }
    if cell.plan.namespaces & new::CGROUP != 0 {
        sys::spaces::unshare_cgroups()?;
    }
    Ok(())
}
