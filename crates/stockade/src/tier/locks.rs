//! The `jail` tier where user namespaces are refused, described: the same policy by Landlock, the
//! filter of system calls and the keeper alone. It keeps less, and says what.

use std::path::Path;

use super::jail::{disk, disk_step, tree_limits};
use super::process::{capture_steps, environment_step, rlimit_steps};
use super::{Description, Machine, Step};
use crate::confine::{Confinement, Files, Network};
use crate::guarantee::{Enforced, Guarantee, Kept};

/// The first of Landlock's ABIs that keeps files from being cut short, Linux 6.2.
const ABI_WITH_TRUNCATION: u32 = 3;

/// Which steps this form of the tier takes, and what they keep; none without Landlock.
pub fn describe(confinement: &Confinement, machine: Machine) -> Option<Description> {
    let abi = machine.landlock_abi?;
    let enforced = |guarantee| enforced(guarantee, confinement, machine, abi);
    Some(Description {
        steps: steps(confinement, machine),
        enforcement: Guarantee::ALL.into_iter().map(enforced).collect(),
    })
}

fn steps(confinement: &Confinement, machine: Machine) -> Vec<Step> {
    let (limits, files) = (&confinement.limits, &confinement.files);
    let mut steps = vec![Step::Scratch, environment_step(confinement), Step::Keeper, Step::Cgroup];
    steps.extend(rlimit_steps(limits));
    steps.extend(limits.processes.map(Step::ProcessCeiling));
    steps.extend(limits.processes.map(Step::CountProcesses));
    steps.extend(disk_step(limits));
    steps.extend([Step::DropCapabilities, Step::NoNewPrivileges]);
    steps.extend(machine.signal_scope.then_some(Step::SignalScope));
    steps.push(Step::AllowSystem);
    steps.extend(files.write.iter().cloned().map(Step::AllowWriting));
    let read = std::iter::once(&files.root).chain(&files.read);
    steps.extend(read.cloned().map(Step::AllowReading));
    steps.extend(files.toolchains.iter().map(|one| Step::AllowReading(one.path.clone())));
    steps.push(Step::Landlock);
    steps.extend((confinement.network == Network::None).then_some(Step::NoSockets));
    steps.extend([Step::Filter, Step::CloseDescriptors, Step::Exec]);
    steps.extend(capture_steps(limits));
    steps.push(Step::CleanUp);
    steps
}

fn enforced(
    guarantee: Guarantee,
    confinement: &Confinement,
    machine: Machine,
    abi: u32,
) -> Enforced {
    match guarantee {
        Guarantee::Writes if abi < ABI_WITH_TRUNCATION => Enforced::none(
            guarantee,
            "this kernel's Landlock does not keep files elsewhere from being cut short",
        ),
        Guarantee::Writes => Enforced::partial(
            guarantee,
            &["landlock"],
            "permissions, owners, times and attributes of files elsewhere can be changed by their \
             owner",
        ),
        Guarantee::Reads => Enforced::partial(
            guarantee,
            &["landlock"],
            "names, sizes and times of files elsewhere can be looked up, and /proc is the machine's",
        ),
        Guarantee::Protected => protected(&confinement.files),
        Guarantee::Network if confinement.network == Network::None => {
            Enforced::full(guarantee, &["seccomp"])
        }
        Guarantee::Network => {
            Enforced::none(guarantee, "the policy gives it the machine's network")
        }
        Guarantee::Processes if machine.signal_scope => Enforced::partial(
            guarantee,
            &["keeper", "subreaper", "landlock"],
            "other processes can be seen in /proc and slowed, though neither signalled, traced nor \
             limited",
        ),
        Guarantee::Processes => Enforced::partial(
            guarantee,
            &["keeper", "subreaper", "landlock"],
            "other processes can be seen and signalled, the keeper included, though not traced",
        ),
        Guarantee::Privileges if machine.is_root => Enforced::partial(
            guarantee,
            &["no-capabilities", "no-new-privileges", "seccomp"],
            "it runs as root, though without root's capabilities",
        ),
        Guarantee::Privileges => {
            Enforced::full(guarantee, &["no-capabilities", "no-new-privileges", "seccomp"])
        }
        Guarantee::TreeLimits => tree_limits(),
        Guarantee::Limits => Enforced::full(guarantee, &["supervisor-deadline", "rlimits"]),
        Guarantee::Disk => disk(&confinement.limits),
        Guarantee::Output => Enforced::full(guarantee, &["capture-loop"]),
        Guarantee::Environment => Enforced::full(guarantee, &["built-environment", "landlock"]),
        Guarantee::Kernel => Enforced::none(guarantee, "the jail shares the machine's kernel"),
    }
}

/// Landlock allows whole folders: within one that can be written nothing can be kept. Which of the
/// paths are there is for the launch to see.
fn protected(files: &Files) -> Enforced {
    if files.protect.iter().any(|path| is_within(path, &files.write)) {
        let note = "a protected path that is there, in a folder that can be written, is not kept \
                    at all; one that is created ends the tree and is renamed aside in its folder";
        let kept = Kept::Detected;
        let by = vec!["watch"];
        return Enforced { guarantee: Guarantee::Protected, kept, by, note: Some(note.to_owned()) };
    }
    let note = "their permissions, owners, times and attributes can be changed by their owner";
    Enforced::partial(Guarantee::Protected, &["landlock"], note)
}

/// Whether a path is one of these folders, or in one.
pub fn is_within<'a>(
    path: &Path,
    folders: impl IntoIterator<Item = &'a std::path::PathBuf>,
) -> bool {
    folders.into_iter().any(|folder| path.starts_with(folder))
}
