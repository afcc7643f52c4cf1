//! The cgroups of a sandbox, entered by its init before there is any other.
//!
//! The files were opened by the host, and it is the opener's rights that count.

use super::received_plan::ReceivedPlan;
use super::sys::{self, Errno, Fd};
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{NONE, new};

/// Enters the cgroups and makes them the root of what the sandbox sees of them.
pub(crate) fn join_in_child(plan: &ReceivedPlan) -> sys::Result<()> {
    // The first is that of version 2, if there is one; writing there again would take a lock of the
    // whole machine.
    let is_cloned_into = plan.has_namespaces() && plan.fixed.unified != NONE;
    for at in u32::from(is_cloned_into)..plan.fixed.entrance_count {
        let entrance = plan.fd(plan.fixed.entrances.saturating_add(at)).ok_or(Errno::BADMSG)?;
        enter_in_child(plan, entrance)?;
    }
    if plan.fixed.namespaces & new::CGROUP != 0 {
        sys::spaces::unshare_cgroups()?;
    }
    Ok(())
}

fn enter_in_child(plan: &ReceivedPlan, entrance: Fd) -> sys::Result<()> {
    const MYSELF: &[u8] = b"0";
    if plan.leaves_out(Mechanism::Cgroup) {
        return Ok(());
    }
    sys::write(entrance, MYSELF).map(drop)
}
