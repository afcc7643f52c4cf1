//! The `jail` tier, applied: turns the plan's files and network into a box.

mod broker;
mod cover;
mod draft;
mod forms;
mod gaps;
mod house;
mod kept;
mod locks;
mod made;
mod names;
mod root;
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
    Cover, Covered, admit_weaknesses, look as look_at_covered, lose_replaced,
};
pub(super) use self::draft::Draft;
use self::forms::NotBoxed;
pub(super) use self::forms::start;
pub(super) use self::house::{House, Surroundings, house, surroundings};
use self::kept::{credit, incomplete};
pub(super) use self::kept::{lose_mechanisms, require_kept, settle};
pub(super) use self::made::Made as MadeSince;
use self::root::{HOME, TEMPORARY, c_path, landlock, mounts};
pub(super) use self::root::{SYSTEM, not_whole_machine, placed};
pub use self::sought::{Searched, search};
use super::absent::{self, Absent};
use super::disk::Disk;
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
    disk: Option<Disk>,
    program: CString,
    folder: InBox,
}

/// When a box gets its program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handed {
    /// Before it is looked at, if it can be.
    Early,
    /// When it has been looked at: it is not known before.
    Later,
}

/// Does the steps that make the box, in their order.
fn make(
    cleared: &Cleared,
    confinement: &Confinement,
    steps: &[Step],
    (yard, draft): (&Yard, Option<Draft>),
    handed: Handed,
) -> Result<Made, NotBoxed> {
    let program = c_path(&cleared.opened()?.path)?;
    let cover = cover::look(&confinement.files)?;
    let folder = in_box(cleared, &cover)?;
    let absent = absent::watched(&cover.absent, &confinement.files.root)?;
    let jail = match draft.and_then(|draft| draft.of_same(confinement, steps, &cover)) {
        Some(jail) => jail,
        None => described(&program, confinement, steps, &cover)?,
    };
    let disk = disk_of_box(jail.root.as_deref().unwrap_or_default(), &confinement.limits)?;
    let has_broker = !jail.forbidden.is_empty();
    let for_box = |cgroup: Option<&Cgroup>| {
        // What goes wrong is told when it is to run.
        let added = (handed == Handed::Early).then(|| added(cgroup, confinement).ok())??;
        let spec = spec(cleared, added).ok()?;
        Some(Program { spec, path: program.clone(), folder: folder.clone() })
    };
    let ready = yard.ready_for(jail, tree_limits(&confinement.limits), &for_box);
    let ready = ready.map_err(|error| match error {
        error if has_broker && broker::is_to_blame(error) => broker::not_started(error).into(),
        error => NotBoxed::at(error),
    })?;
    Ok(Made { ready, cover, absent, disk, program, folder })
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
    let mounts = mounts(&confinement.files, &cover.present)?;
    jail.landlock = steps.contains(&Step::Landlock).then(|| landlock(&mounts));
    jail.root = Some(mounts);
    if steps.contains(&Step::Broker) {
        jail.forbidden = broker::forbidden(&confinement.files, cover)?;
    }
    jail.network = network_of_box(confinement.network);
    jail.filter = Some(filter(confinement.network));
    jail.processes_max = confinement.limits.processes;
    Ok(jail)
}

/// Runs the program in its box, if that is as it has to be.
fn run(prepared: Prepared, enforcement: Vec<Enforced>, made: Made) -> Result<Held, Failure> {
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let enforcement = kept_by(&made, enforcement, &confinement)?;
    let Made { ready, cover, absent, disk, program, folder } = made;
    let started = Instant::now();
    let running = if ready.is_handed() {
        ready.go()
    } else {
        let spec = spec(&cleared, added(ready.cgroup(), &confinement)?)?;
        ready.run(Program { spec, path: program, folder })
    };
    let running = running.map_err(not_started)?;
    Ok(Held {
        subject: Subject::from(running),
        scratch: None,
        started,
        stdin: input(cleared),
        tier,
        enforcement,
        absent,
        disk,
        since: MadeSince::after(&confinement.files, &cover),
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
            broker::forget(&mut enforcement);
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
fn added(cgroup: Option<&Cgroup>, confinement: &Confinement) -> Result<Added, Failure> {
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
        env: environment(confinement, OsStr::new(HOME), OsStr::new(TEMPORARY))?,
        rlimits,
        processes_max: confinement.limits.processes,
        signal_scope: None,
        scratch: PathBuf::from("/"),
    })
}

/// How full the disk is that the box can write.
fn disk_of_box(mounts: &[Mount], limits: &Limits) -> Result<Option<Disk>, Failure> {
    let writable = mounts.iter().filter_map(|mount| {
        let Mount::Bind { source, target, access: Access::Writable } = mount else { return None };
        Some((PathBuf::from(OsStr::from_bytes(target.to_bytes())), source.as_fd()))
    });
    watched_disk(writable, limits)
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
