//! The `jail` tier, applied: turns the plan's files and network into a box.

mod cover;
mod kept;
mod root;

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Instant;

use stockade_linux::{
    Access, CgroupLimits, Controller, Filter, Jail, Mount, Network as BoxNetwork, Sockets, Spec,
    StartError, Stdin, Tracing, Yard,
};

pub(super) use self::cover::{Covered, lose_replaced};
pub(super) use self::kept::lose_mechanisms;
use self::kept::{credit, incomplete, settle};
use self::root::{HOME, TEMPORARY, c_path, landlock, mounts};
use super::absent;
use super::disk::Disk;
use super::held::{Held, environment, not_started, rlimits};
use crate::confine::Network;
use crate::gate::Prepared;
use crate::guarantee::Guarantee;
use crate::limits::{ByteCount, Limits, Processors};
use crate::outcome::Failure;
use crate::plan::Plan;
use crate::tier::{Description, Step};

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: Plan, yard: &Yard) -> Result<Held, Failure> {
    let (prepared, description) = plan.into_parts();
    let Description { steps, mut enforcement } = description;
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let (program, cwd) = (c_path(&cleared.program_path)?, c_path(&cleared.cwd_path)?);
    let mut jail = Jail::new(&program, &cwd);
    let cover = cover::look(&confinement.files)?;
    // A box that waits covers the files that were there when it was made.
    jail.stamp = cover.stamp();
    let absent = absent::watched(&cover.absent)?;
    let mounts = mounts(&confinement.files, &cover.present)?;
    jail.landlock = steps.contains(&Step::Landlock).then(|| landlock(&mounts));
    let disk = watched_disk(&mounts, &confinement.limits)?;
    jail.root = Some(mounts);
    (jail.network, jail.filter) = network(confinement.network);
    jail.processes_max = confinement.limits.processes;
    let ready = yard.ready(jail, tree_limits(&confinement.limits)).map_err(not_boxed)?;
    if let Some(seen) = ready.attested() {
        if !seen.missing.is_empty() {
            return Err(incomplete(&seen.missing));
        }
        credit(&mut enforcement, seen);
    }
    settle(&mut enforcement, ready.cgroup(), &confinement)?;
    cover::admit_weaknesses(&mut enforcement, &cover.present);
    let mut rlimits = rlimits(&confinement)?;
    // The box's user namespace has a count of its own, so that this holds for the box alone.
    rlimits.processes = tasks_max(&confinement.limits).map(u64::from);
    if ready.cgroup().is_some_and(|cgroup| cgroup.kept().contains(&Controller::Memory)) {
        // The tree's memory is bounded, and some programs reserve far more than they use.
        rlimits.address_space_bytes = None;
    }
    let spec = Spec {
        program: cleared.program,
        script: cleared.script,
        argv: cleared.argv.to_c_strings(),
        env: environment(&confinement, OsStr::new(HOME), OsStr::new(TEMPORARY))?,
        cwd: cleared.cwd,
        stdin: if cleared.stdin.is_empty() { Stdin::Empty } else { Stdin::Piped },
        rlimits,
        processes_max: confinement.limits.processes,
        signal_scope: None,
    };
    let started = Instant::now();
    let running = ready.run(spec, &program, &cwd).map_err(not_boxed)?;
    Ok(Held {
        running,
        scratch: None,
        started,
        stdin: cleared.stdin,
        confinement,
        tier,
        enforcement,
        absent,
        disk,
        covered: cover.present,
        dies_at_once: true,
    })
}

/// How full the disk is that the box can write.
fn watched_disk(mounts: &[Mount], limits: &Limits) -> Result<Option<Disk>, Failure> {
    let writable = mounts.iter().filter_map(|mount| {
        let Mount::Bind { source, target, access: Access::Writable } = mount else { return None };
        Some((PathBuf::from(OsStr::from_bytes(target.to_bytes())), source.as_fd()))
    });
    Disk::before(writable, limits).map_err(|error| {
        let mut failure = Failure::new("watch the disk", error.to_string());
        failure.guarantee = Some(Guarantee::Disk.to_string());
        failure
    })
}

fn not_boxed(error: StartError) -> Failure {
    not_started(error).remedy(
        "stockade doctor tells what this machine can keep; --tier process runs without a box, and \
         says in its enforcement what that does not keep",
    )
}

/// Limits for the tree: memory, a ceiling on tasks, and a share of the processors.
fn tree_limits(limits: &Limits) -> CgroupLimits {
    CgroupLimits {
        memory_bytes_max: limits.memory.map(ByteCount::get),
        tasks_max: tasks_max(limits),
        cpu_millis_per_second: limits.cpus.map(Processors::thousandths),
    }
}

/// The kernel's ceiling on tasks, threads included: above the limit on processes, at which the
/// keeper ends the tree.
fn tasks_max(limits: &Limits) -> Option<u32> {
    const THREADS_BESIDES: u32 = 64;
    limits.processes.map(|most| most.saturating_mul(2).saturating_add(THREADS_BESIDES))
}

fn network(network: Network) -> (BoxNetwork, Option<Filter>) {
    let (network, sockets) = match network {
        Network::None => (BoxNetwork::None, Sockets::Unix),
        Network::Host => (BoxNetwork::Host, Sockets::Internet),
    };
    (network, Some(Filter { sockets, tracing: Tracing::Forbidden }))
}
