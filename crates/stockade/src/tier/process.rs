//! The `process` tier, described: a child with a clean environment, limits and a deadline, whose
//! whole tree is killed. It keeps the machine responsive; it does not keep files or the network.

use super::{Description, Machine, Step};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{ByteCount, Limits};

/// What it is for: a machine that stays responsive, and nothing left over.
pub const IS_FOR: [(Guarantee, Kept); 4] = [
    (Guarantee::Processes, Kept::Partial),
    (Guarantee::Limits, Kept::Full),
    (Guarantee::Output, Kept::Full),
    (Guarantee::Environment, Kept::Partial),
];

const NO_BOX: &str = "the process tier runs with the caller's own rights";

/// A limit of none still lets the kernel pipe a core to a handler; one byte does not (core(5)).
pub const CORE_BYTES: u64 = 1;

/// Which steps this tier takes under this confinement, and what they keep on this machine.
pub fn describe(confinement: &Confinement, machine: Machine) -> Description {
    Description {
        steps: steps(confinement, machine),
        enforcement: Guarantee::ALL
            .into_iter()
            .map(|one| enforced(one, confinement, machine))
            .collect(),
    }
}

/// The environment, by the names of its variables.
pub(super) fn environment_step(confinement: &Confinement) -> Step {
    let names = confinement.environment.iter().map(|(name, _)| name.to_string_lossy().into_owned());
    Step::Environment(names.chain(["HOME".to_owned(), "TMPDIR".to_owned()]).collect())
}

fn steps(confinement: &Confinement, machine: Machine) -> Vec<Step> {
    let limits = &confinement.limits;
    let mut steps = vec![Step::Scratch, environment_step(confinement), Step::Keeper];
    steps.extend(rlimit_steps(limits));
    steps.extend(limits.processes.map(Step::ProcessCeiling));
    steps.extend(limits.processes.map(Step::CountProcesses));
    steps.push(Step::NoNewPrivileges);
    if machine.signal_scope {
        steps.push(Step::SignalScope);
        steps.extend(machine.is_root.then_some(Step::DropCapabilitiesToLook));
    }
    steps.extend([Step::CloseDescriptors, Step::Exec]);
    steps.extend(capture_steps(limits));
    steps.push(Step::CleanUp);
    steps
}

/// The deadline and the cap on output.
pub(super) fn capture_steps(limits: &Limits) -> [Step; 2] {
    [Step::Deadline(limits.wall), Step::Capture(limits.output.get())]
}

/// The limits that the kernel holds for each process.
pub(super) fn rlimit_steps(limits: &Limits) -> impl Iterator<Item = Step> + use<> {
    let cpu = limits.cpu.map(|cpu| Step::Rlimit("cpu seconds", cpu_seconds(cpu)));
    let memory = limits.memory.map(ByteCount::get).map(|most| Step::Rlimit("address space", most));
    let file = limits.file_size.map(ByteCount::get).map(|most| Step::Rlimit("file size", most));
    let open = Step::Rlimit("open files", limits.open_files);
    cpu.into_iter().chain(memory).chain(file).chain([open, Step::Rlimit("core", CORE_BYTES)])
}

/// The kernel counts whole seconds: a part of one is rounded up, and none is still one.
pub fn cpu_seconds(cpu: std::time::Duration) -> u64 {
    cpu.as_secs().saturating_add(u64::from(cpu.subsec_nanos() > 0)).max(1)
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
            &["keeper", "subreaper", "landlock-signal-scope"],
            "other processes can be seen, though neither signalled, traced nor limited",
        ),
        Guarantee::Processes => Enforced::partial(
            guarantee,
            &["keeper", "subreaper"],
            "other processes can be seen and signalled, the keeper included",
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
        Guarantee::Environment => environment(machine),
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
    let processes =
        limits.processes.map(|_| ("keeper-count", "processes are counted at intervals"));
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

fn environment(machine: Machine) -> Enforced {
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
