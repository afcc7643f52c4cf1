//! The `jail` tier where user namespaces are refused: the same policy by Landlock, the filter of
//! system calls and the shim alone. It keeps less, and says what.

use std::path::Path;

use stockade_sandbox::{Filter, Sockets, Tracing};

use super::jail::{address_space, cgroup_limits, disk, tree_limits};
use super::{
    Description, before_sandbox, environment, lines, machine_network, rlimits, scratch, survey,
    targets, watches,
};
use crate::confine::{Confinement, Files, Network, SYSTEM};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::plan::ops::{Allow, Content, Op, Rlimit};
use crate::tier::{Machine, Tier};

/// The first of Landlock's ABIs that keeps files from being cut short, Linux 6.2.
const ABI_WITH_TRUNCATION: u32 = 3;
/// Devices that give and keep nothing.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The operations of this form of the tier, and what they enforce; none without Landlock.
pub(super) fn describe(confinement: &Confinement, machine: Machine) -> Option<Description> {
    let abi = machine.landlock_abi?;
    let enforced = |guarantee| enforced(guarantee, confinement, machine, abi);
    Some(Description { ops: ops(confinement, machine), enforcement: lines(enforced) })
}

fn ops(confinement: &Confinement, machine: Machine) -> Vec<Op> {
    let Confinement { limits, files, network, .. } = confinement;
    let mut ops: Vec<Op> = survey(confinement, Tier::Jail).into_iter().collect();
    ops.extend(before_sandbox(files));
    ops.extend(targets(files).map(|(keep, target)| Op::Check(keep, target)));
    ops.extend([scratch(files, Content::OfProgram), environment(confinement, None), Op::Shim]);
    let is_root = machine.is_root;
    ops.extend(machine.signal_scope.then_some(Op::SignalScope { is_root }));
    ops.push(Op::Cgroup(cgroup_limits(limits)));
    ops.extend(rlimits(limits, 0, limits.processes.map(Rlimit::MoreTasks), address_space(limits)));
    ops.extend([Op::CloseDescriptors, Op::DropCapabilities, Op::NoNewPrivileges]);
    ops.extend(allowed(files).map(Op::Allow));
    ops.extend([Op::Landlock, Op::Seccomp(filter(*network)), Op::Attest, Op::Exec]);
    ops.extend(watches(limits, limits.memory, true));
    ops.push(Op::CleanUp);
    ops
}

fn allowed(files: &Files) -> impl Iterator<Item = Allow> {
    let own = [Allow::Proc, Allow::Scratch, Allow::Devices(&DEVICES), Allow::System(&SYSTEM)];
    let read = files.read.iter().cloned().map(Allow::Read);
    let toolchains = files.toolchains.iter().cloned().map(Allow::Toolchain);
    let write = files.write.iter().cloned().map(Allow::Write);
    let project = Allow::Project(files.root.clone());
    own.into_iter().chain(read).chain(toolchains).chain([project]).chain(write)
}

/// Sockets with paths lie outside Landlock's rules, and lead out of them.
fn filter(network: Network) -> Filter {
    let sockets = match network {
        // A loopback of one's own takes a namespace.
        Network::None | Network::Loopback => Sockets::Pairs,
        Network::Host => Sockets::InternetAndPairs,
    };
    Filter { sockets, tracing: Tracing::Forbidden }
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
        Guarantee::Network if confinement.network.is_own() => {
            Enforced::full(guarantee, &["seccomp"])
        }
        Guarantee::Network => machine_network(confinement),
        Guarantee::Processes if machine.signal_scope => Enforced::partial(
            guarantee,
            &["shim", "subreaper", "landlock"],
            "other processes can be seen in /proc and slowed, though neither signalled, traced nor \
             limited",
        ),
        Guarantee::Processes => Enforced::partial(
            guarantee,
            &["shim", "subreaper", "landlock"],
            "other processes can be seen and signalled, the shim included, though not traced",
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
pub(crate) fn is_within<'a>(
    path: &Path,
    folders: impl IntoIterator<Item = &'a std::path::PathBuf>,
) -> bool {
    folders.into_iter().any(|folder| path.starts_with(folder))
}
