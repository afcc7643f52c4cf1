//! The `gvisor` tier, described: the same box on a user-space kernel, which `runsc` makes from a
//! bundle that we write. No engine is needed.

use super::container::{box_steps, kept_in_box};
use super::jail::tree_limits;
use super::process::{capture_steps, environment_step};
use super::{Description, Making, Step};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee, Kept};

/// What it is for besides what the jail is.
pub const ALSO_FOR: [(Guarantee, Kept); 1] = [(Guarantee::Kernel, Kept::Full)];

/// Which steps this tier takes under this confinement, and what they keep.
pub fn describe(confinement: &Confinement) -> Description {
    let enforced = |guarantee| enforced(guarantee, confinement);
    Description {
        steps: steps(confinement),
        enforcement: Guarantee::ALL.into_iter().map(enforced).collect(),
    }
}

fn steps(confinement: &Confinement) -> Vec<Step> {
    let image = confinement.oci.image.as_ref().map(|image| format!("the image {image}"));
    let of = image.unwrap_or_else(|| "the system's folders".to_owned());
    let mut steps = vec![environment_step(confinement), Making::Bundle(of).into()];
    // The processes of the box are none of this machine's, and bounded by its tasks alone.
    let counted = |step: &Step| matches!(step, Step::CountProcesses(_));
    steps.extend(box_steps(confinement).into_iter().filter(|step| !counted(step)));
    let shown = confinement.files.toolchains.iter().map(|one| one.path.clone());
    steps.extend(shown.filter(|_| confinement.oci.image.is_none()).map(Step::Readable));
    steps.extend([Step::Keeper, Making::OwnKernel.into()]);
    steps.extend(capture_steps(&confinement.limits));
    steps.push(Step::CleanUp);
    steps
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
