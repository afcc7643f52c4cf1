//! The `container` tier, described: an engine that is already there makes a container of an image,
//! with nothing in it that a call does not need. The kernel is shared, unless the runtime has one.

use super::jail::{disk, disk_step, protected};
use super::process::{capture_steps, environment_step, rlimit_steps};
use super::{Description, Making, Step};
use crate::confine::{Confinement, Network};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::Limits;

/// What it is for besides what the jail is: limits of the whole tree, which engines have.
pub const ALSO_FOR: [(Guarantee, Kept); 1] = [(Guarantee::TreeLimits, Kept::Full)];

/// Which steps this tier takes under this confinement, and what they keep.
pub fn describe(confinement: &Confinement) -> Description {
    let enforced = |guarantee| enforced(guarantee, confinement);
    Description {
        steps: steps(confinement),
        enforcement: Guarantee::ALL.into_iter().map(enforced).collect(),
    }
}

fn steps(confinement: &Confinement) -> Vec<Step> {
    let oci = &confinement.oci;
    let image = oci.image.as_ref().map_or("(none)", |image| image.as_str());
    let by = oci.runtime.as_ref().map_or(String::new(), |runtime| format!(" by {runtime}"));
    let mut steps = vec![
        environment_step(confinement),
        Making::Container(format!("the image {image}{by}")).into(),
    ];
    steps.extend(box_steps(confinement));
    steps.push(Step::Filter);
    steps.extend([Making::LookAtContainer.into(), Step::Keeper]);
    steps.push(if oci.warm.is_some() {
        Making::ExecInContainer.into()
    } else {
        Making::StartContainer.into()
    });
    steps.extend(capture_steps(&confinement.limits));
    steps.extend([Making::RemoveContainer.into(), Step::CleanUp]);
    steps
}

/// What every box of an OCI runtime is made of, whoever makes it.
pub(super) fn box_steps(confinement: &Confinement) -> Vec<Step> {
    let files = &confinement.files;
    let mut steps = vec![Making::ReadOnlyRoot.into()];
    steps.extend((confinement.network == Network::None).then_some(Step::NoNetwork));
    steps.extend(files.write.iter().cloned().map(Step::Writable));
    steps.extend(files.read.iter().cloned().map(Step::Readable));
    steps.extend(files.hide.iter().cloned().map(Step::Hide));
    steps.extend(files.protect.iter().cloned().map(Step::Protect));
    steps.extend(files.sought.iter().map(|one| Step::Seek(one.keep(), one.rule().to_owned())));
    steps.push(Step::Cgroup);
    // The tree's memory is bounded, and some programs reserve far more than they use.
    steps.extend(rlimit_steps(&Limits { memory: None, ..confinement.limits.clone() }));
    steps.extend(confinement.limits.processes.map(Step::CountProcesses));
    steps.extend(disk_step(&confinement.limits));
    steps.extend([Making::OtherUser.into(), Step::DropCapabilities, Step::NoNewPrivileges]);
    steps
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

/// What a box of an OCI runtime keeps, whoever makes it.
pub(super) fn kept_in_box(guarantee: Guarantee, confinement: &Confinement) -> Enforced {
    match guarantee {
        Guarantee::Writes => Enforced::full(guarantee, &["read-only-root", "binds"]),
        Guarantee::Reads => Enforced::full(guarantee, &["root", "binds"]),
        Guarantee::Protected => protected(&["read-only-binds", "watch"]),
        Guarantee::Network if confinement.network == Network::None => {
            Enforced::full(guarantee, &["network-none"])
        }
        Guarantee::Network => {
            Enforced::none(guarantee, "the policy gives it the machine's network")
        }
        Guarantee::Processes => Enforced::full(guarantee, &["pid-namespace", "keeper"]),
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
