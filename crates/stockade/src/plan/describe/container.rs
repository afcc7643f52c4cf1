//! The `container` tier: an engine that is already there makes a container of an image, with nothing
//! in it that a call does not need. The kernel is shared, unless the runtime has one.

use super::jail::{cgroup_limits, disk, protected};
use super::{
    Description, before_sandbox, environment, exceptions, lines, machine_network, masks, project,
    rlimits, scratch, survey, watches,
};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee};
use crate::plan::ops::{Content, Mount, Oci, Op, Rlimit};
use crate::tier::Tier;

/// The directory for temporary files, which is the home too.
pub(super) const TEMPORARY: &str = "/tmp";
/// How large that may become, in memory that counts as the sandbox's.
const TEMPORARY_BYTES: u64 = 1 << 30;
/// The seconds that a process may use above its limit: the supervisor is first to end it, and can
/// tell why.
const CPU_GRACE: u64 = 2;
/// The kernel counts all processes of the user on the machine for this, so that it is no limit of
/// the container. Podman lowers its own to this before it starts anything.
const PROCESSES_OF_USER: u64 = 32_768;

/// The operations of this tier under this confinement, and what they enforce.
pub(super) fn describe(confinement: &Confinement) -> Description {
    let enforced = |guarantee| enforced(guarantee, confinement);
    Description { ops: ops(confinement), enforcement: lines(enforced) }
}

fn ops(confinement: &Confinement) -> Vec<Op> {
    let Confinement { oci, limits, network, .. } = confinement;
    let mut ops: Vec<Op> = survey(confinement, Tier::Container).into_iter().collect();
    ops.extend(before_sandbox(&confinement.files));
    ops.push(scratch(&confinement.files, Content::OfLaunch));
    ops.push(environment(confinement, Some([TEMPORARY, TEMPORARY])));
    ops.push(Op::Oci(Oci::Container {
        image: oci.image.clone(),
        engine: oci.engine,
        runtime: oci.runtime.clone(),
        pull: oci.pull,
    }));
    ops.extend([Op::Oci(Oci::ReadOnlyRoot), Op::Mount(temporary()), Op::Network(*network)]);
    ops.push(Op::HostName("box"));
    ops.extend(shown(confinement));
    ops.push(Op::Cgroup(cgroup_limits(limits)));
    // The tree's memory is bounded, and some programs reserve far more than they use.
    let tasks = Rlimit::Tasks { most: PROCESSES_OF_USER, above_cgroup: 0 };
    ops.extend(rlimits(limits, CPU_GRACE, Some(tasks), None));
    ops.extend([Op::Oci(Oci::OtherUser), Op::DropCapabilities, Op::NoNewPrivileges]);
    ops.extend([Op::Oci(Oci::EngineFilter), Op::Attest, Op::Shim]);
    ops.push(Op::Oci(oci.warm.map_or(Oci::Start, Oci::ExecInWaiting)));
    ops.extend(watches(limits, None, true));
    ops.extend([Op::Oci(Oci::Remove), Op::CleanUp]);
    ops
}

/// The directory in memory.
pub(super) fn temporary() -> Mount {
    Mount::Memory { path: TEMPORARY, bytes: TEMPORARY_BYTES, files: u64::MAX }
}

/// What every sandbox of an OCI runtime shows of the machine, whoever makes it.
pub(super) fn shown(confinement: &Confinement) -> impl Iterator<Item = Op> {
    let files = &confinement.files;
    let mounts = project(files).chain(exceptions(files)).chain([Mount::Pins]);
    mounts.map(Op::Mount).chain(masks(files))
}

fn enforced(guarantee: Guarantee, confinement: &Confinement) -> Enforced {
    match guarantee {
        Guarantee::Privileges => Enforced::full(
            guarantee,
            &["no_new_privs", "empty-capabilities", "seccomp", "other-user"],
        ),
        Guarantee::TreeLimits => Enforced::full(guarantee, &["container-cgroup"]),
        Guarantee::Kernel if confinement.oci.has_own_kernel() => {
            Enforced::full(guarantee, &["gvisor"])
        }
        Guarantee::Kernel => Enforced::none(
            guarantee,
            "containers share the machine's kernel; box.runtime = \"runsc\" gives them another",
        ),
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

/// What a sandbox of an OCI runtime enforces, whoever makes it.
pub(super) fn kept_in_box(guarantee: Guarantee, confinement: &Confinement) -> Enforced {
    match guarantee {
        Guarantee::Writes => Enforced::full(guarantee, &["read-only-root", "binds"]),
        Guarantee::Reads => Enforced::full(guarantee, &["root", "binds"]),
        Guarantee::Protected => protected(&["read-only-binds", "watch"]),
        Guarantee::Network if confinement.network.is_own() => {
            Enforced::full(guarantee, &["network-none"])
        }
        Guarantee::Network => machine_network(confinement),
        Guarantee::Processes => Enforced::full(guarantee, &["pid-namespace", "shim"]),
        Guarantee::Limits => Enforced::full(guarantee, &["supervisor-deadline", "rlimits"]),
        Guarantee::Disk => Enforced { by: vec!["watch"], ..disk(&confinement.limits) },
        Guarantee::Output => Enforced::full(guarantee, &["capture-loop"]),
        Guarantee::Environment => {
            Enforced::full(guarantee, &["built-environment", "pid-namespace"])
        }
        Guarantee::Privileges | Guarantee::TreeLimits | Guarantee::Kernel => {
            Enforced::none(guarantee, "nothing of the box itself keeps it")
        }
    }
}
