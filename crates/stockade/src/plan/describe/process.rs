//! The `process` tier: a child with a clean environment, limits and a deadline, whose whole tree is
//! killed. It keeps the machine responsive; it does not keep files or the network.

use super::{Description, environment, lines, rlimits, scratch, survey, watches};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee};
use crate::limits::{ByteCount, Limits};
use crate::plan::ops::{Content, Op, Rlimit};
use crate::tier::{Machine, Tier};

const NO_BOX: &str = "the process tier runs with the caller's own rights";

/// The operations of this tier under this confinement, and what they enforce on this machine.
pub(super) fn describe(confinement: &Confinement, machine: Machine) -> Description {
    let enforced = |one| enforced(one, confinement, machine);
    Description { ops: ops(confinement, machine), enforcement: lines(enforced) }
}

fn ops(confinement: &Confinement, machine: Machine) -> Vec<Op> {
    let limits = &confinement.limits;
    let mut ops: Vec<Op> = survey(confinement, Tier::Process).into_iter().collect();
    ops.extend([
        scratch(&confinement.files, Content::OfProgram),
        environment(confinement, None),
        Op::Shim,
    ]);
    ops.extend(rlimits(limits, 0, limits.processes.map(Rlimit::MoreTasks), address_space(limits)));
    ops.push(Op::NoNewPrivileges);
    ops.extend(machine.signal_scope.then_some(Op::SignalScope { is_root: machine.is_root }));
    ops.extend([Op::CloseDescriptors, Op::Exec]);
    ops.extend(watches(limits, limits.memory, false));
    ops.push(Op::CleanUp);
    ops
}

fn address_space(limits: &Limits) -> Option<Rlimit> {
    let bytes = limits.memory.map(ByteCount::get);
    bytes.map(|bytes| Rlimit::AddressSpace { bytes, unless_cgroup: false })
}

fn enforced(guarantee: Guarantee, confinement: &Confinement, machine: Machine) -> Enforced {
    match guarantee {
        Guarantee::Writes
        | Guarantee::Reads
        | Guarantee::Protected
        | Guarantee::Network
        | Guarantee::Kernel => Enforced::none(guarantee, NO_BOX),
        Guarantee::Processes if machine.signal_scope => Enforced::partial(
            guarantee,
            &["shim", "subreaper", "landlock-signal-scope"],
            "other processes can be seen, though neither signalled, traced nor limited",
        ),
        Guarantee::Processes => Enforced::partial(
            guarantee,
            &["shim", "subreaper"],
            "other processes can be seen and signalled, the shim included",
        ),
        Guarantee::Privileges if machine.is_root => Enforced::partial(
            guarantee,
            &["no_new_privs"],
            "it runs as root, with most of root's capabilities and every system call",
        ),
        Guarantee::Privileges => Enforced::partial(
            guarantee,
            &["no_new_privs"],
            "every system call remains, and whatever capabilities the caller has",
        ),
        Guarantee::TreeLimits => tree_limits(confinement, machine),
        Guarantee::Limits => Enforced::full(guarantee, &["supervisor-deadline", "rlimits"]),
        Guarantee::Disk => Enforced::none(guarantee, "only the size of each file is bounded"),
        Guarantee::Output => Enforced::full(guarantee, &["capture-loop"]),
        Guarantee::Environment => kept_environment(machine),
    }
}

fn tree_limits(confinement: &Confinement, machine: Machine) -> Enforced {
    let limits = &confinement.limits;
    let memory = limits.memory.map(|_| {
        if machine.bounds_address_space {
            ("rlimits", "memory is bounded for each process, and for the tree in samples only")
        } else {
            ("", "memory is not bounded: this kernel ignores the limit on address space")
        }
    });
    let processes = limits.processes.map(|_| ("shim-count", "processes are counted at intervals"));
    let is_sampled = limits.memory.is_some() || limits.cpu.is_some();
    // Where address space is not bounded, there is no /proc either.
    let sampled = (is_sampled && machine.bounds_address_space).then_some("sampling");
    let share = limits.cpus.map(|_| ("", "its share of the processors is not bounded"));
    let parts: Vec<(&'static str, &str)> =
        memory.into_iter().chain(processes).chain(share).collect();
    let by: Vec<&'static str> =
        parts.iter().map(|(by, _)| *by).chain(sampled).filter(|by| !by.is_empty()).collect();
    let notes: Vec<&str> = parts.iter().map(|(_, note)| *note).collect();
    match (by.as_slice(), notes.as_slice()) {
        ([], []) => Enforced::none(Guarantee::TreeLimits, "no such limit was asked for"),
        ([], notes) => Enforced::none(Guarantee::TreeLimits, &notes.join("; ")),
        (by, notes) => Enforced::partial(Guarantee::TreeLimits, by, &notes.join("; ")),
    }
}

fn kept_environment(machine: Machine) -> Enforced {
    let guarantee = Guarantee::Environment;
    if machine.signal_scope {
        return Enforced::full(guarantee, &["built-environment", "landlock-signal-scope"]);
    }
    if machine.supervisor_hidden && !machine.is_root {
        return Enforced::partial(
            guarantee,
            &["built-environment", "non-dumpable-supervisor"],
            "the environment of the user's other processes can be read in /proc",
        );
    }
    Enforced::partial(
        guarantee,
        &["built-environment"],
        "the supervisor's own environment can be read in /proc",
    )
}
