//! The operations of each tier and what they enforce, computed from what is allowed and from what
//! the machine can do. Nothing here acts.

mod container;
mod gvisor;
mod inline;
mod jail;
mod no_namespaces;
mod process;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use self::inline::{closure, files};
pub(crate) use self::jail::HOME as PRIVATE_HOME;
pub use self::jail::SETTLED_AT_LAUNCH;
pub(crate) use self::jail::open_ports;
pub(crate) use self::jail::{TEMPORARY_BYTES, TEMPORARY_FILES};
pub(crate) use self::no_namespaces::is_within;
use super::ops::{Content, Environment, Mount, Op, Rlimit, Scratch, Survey, Target, Watch};
use crate::confine::{
    Confinement, Files, Keep, ListedChanges, Network, Origin, writable_in_protected,
};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{ByteCount, Limits};
use crate::tier::{Machine, Tier};

/// A limit of none still lets the kernel pipe a core to a handler; one byte does not (core(5)).
const CORE_BYTES: u64 = 1;

/// What a tier would do, and what that enforces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// In the order in which they are carried out.
    pub ops: Vec<Op>,
    /// One line for every guarantee.
    pub enforcement: Vec<Enforced>,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, op) in self.ops.iter().enumerate() {
            writeln!(f, "  {:>2}. {op}", number.saturating_add(1))?;
        }
        Ok(())
    }
}

/// What this tier would do and enforce here, or `None` if this version does not have it.
pub fn of_tier(tier: Tier, confinement: &Confinement, machine: Machine) -> Option<Description> {
    match tier {
        Tier::Process => Some(process::describe(confinement, machine)),
        Tier::Jail => Some(jail::describe(confinement, machine)),
        Tier::Container => Some(container::describe(confinement)),
        Tier::Gvisor => Some(gvisor::describe(confinement)),
        Tier::Inline | Tier::Microvm | Tier::Cluster => None,
    }
}

/// The same where user namespaces are refused, if the tier has a form for that.
pub fn without_namespaces(
    tier: Tier,
    confinement: &Confinement,
    machine: Machine,
) -> Option<Description> {
    (tier == Tier::Jail).then(|| no_namespaces::describe(confinement, machine)).flatten()
}

/// The kernel counts whole seconds: a part of one is rounded up, and none is still one.
pub(crate) fn cpu_seconds(cpu: Duration) -> u64 {
    cpu.as_secs().saturating_add(u64::from(cpu.subsec_nanos() > 0)).max(1)
}

/// One line for every guarantee.
fn lines(enforced: impl Fn(Guarantee) -> Enforced) -> Vec<Enforced> {
    Guarantee::ALL.into_iter().map(enforced).collect()
}

/// The record of what can be written: all of the project, where nothing is sure to keep it from the
/// rest.
fn survey(confinement: &Confinement, tier: Tier) -> Option<Op> {
    let Files { root, write, watched, .. } = &confinement.files;
    if *watched == ListedChanges::Nothing {
        return None;
    }
    let kept = confinement.require.get(&Guarantee::Writes).copied().unwrap_or(Kept::None);
    let is_kept = tier != Tier::Process && kept == Kept::Full;
    let mut folders = write.clone();
    folders.extend((!is_kept).then(|| root.clone()));
    Some(Op::Survey(Survey { root: root.clone(), folders, watched: *watched }))
}

/// What is found out about the files before a sandbox is made.
fn before_sandbox(files: &Files) -> impl Iterator<Item = Op> {
    let unenforced = files
        .unkept
        .iter()
        .map(|(keep, origin, what)| Op::Unenforced(*keep, *origin, what.clone()));
    files.own.iter().cloned().map(Op::GuardOwn).chain(unenforced)
}

/// The ports that lead into a loopback of its own, and out of it.
fn ports(confinement: &Confinement) -> impl Iterator<Item = Op> {
    let Confinement { network, ports, .. } = confinement;
    let publish = ports.publish.iter().copied().map(Op::Publish);
    let ports = publish.chain(ports.host.iter().copied().map(Op::HostPort));
    ports.filter(|_| *network == Network::Loopback)
}

/// What is said of the network of the machine.
fn machine_network(confinement: &Confinement) -> Enforced {
    let note = if confinement.ports.is_empty() {
        "the policy gives it the machine's network"
    } else {
        "the policy gives it the machine's network, with which box.publish and box.host_ports do nothing"
    };
    Enforced::none(Guarantee::Network, note)
}

/// The private directory of a run.
fn scratch(files: &Files, content: Content) -> Op {
    let outside = files.own.iter().map(|own| own.path.clone()).collect();
    Op::Scratch(Scratch { content, outside })
}

fn environment(confinement: &Confinement, home: Option<[&'static str; 2]>) -> Op {
    Op::Environment(Environment { variables: confinement.environment.clone(), home })
}

/// The hidden and protected paths, and the patterns of others.
fn targets(files: &Files) -> impl Iterator<Item = (Keep, Target)> {
    let hidden = files.hide.iter().map(|path| (Keep::Hidden, path, Origin::Trusted));
    let protected = files.protect.iter().map(|path| (Keep::Protected, path, files.origin_of(path)));
    let paths = hidden.chain(protected);
    let paths = paths.map(|(keep, path, origin)| (keep, Target::Path(path.clone(), origin)));
    let patterns = files.sought.iter().map(|one| (one.keep(), Target::Pattern(one.clone())));
    paths.chain(patterns)
}

/// The same, each kept by a mount.
fn masks(files: &Files) -> impl Iterator<Item = Op> {
    targets(files).map(|(keep, target)| match keep {
        Keep::Hidden => Op::Hide(target),
        Keep::Protected => Op::Protect(target),
    })
}

/// The directories in protected ones that stay writable.
fn exceptions(files: &Files) -> impl Iterator<Item = Mount> {
    let is_protected = |folder: &PathBuf| files.protect.contains(folder);
    writable_in_protected(&files.root)
        .filter(move |(folder, _)| is_protected(folder))
        .map(|(_, inner)| Mount::Exception(inner))
}

/// The resource limits of each process, in the order in which the shim sets them. `cpu_grace` is
/// added where the supervisor has to be first to end the tree.
fn rlimits(
    limits: &Limits,
    cpu_grace: u64,
    tasks: Option<Rlimit>,
    memory: Option<Rlimit>,
) -> Vec<Op> {
    let cpu = limits.cpu.map(|cpu| Rlimit::Cpu(cpu_seconds(cpu).saturating_add(cpu_grace)));
    let file = limits.file_size.map(|most| Rlimit::FileSize(most.get()));
    let all = cpu.into_iter().chain(file).chain([Rlimit::Core(CORE_BYTES)]).chain(tasks);
    all.chain([Rlimit::OpenFiles(limits.open_files)]).chain(memory).map(Op::Rlimit).collect()
}

/// The limits that the supervisor holds while the program runs.
fn watches(limits: &Limits, memory: Option<ByteCount>, has_disk: bool) -> impl Iterator<Item = Op> {
    let usage = (limits.cpu.is_some() || memory.is_some())
        .then_some(Watch::Usage { cpu: limits.cpu, memory });
    let disk = (has_disk && (limits.disk.is_some() || limits.files.is_some()))
        .then_some(Watch::Disk { bytes: limits.disk, files: limits.files });
    let processes = limits.processes.map(Watch::Processes);
    let all = processes.into_iter().chain(usage).chain(disk).chain(ends(limits));
    all.map(Op::Watch)
}

/// The deadline and the cap on output.
fn ends(limits: &Limits) -> [Watch; 2] {
    let output = Watch::Output { kept: limits.output, flood: limits.flood };
    [Watch::Deadline(limits.wall), output]
}

/// The kernel's ceiling on tasks, threads included: above the limit on processes, at which the tree
/// is ended.
fn tasks_max(limits: &Limits) -> Option<u32> {
    const THREADS_BESIDES: u32 = 64;
    limits.processes.map(|most| most.saturating_mul(2).saturating_add(THREADS_BESIDES))
}

/// What is mounted of the project and of what the policy adds to it.
fn project(files: &Files) -> impl Iterator<Item = Mount> {
    use super::ops::Access::{ReadOnly, Writable};
    let is_writable = files.write.contains(&files.root);
    let root = (!is_writable).then(|| Mount::Project(files.root.clone(), ReadOnly));
    let write = |path: &PathBuf| {
        let is_project = path.as_path() == files.root.as_path();
        let mount = if is_project { Mount::Project } else { Mount::Path };
        mount(path.clone(), Writable)
    };
    let write: Vec<Mount> = files.write.iter().map(write).collect();
    let read = files.read.iter().map(|path| Mount::Path(path.clone(), ReadOnly));
    root.into_iter().chain(write).chain(read)
}
