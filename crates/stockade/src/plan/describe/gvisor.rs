//! The `gvisor` tier: the same sandbox on a user-space kernel, which `runsc` makes from a bundle that
//! Stockade writes. No engine is needed.

use stockade_sandbox::CgroupLimits;

use super::container::{TEMPORARY, kept_in_box, shown, temporary};
use super::jail::{cgroup_limits, tree_limits};
use super::{Description, before_sandbox, environment, lines, rlimits, scratch, survey, watches};
use crate::confine::{Confinement, SYSTEM};
use crate::guarantee::{Enforced, Guarantee};
use crate::limits::Limits;
use crate::plan::ops::{Content, Mount, Oci, Op};
use crate::tier::Tier;

/// The threads of the user-space kernel itself.
const OWN_TASKS: u32 = 256;
/// The memory of the user-space kernel itself.
const OWN_MEMORY_BYTES: u64 = 128 << 20;
const SHARED_MEMORY_BYTES: u64 = 256 << 20;
const NAMESPACES: [&str; 5] = ["pid", "network", "ipc", "uts", "mount"];

/// The operations of this tier under this confinement, and what they enforce.
pub(super) fn describe(confinement: &Confinement) -> Description {
    let enforced = |guarantee| enforced(guarantee, confinement);
    Description { ops: ops(confinement), enforcement: lines(enforced) }
}

fn ops(confinement: &Confinement) -> Vec<Op> {
    let Confinement { files, oci, limits, network, .. } = confinement;
    let mut ops: Vec<Op> = survey(confinement, Tier::Gvisor).into_iter().collect();
    ops.extend(before_sandbox(files));
    ops.push(scratch(files, Content::OfLaunch));
    ops.push(environment(confinement, Some([TEMPORARY, TEMPORARY])));
    ops.extend([Op::Oci(Oci::Bundle(oci.image.clone())), Op::Namespaces(&NAMESPACES)]);
    ops.extend([Op::HostName("box"), Op::Oci(Oci::ReadOnlyRoot), Op::Mount(Mount::Proc)]);
    ops.push(Op::Mount(Mount::Devices { shared_memory_bytes: SHARED_MEMORY_BYTES }));
    ops.push(Op::Mount(temporary()));
    if oci.image.is_none() {
        ops.push(Op::Mount(Mount::System(&SYSTEM)));
        ops.extend(files.toolchains.iter().cloned().map(Mount::Toolchain).map(Op::Mount));
    }
    ops.extend(shown(confinement));
    ops.extend([Op::Oci(Oci::OtherUser), Op::DropCapabilities, Op::NoNewPrivileges]);
    // The tree's memory is bounded, and some programs reserve far more than they use.
    ops.extend(rlimits(limits, 0, None, None));
    ops.extend([Op::Cgroup(with_own_kernel(limits)), Op::Shim, Op::Network(*network)]);
    ops.push(Op::Oci(Oci::OwnKernel));
    // Its processes are none of this machine's, and bounded by its tasks alone.
    let uncounted = Limits { processes: None, ..limits.clone() };
    ops.extend(watches(&uncounted, limits.memory, true));
    ops.push(Op::CleanUp);
    ops
}

/// The limits of the whole sandbox, its kernel included.
fn with_own_kernel(limits: &Limits) -> CgroupLimits {
    let own = cgroup_limits(limits);
    CgroupLimits {
        memory_bytes_max: own.memory_bytes_max.map(|most| most.saturating_add(OWN_MEMORY_BYTES)),
        tasks_max: own.tasks_max.map(|most| most.saturating_add(OWN_TASKS)),
        ..own
    }
}

fn enforced(guarantee: Guarantee, confinement: &Confinement) -> Enforced {
    match guarantee {
        Guarantee::Privileges => Enforced::full(
            guarantee,
            &["no_new_privs", "empty-capabilities", "gvisor", "other-user"],
        ),
        Guarantee::Kernel => Enforced::full(guarantee, &["gvisor"]),
        // Whether there are cgroups shows in making them.
        Guarantee::TreeLimits => tree_limits(),
        Guarantee::Writes
        | Guarantee::Reads
        | Guarantee::Protected
        | Guarantee::Network
        | Guarantee::Processes
        | Guarantee::Limits
        | Guarantee::Disk
        | Guarantee::Output
        | Guarantee::Environment => kept_in_box(guarantee, confinement),
    }
}
