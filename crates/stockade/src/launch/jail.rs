//! The `jail` tier, applied: turns the plan's files and network into a box.

mod broker;
mod cache;
mod cover;
mod exceptions;
mod forms;
mod gaps;
mod git_files;
mod house;
mod kept;
mod locks;
mod made;
mod names;
mod root;
mod search;
mod sieve;
mod sought;
mod walk;

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Instant;

use stockade_linux::{
    Access, Cgroup, CgroupLimits, Controller, Filter, Folder as InBox, Jail, Mechanism, Mount,
    Network as BoxNetwork, Program, Ready, Sockets, Tracing, Yard,
};

pub(super) use self::broker::is_to_blame as is_broker_to_blame;
pub(super) use self::cover::{
    Cover, Covered, admit_shipped, admit_weaknesses, look as look_at_covered, lose_replaced,
};
use self::forms::NotBoxed;
pub(super) use self::forms::start;
pub(super) use self::house::{House, Surroundings, house, surroundings};
use self::kept::{credit, incomplete};
pub(super) use self::kept::{lose_mechanisms, require_kept, settle};
pub(super) use self::made::Made as MadeSince;
use self::root::{HOME, TEMPORARY, c_path, landlock, mounts};
pub(super) use self::root::{SYSTEM, not_whole_machine, placed};
pub use self::sought::{Searched, search};
use super::absent::{self, Absent, Writable};
use super::disk::Disk;
use super::git::GitSettings;
use super::held::Held;
use super::spec::{Added, environment, input, not_started, rlimits_of_each, spec};
use super::subject::Subject;
use crate::confine::{Confinement, Network};
use crate::gate::{Cleared, Prepared};
use crate::guarantee::{Enforced, Guarantee};
use crate::limits::{ByteCount, Limits, Processors};
use crate::outcome::Failure;
use crate::tier::Step;

/// A box that waits for its program.
struct Made {
    ready: Ready,
    cover: Cover,
    absent: Vec<Absent>,
    writable: Vec<Writable>,
    disk: Option<Disk>,
    program: CString,
    folder: InBox,
}

/// Does the steps that make the box, in their order.
fn make(
    (cleared, until): (&Cleared, Instant),
    confinement: &Confinement,
    steps: &[Step],
    yard: &Yard,
) -> Result<Made, NotBoxed> {
    let program = c_path(&cleared.opened()?.path)?;
    let cover = cover::look(&confinement.files, until)?;
    let folder = in_box(cleared, &cover)?;
    let mut jail = described(&program, confinement, steps, &cover)?;
    if let InBox::Hidden(place) = &folder {
        jail.cwd.clone_from(place);
    }
    let mounts = jail.root.as_deref().unwrap_or_default();
    let writable = writable_in(mounts)?;
    let absent = absent::watched(&cover.unenforced(), &confinement.files, &writable)?;
    let disk = disk_of_box(mounts, &confinement.limits)?;
    let has_broker = !jail.forbidden.is_empty();
    let ready = yard.ready(jail, tree_limits(&confinement.limits));
    let ready = ready.map_err(|error| match error {
        error if has_broker && broker::is_to_blame(error) => broker::not_started(error).into(),
        error => NotBoxed::at(error),
    })?;
    Ok(Made { ready, cover, absent, writable, disk, program, folder })
}

/// Where in the box the program starts: in the folder that was judged, or where the box hides it.
fn in_box(cleared: &Cleared, cover: &Cover) -> Result<InBox, Failure> {
    let Some(path) = cleared.folder.path() else {
        return Ok(InBox::Any(c_path(TEMPORARY.as_ref())?));
    };
    let is_hidden = cover.hidden().any(|hidden| path.starts_with(hidden));
    let place = c_path(path)?;
    Ok(if is_hidden { InBox::Hidden(place) } else { InBox::Judged(place) })
}

/// The box, written down. A yard does not use the program and has no folder for it.
fn described(
    program: &CStr,
    confinement: &Confinement,
    steps: &[Step],
    cover: &Cover,
) -> Result<Jail, Failure> {
    let mut jail = Jail::new(program, c"/");
    // A box that waits covers the files that were there when it was made.
    jail.stamp = cover.stamp();
    let mounts = mounts(&confinement.files, cover)?;
    jail.landlock = steps.contains(&Step::Landlock).then(|| landlock(&mounts));
    jail.root = Some(mounts);
    if steps.contains(&Step::Broker) {
        jail.forbidden = broker::forbidden(&confinement.files, cover)?;
    }
    if steps.contains(&Step::RefuseCreation) {
        jail.refused = broker::refused(cover, jail.root.as_deref().unwrap_or_default())?;
    }
    jail.network = network_of_box(confinement.network);
    jail.filter = Some(filter(confinement.network));
    jail.processes_max = confinement.limits.processes;
    Ok(jail)
}

/// Runs the program in its box, if that is as it has to be.
fn run(prepared: Prepared, enforcement: Vec<Enforced>, made: Made) -> Result<Held, Failure> {
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let mut enforcement = kept_by(&made, enforcement, &confinement)?;
    admit_shipped(&mut enforcement, &made.cover.present, &made.cover.gaps);
    let Made { ready, cover, absent, writable, disk, program, folder } = made;
    let started = Instant::now();
    let spec = spec(&cleared, added(ready.cgroup(), &confinement, &cover)?)?;
    let running = ready.run(Program { spec, path: program, folder }).map_err(not_started)?;
    Ok(Held {
        subject: Subject::from(running),
        scratch: None,
        started,
        stdin: input(cleared),
        tier,
        enforcement,
        absent,
        disk,
        since: MadeSince::after(&confinement.files, &cover, &writable),
        covered: cover.present,
        confinement,
        dies_at_once: true,
        eye: None,
    })
}

/// What the box keeps, as seen from outside, if that is all that is required.
fn kept_by(
    made: &Made,
    mut enforcement: Vec<Enforced>,
    confinement: &Confinement,
) -> Result<Vec<Enforced>, Failure> {
    if let Some(seen) = made.ready.attested() {
        if !seen.missing.is_empty() {
            return Err(incomplete(&seen.missing));
        }
        if !seen.kept.contains(&Mechanism::Broker) {
            broker::forget(&mut enforcement, Mechanism::Broker.name());
        }
        if made.absent.is_empty() {
            broker::forget(&mut enforcement, "notification");
        }
        credit(&mut enforcement, seen);
    }
    settle(&mut enforcement, made.ready.cgroup(), confinement);
    admit_weaknesses(&mut enforcement, &made.cover.present);
    made.cover.gaps.admit(&mut enforcement);
    require_kept(&enforcement, confinement)?;
    Ok(enforcement)
}

/// How much more than a cgroup the limit of the user allows.
const ABOVE_CGROUP: u64 = 16;

/// What a box adds to a program.
fn added(
    cgroup: Option<&Cgroup>,
    confinement: &Confinement,
    cover: &Cover,
) -> Result<Added, Failure> {
    let mut rlimits = rlimits_of_each(confinement);
    let keeps = |controller| cgroup.is_some_and(|cgroup| cgroup.kept().contains(&controller));
    // The box's user namespace has a count of its own, so that this holds for the box alone. A
    // cgroup has to be the first to refuse, for it counts that.
    let above = if keeps(Controller::Tasks) { ABOVE_CGROUP } else { 0 };
    let tasks_max = tasks_max(&confinement.limits).map(u64::from);
    rlimits.processes = tasks_max.map(|most| most.saturating_add(above));
    if keeps(Controller::Memory) {
        // The tree's memory is bounded, and some programs reserve far more than they use.
        rlimits.address_space_bytes = None;
    }
    Ok(Added {
        env: environment(
            confinement,
            OsStr::new(HOME),
            OsStr::new(TEMPORARY),
            &GitSettings::for_cover(cover),
        )?,
        rlimits,
        processes_max: confinement.limits.processes,
        signal_scope: None,
        scratch: PathBuf::from("/"),
    })
}

/// How full the disk is that the box can write.
fn disk_of_box(mounts: &[Mount], limits: &Limits) -> Result<Option<Disk>, Failure> {
    watched_disk(written(mounts), limits)
}

/// The folders that the box can write, by the handles that it gets them by.
fn writable_in(mounts: &[Mount]) -> Result<Vec<Writable>, Failure> {
    written(mounts).map(|(path, handle)| Writable::opened(path, handle)).collect()
}

fn written(mounts: &[Mount]) -> impl Iterator<Item = (PathBuf, BorrowedFd<'_>)> {
    mounts.iter().filter_map(|mount| {
        let Mount::Bind { source, target, access: Access::Writable } = mount else { return None };
        // One in a protected folder is part of a folder that is listed already.
        if mounts.iter().any(|other| protects(other, target)) {
            return None;
        }
        Some((PathBuf::from(OsStr::from_bytes(target.to_bytes())), source.as_fd()))
    })
}

/// Whether a mount protects a folder in which this path lies.
fn protects(mount: &Mount, path: &CStr) -> bool {
    let Mount::Protect { target } = mount else { return false };
    let rest = path.to_bytes().strip_prefix(target.to_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}

/// How full the disk is in these folders.
fn watched_disk<'a>(
    writable: impl Iterator<Item = (PathBuf, BorrowedFd<'a>)>,
    limits: &Limits,
) -> Result<Option<Disk>, Failure> {
    Disk::before(writable, limits).map_err(|error| {
        let mut failure = Failure::new("watch the disk", error.to_string());
        failure.guarantee = Some(Guarantee::Disk.to_string());
        failure
    })
}

/// Limits for the tree: memory, a ceiling on tasks, and a share of the processors.
pub(super) fn tree_limits(limits: &Limits) -> CgroupLimits {
    CgroupLimits {
        memory_bytes_max: limits.memory.map(ByteCount::get),
        tasks_max: tasks_max(limits),
        cpu_millis_per_second: limits.cpus.map(Processors::thousandths),
    }
}

/// The kernel's ceiling on tasks, threads included: above the limit on processes, at which the
/// keeper ends the tree.
pub(super) fn tasks_max(limits: &Limits) -> Option<u32> {
    const THREADS_BESIDES: u32 = 64;
    limits.processes.map(|most| most.saturating_mul(2).saturating_add(THREADS_BESIDES))
}

/// What a box has of the network.
pub(super) fn network_of_box(network: Network) -> BoxNetwork {
    match network {
        Network::None => BoxNetwork::None,
        Network::Host => BoxNetwork::Host,
    }
}

fn filter(network: Network) -> Filter {
    let sockets = match network {
        Network::None => Sockets::Unix,
        Network::Host => Sockets::Internet,
    };
    Filter { sockets, tracing: Tracing::Forbidden }
}
