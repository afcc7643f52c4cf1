//! The `jail` tier, described: a box of namespaces with a root of its own, Landlock and a filter
//! of system calls. It keeps files and the network; the kernel is shared.

use super::process::{capture_steps, environment_step, rlimit_steps};
use super::{Description, Machine, Step};
use crate::confine::{Confinement, Network};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{ByteCount, Limits};

/// What it is for: files, the network, privileges, and no process left over. The tree's memory and
/// processes are not here, because many machines give a user no cgroup.
pub const IS_FOR: [(Guarantee, Kept); 9] = [
    (Guarantee::Writes, Kept::Full),
    (Guarantee::Reads, Kept::Full),
    (Guarantee::Protected, Kept::Detected),
    (Guarantee::Network, Kept::Full),
    (Guarantee::Processes, Kept::Full),
    (Guarantee::Privileges, Kept::Full),
    (Guarantee::Limits, Kept::Full),
    (Guarantee::Output, Kept::Full),
    (Guarantee::Environment, Kept::Full),
];

/// What only the launch can settle: whether there are cgroups shows in making them.
pub const SETTLED_AT_LAUNCH: Guarantee = Guarantee::TreeLimits;

/// Which steps this tier takes under this confinement, and what they keep.
pub fn describe(confinement: &Confinement, machine: Machine) -> Description {
    let enforced = |guarantee| enforced(guarantee, confinement, machine);
    Description {
        steps: steps(confinement, machine),
        enforcement: Guarantee::ALL.into_iter().map(enforced).collect(),
    }
}

fn steps(confinement: &Confinement, machine: Machine) -> Vec<Step> {
    let mut steps = vec![environment_step(confinement), Step::Keeper, Step::Namespaces];
    steps.extend((confinement.network == Network::None).then_some(Step::NoNetwork));
    let files = &confinement.files;
    steps.push(Step::NewRoot);
    steps.extend(files.write.iter().cloned().map(Step::Writable));
    steps.extend(files.read.iter().cloned().map(Step::Readable));
    steps.extend(files.toolchains.iter().map(|one| Step::Readable(one.path.clone())));
    steps.extend(files.hide.iter().cloned().map(Step::Hide));
    steps.extend(files.protect.iter().cloned().map(Step::Protect));
    steps.extend(files.sought.iter().map(|one| Step::Seek(one.keep(), one.rule().to_owned())));
    steps.extend(has_broker(confinement).then_some(Step::Broker));
    steps.extend(refuses_names(confinement, machine).then_some(Step::RefuseCreation));
    steps.push(Step::Cgroup);
    steps.extend(rlimit_steps(&confinement.limits));
    steps.extend(confinement.limits.processes.map(Step::CountProcesses));
    steps.extend(disk_step(&confinement.limits));
    steps.extend([Step::DropCapabilities, Step::NoNewPrivileges]);
    steps.extend(machine.landlock_abi.map(|_| Step::Landlock));
    steps.extend([Step::Filter, Step::CloseDescriptors, Step::Exec]);
    steps.extend(capture_steps(&confinement.limits));
    steps
}

/// Whether every name that the program makes is made for it, which is what it takes to keep a
/// protected path from being made. It costs, so it is there where the policy asks for no less.
fn has_broker(confinement: &Confinement) -> bool {
    confinement.require.get(&Guarantee::Protected) == Some(&Kept::Full)
}

/// Whether the program is refused to create protected paths, as long as it does not race its own
/// arguments. A broker does more.
fn refuses_names(confinement: &Confinement, machine: Machine) -> bool {
    let is_any = !confinement.files.write.is_empty() && !confinement.files.protect.is_empty();
    machine.refuses_names && is_any && !has_broker(confinement)
}

fn enforced(guarantee: Guarantee, confinement: &Confinement, machine: Machine) -> Enforced {
    let files: &[&'static str] = if machine.landlock_abi.is_some() {
        &["mount-namespace", "landlock"]
    } else {
        &["mount-namespace"]
    };
    match guarantee {
        Guarantee::Writes | Guarantee::Reads => Enforced::full(guarantee, files),
        Guarantee::Protected if has_broker(confinement) => {
            Enforced::full(guarantee, &["mount-namespace", "broker", "watch"])
        }
        Guarantee::Protected if refuses_names(confinement, machine) => {
            let note = "protected paths that exist cannot be changed, and creating others is refused; \
                        a program that gets past that by a race is ended, and what it created is \
                        renamed aside";
            let by = ["mount-namespace", "notification", "watch"];
            Enforced { kept: Kept::Detected, ..Enforced::partial(guarantee, &by, note) }
        }
        Guarantee::Protected => protected(&["mount-namespace", "watch"]),
        Guarantee::Network if confinement.network == Network::None => {
            let note = "Unix sockets in folders that the box shows can be reached";
            let full = Enforced::full(guarantee, &["network-namespace", "seccomp"]);
            Enforced { note: Some(note.to_owned()), ..full }
        }
        Guarantee::Network => {
            Enforced::none(guarantee, "the policy gives it the machine's network")
        }
        Guarantee::Processes => Enforced::full(guarantee, &["pid-namespace", "keeper"]),
        Guarantee::Privileges => Enforced::full(
            guarantee,
            &["no_new_privs", "empty-capabilities", "seccomp", "user-namespace"],
        ),
        Guarantee::TreeLimits => tree_limits(),
        Guarantee::Limits => Enforced::full(guarantee, &["supervisor-deadline", "rlimits"]),
        Guarantee::Disk => disk(&confinement.limits),
        Guarantee::Output => Enforced::full(guarantee, &["capture-loop"]),
        Guarantee::Environment => {
            Enforced::full(guarantee, &["built-environment", "pid-namespace"])
        }
        Guarantee::Kernel => Enforced::none(guarantee, "the jail shares the machine's kernel"),
    }
}

/// Protected paths where only a watch keeps those that are not there.
pub(super) fn protected(by: &[&'static str]) -> Enforced {
    let note = "protected paths that exist cannot be changed; creating one that does not is not \
                refused here: it ends the tree, and the path is renamed aside in its folder";
    Enforced { kept: Kept::Detected, ..Enforced::partial(Guarantee::Protected, by, note) }
}

/// The watch on the disk, where there is a limit.
pub(super) fn disk_step(limits: &Limits) -> Option<Step> {
    let is_bounded = limits.disk.is_some() || limits.files.is_some();
    is_bounded
        .then(|| Step::WatchDisk { bytes: limits.disk.map(ByteCount::get), files: limits.files })
}

/// What is kept of the disk.
pub(super) fn disk(limits: &Limits) -> Enforced {
    let what = match (limits.disk, limits.files) {
        (None, None) => return Enforced::none(Guarantee::Disk, "no such limit was asked for"),
        (Some(_), Some(_)) => "room and files",
        (Some(_), None) => "room, not files,",
        (None, Some(_)) => "files, not room,",
    };
    let note = format!(
        "{what} added in the writable folders are watched: a run that is over its limit is ended \
         once that is seen, a tenth of a second later or as long as it takes to look through them"
    );
    Enforced::partial(Guarantee::Disk, &["watch", "seccomp"], &note)
}

/// What is kept without cgroups.
pub(super) fn tree_limits() -> Enforced {
    Enforced::partial(
        Guarantee::TreeLimits,
        &["rlimits", "keeper-count", "sampling"],
        "memory is bounded for each process, and for the tree in samples only, files in memory \
         apart; processes are counted at intervals",
    )
}
