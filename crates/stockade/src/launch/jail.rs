//! The `jail` tier, applied: turns the plan's files and network into a box.

mod broker;
mod build;
mod cache;
mod masks;
mod exceptions;
mod fallback;
mod unenforced;
mod git_files;
mod interpreter_box;
mod enforcement;
mod created_paths;
mod links;
mod other_names;
mod root;
mod search;
mod name_filter;
mod patterns;
mod walk;
mod without_namespaces;

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::FileType;
use stockade_sandbox::{
    Access, Folder as InBox, Mechanism, Mount, PreparedSandbox, Program, SandboxPool,
};

pub(super) use self::broker::is_to_blame as is_broker_to_blame;
pub(super) use self::build::JailSetup;
pub(super) use self::created_paths::CreatedPaths;
use self::enforcement::{credit, incomplete};
pub(super) use self::enforcement::{lose_mechanisms, require_kept, settle};
use self::fallback::Unavailable;
pub(super) use self::fallback::start;
pub(super) use self::interpreter_box::{
    InterpreterRequest, PathState, path_state, start_interpreter,
};
pub(super) use self::masks::{
    MaskedPath, PathMasks, admit_shipped, admit_weaknesses, find as find_masks, lose_replaced,
};
pub use self::patterns::{SearchResult, search};
use self::root::c_path;
pub(super) use self::root::{not_whole_machine, placed};
#[cfg(test)]
pub(super) use self::without_namespaces::start as start_without_namespaces;
use super::absent::{self, Absent, Writable};
use super::disk::Disk;
use super::git::GitSettings;
use super::ports::{OpenPorts, TakenPortPolicy};
use super::run::{Guards, SupervisedRun};
use super::session::{GuardedFolder, JoinedCall, admit_shared_ports, guarded};
use super::setup::Setup;
use super::spec::{added, input, not_started, spec};
use super::tree::ProgramTree;
use crate::confine::AgentFolder;
use crate::gate::ProgramWork;
use crate::guarantee::{Enforced, Guarantee};
use crate::limits::Limits;
use crate::outcome::{Failure, FailureKind};
use crate::plan::{Requirements, Terms};
use crate::tier::Tier;

/// A box that waits for its program.
struct PreparedJail {
    ready: PreparedSandbox,
    cover: PathMasks,
    absent: Vec<Absent>,
    writable: Vec<Writable>,
    repositories: Vec<GuardedFolder>,
    disk: Option<Disk>,
    program: CString,
    folder: InBox,
}

/// Makes the sandbox that was planned.
fn make(
    (cleared, until): (&ProgramWork, Instant),
    setup: &JailSetup,
    pool: &SandboxPool,
    joined: Option<&JoinedCall>,
) -> Result<PreparedJail, Unavailable> {
    let common = &setup.common;
    let program = c_path(&cleared.opened()?.path)?;
    let cover = masks::find(common, until)?;
    let folder = in_box(cleared, common, &cover)?;
    let mut jail = setup.jail(&program, &cover, joined)?;
    if let InBox::Hidden(place) = &folder {
        jail.cwd.clone_from(place);
    }
    let mounts = jail.root.as_deref().unwrap_or_default();
    let agent = common.files.agent.as_ref();
    let writable = writable_in(mounts, agent)?;
    let repositories = guarded(&writable, mounts);
    let absent = absent::watched(&cover.unenforced(), &common.files, &writable)?;
    let disk = disk_of_box(mounts, agent, &common.limits)?;
    let has_broker = !jail.forbidden.is_empty();
    let ready = pool.ready(jail, common.cgroup);
    let ready = ready.map_err(|error| match error {
        error if has_broker && broker::is_to_blame(error) => broker::not_started(error).into(),
        error => Unavailable::at(error),
    })?;
    let made = PreparedJail { ready, cover, absent, writable, repositories, disk, program, folder };
    Ok(made)
}

/// Where in the box the program starts: in the folder that was judged, or where the box hides it.
fn in_box(cleared: &ProgramWork, setup: &Setup, cover: &PathMasks) -> Result<InBox, Failure> {
    let Some(path) = cleared.folder.path() else {
        let home = setup.environment.as_ref().and_then(|environment| environment.home);
        let temporary = home.map_or("/", |[_, temporary]| temporary);
        return Ok(InBox::Any(c_path(temporary.as_ref())?));
    };
    let is_hidden = cover.hidden().any(|hidden| path.starts_with(hidden));
    let place = c_path(path)?;
    Ok(if is_hidden { InBox::Hidden(place) } else { InBox::Judged(place) })
}

/// Runs the program in its box, if that is as it has to be.
fn run(
    (cleared, terms): (ProgramWork, Terms),
    enforcement: Vec<Enforced>,
    setup: JailSetup,
    made: PreparedJail,
    joined: Option<JoinedCall>,
) -> Result<SupervisedRun, Failure> {
    let counts_cpu = setup.common.limits.cpu.is_some();
    let mut enforcement = kept_by(&made, enforcement, (&terms.require, counts_cpu))?;
    if let Some(joined) = &joined {
        admit_shared_ports(&mut enforcement, terms.shared_network, &setup, joined)?;
    }
    let common = setup.common;
    admit_shipped(&mut enforcement, &made.cover.present, &made.cover.gaps);
    let taken = if joined.is_some() { TakenPortPolicy::Note } else { TakenPortPolicy::Fail };
    let ports = OpenPorts::open(&setup.ports, &made.ready, taken)?;
    let PreparedJail { ready, cover, absent, writable, repositories, disk, program, folder } = made;
    let started = Instant::now();
    let git = GitSettings::for_cover(&cover);
    let spec = spec(&cleared, added(&common, None, &git, ready.cgroup())?)?;
    let running = ready.run(Program { spec, path: program, folder }).map_err(not_started)?;
    let since = CreatedPaths::after(&common.files, &cover, &writable);
    Ok(SupervisedRun {
        tree: ProgramTree::of_sandbox(running),
        scratch: None,
        started,
        input: input(cleared),
        tier: Tier::Jail,
        enforcement,
        guards: Guards { absent, disk, since, covered: cover.present, repositories },
        limits: common.limits,
        hints: terms.hints,
        before: None,
        joined,
        ports,
    })
}

/// What the box keeps, as seen from outside, if that is all that is required.
fn kept_by(
    made: &PreparedJail,
    mut enforcement: Vec<Enforced>,
    (require, counts_cpu): (&Requirements, bool),
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
    settle(&mut enforcement, made.ready.cgroup(), counts_cpu);
    admit_weaknesses(&mut enforcement, &made.cover.present);
    made.cover.gaps.record(&mut enforcement);
    require_kept(&enforcement, require)?;
    Ok(enforcement)
}

/// How full the disk is that the box can write.
fn disk_of_box(
    mounts: &[Mount],
    agent: Option<&AgentFolder>,
    limits: &Limits,
) -> Result<Option<Disk>, Failure> {
    let of_agent =
        all_written(mounts).filter(|(path, handle)| is_of_agent(path, agent) && is_folder(*handle));
    watched_disk(written(mounts, agent).chain(of_agent), limits)
}

/// The folders that the box can write, by the handles that it gets them by.
fn writable_in(mounts: &[Mount], agent: Option<&AgentFolder>) -> Result<Vec<Writable>, Failure> {
    written(mounts, agent).map(|(path, handle)| Writable::opened(path, handle)).collect()
}

/// The folders that the box can write and that are the same on the machine: not those of an agent, in whose
/// place the machine has other ones, or in which nothing is protected.
fn written<'a>(
    mounts: &'a [Mount],
    agent: Option<&AgentFolder>,
) -> impl Iterator<Item = (PathBuf, BorrowedFd<'a>)> {
    all_written(mounts).filter(move |(path, _)| !is_of_agent(path, agent))
}

fn is_of_agent(path: &Path, agent: Option<&AgentFolder>) -> bool {
    agent.is_some_and(|agent| path.starts_with(&agent.path))
}

fn is_folder(handle: BorrowedFd<'_>) -> bool {
    let stat = rustix::fs::fstat(handle);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn all_written(mounts: &[Mount]) -> impl Iterator<Item = (PathBuf, BorrowedFd<'_>)> {
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
        Failure::new(FailureKind::WatchDisk, error.to_string()).with_guarantee(Guarantee::Disk)
    })
}
