//! The `jail` tier: a sandbox of namespaces with a root of its own, Landlock and a filter of system
//! calls. It keeps files and the network; the kernel is shared.

use stockade_sandbox::{CgroupLimits, Filter, Sockets, Tracing};

use super::{
    Description, before_sandbox, environment, exceptions, lines, machine_network, masks, ports,
    project, rlimits, survey, tasks_max, watches,
};
use crate::confine::{Confinement, Files, Network, Ports, SYSTEM};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{ByteCount, Limits, Processors};
use crate::plan::ops::{Mount, Op, Rlimit};
use crate::tier::{Machine, Tier};

/// What only the launch can settle: whether there are cgroups shows in making them.
pub const SETTLED_AT_LAUNCH: Guarantee = Guarantee::TreeLimits;

/// The home directory of a program, and its directory for temporary files.
pub(crate) const HOME: [&str; 2] = ["/tmp/home", "/tmp"];
/// The list of the kernel's keys: it names every key of the user, also those outside the sandbox.
const KEYS: &str = "/proc/keys";
/// How much the directory for temporary files can hold.
pub(crate) const TEMPORARY_BYTES: u64 = 1 << 30;
/// How many files.
pub(crate) const TEMPORARY_FILES: u64 = 1 << 18;
const SHARED_MEMORY_BYTES: u64 = 256 << 20;
const NAMESPACES: [&str; 6] = ["user", "mount", "pid", "ipc", "uts", "cgroup"];
/// How many tasks more than a cgroup the limit of the user allows: the cgroup has to refuse first,
/// because it counts that.
const ABOVE_CGROUP: u64 = 16;

/// The operations of this tier under this confinement, and what they enforce on this machine.
pub(super) fn describe(confinement: &Confinement, machine: Machine) -> Description {
    let enforced = |guarantee| enforced(guarantee, confinement, machine);
    Description { ops: ops(confinement, machine), enforcement: lines(enforced) }
}

fn ops(confinement: &Confinement, machine: Machine) -> Vec<Op> {
    let Confinement { files, limits, network, session, .. } = confinement;
    let mut ops: Vec<Op> = survey(confinement, Tier::Jail).into_iter().collect();
    ops.extend(before_sandbox(files));
    ops.push(Op::Shim);
    ops.extend(session.map(|leftovers| Op::JoinSession { leftovers, network: *network }));
    ops.push(Op::Namespaces(&NAMESPACES));
    let is_joined = session.is_some() && *network == Network::Loopback;
    ops.extend((!is_joined).then_some(Op::Network(*network)));
    ops.extend(ports(confinement));
    ops.extend([Op::HostName("box"), Op::ForbidNesting, Op::NewRoot]);
    ops.extend(mounts(confinement).into_iter().map(Op::Mount));
    ops.extend(masks(files));
    // After what is hidden and protected, which is about the machine's own files.
    ops.extend(in_session(confinement).into_iter().map(Op::Mount));
    ops.extend(files.agent.clone().map(Mount::Agent).map(Op::Mount));
    ops.extend([Op::SealRoot, Op::Cgroup(cgroup_limits(limits))]);
    ops.extend(has_broker(confinement).then_some(Op::Broker));
    ops.extend(refuses_names(confinement, machine).then_some(Op::RefuseCreation));
    ops.extend([Op::DropCapabilities, Op::NoNewPrivileges]);
    ops.extend(machine.landlock_abi.map(|_| Op::Landlock));
    ops.extend([Op::Seccomp(filter(*network)), Op::Attest, environment(confinement, Some(HOME))]);
    // The user namespace has a count of its own, so that this holds for the sandbox alone.
    let tasks = tasks_max(limits).map(u64::from);
    let tasks = tasks.map(|most| Rlimit::Tasks { most, above_cgroup: ABOVE_CGROUP });
    ops.extend(rlimits(limits, 0, tasks, address_space(limits)));
    ops.extend([Op::CloseDescriptors, Op::Exec]);
    ops.extend(watches(limits, limits.memory, true));
    ops
}

/// The root, in the order in which it is made.
fn mounts(confinement: &Confinement) -> Vec<Mount> {
    let files = &confinement.files;
    let [home, temporary] = HOME;
    let mut mounts = vec![
        Mount::System(&SYSTEM),
        Mount::Devices { shared_memory_bytes: SHARED_MEMORY_BYTES },
        Mount::Proc,
        Mount::HideInProc(KEYS),
    ];
    let has_session = confinement.session.is_some();
    if !has_session {
        let (bytes, files) = (TEMPORARY_BYTES, TEMPORARY_FILES);
        mounts.push(Mount::Memory { path: temporary, bytes, files });
    }
    mounts.extend(project(files));
    mounts.extend((!has_session).then_some(Mount::Home(home)));
    // A mount on a directory carries along what was mounted in it before, and makes it read-only too.
    // So exceptions come before everything that is hidden or protected in them.
    mounts.extend(exceptions(files));
    mounts.push(Mount::Pins);
    if !has_session {
        mounts.extend(toolchains(files));
    }
    mounts
}

/// The folder of a session and what is in it. Other calls can rename what is there, so it comes after all
/// that is hidden and protected: a project that lies in it is moved there with its covers.
fn in_session(confinement: &Confinement) -> Vec<Mount> {
    if confinement.session.is_none() {
        return Vec::new();
    }
    let [home, path] = HOME;
    let own = [Mount::Session { path }, Mount::Home(home)];
    own.into_iter().chain(toolchains(&confinement.files)).collect()
}

fn toolchains(files: &Files) -> impl Iterator<Item = Mount> {
    files.toolchains.iter().cloned().map(Mount::Toolchain)
}

/// The limit on the address space of each process.
pub(super) fn address_space(limits: &Limits) -> Option<Rlimit> {
    let bytes = limits.memory.map(ByteCount::get);
    bytes.map(|bytes| Rlimit::AddressSpace { bytes, unless_cgroup: true })
}

/// The open ports, in words.
pub(crate) fn open_ports(ports: &Ports) -> String {
    let [publish, host] = [&ports.publish, &ports.host].map(|ports| {
        let numbers: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let word = if ports.len() == 1 { "port" } else { "ports" };
        (!ports.is_empty()).then(|| format!("{word} {}", numbers.join(", ")))
    });
    let publish =
        publish.map(|ports| format!("this machine reaches {ports} of the sandbox on its loopback"));
    let host = host.map(|ports| format!("the sandbox reaches {ports} of this machine's loopback"));
    publish.into_iter().chain(host).collect::<Vec<_>>().join("; ")
}

/// Limits for the tree: memory, a ceiling on tasks, and a share of the processors.
pub(super) fn cgroup_limits(limits: &Limits) -> CgroupLimits {
    CgroupLimits {
        memory_bytes_max: limits.memory.map(ByteCount::get),
        tasks_max: tasks_max(limits),
        cpu_millis_per_second: limits.cpus.map(Processors::thousandths),
    }
}

fn filter(network: Network) -> Filter {
    let sockets = match network {
        Network::None => Sockets::Unix,
        Network::Loopback | Network::Host => Sockets::Internet,
    };
    Filter { sockets, tracing: Tracing::Forbidden }
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
        Guarantee::Network if confinement.ports.open_in(confinement.network) => {
            let by = ["network-namespace", "seccomp"];
            Enforced::partial(guarantee, &by, &open_ports(&confinement.ports))
        }
        Guarantee::Network if confinement.network.is_own() => {
            let note = "Unix sockets in folders that the box shows can be reached";
            let full = Enforced::full(guarantee, &["network-namespace", "seccomp"]);
            Enforced { note: Some(note.to_owned()), ..full }
        }
        Guarantee::Network => machine_network(confinement),
        Guarantee::Processes => Enforced::full(guarantee, &["pid-namespace", "shim"]),
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
        &["rlimits", "shim-count", "sampling"],
        "memory is bounded for each process, and for the tree in samples only, files in memory \
         apart; processes are counted at intervals",
    )
}
