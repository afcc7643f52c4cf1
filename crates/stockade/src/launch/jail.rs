//! The `jail` tier, applied: turns the plan's files and network into a box.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use stockade_linux::{
    Access, Cgroup, CgroupLimits, Controller, Filter, Jail, Landlock, Mount, Network as BoxNetwork,
    ProcView, Rule, Sockets, Spec, Stdin, Tracing, rights,
};

use super::held::{Held, environment, not_started, rlimits};
use crate::confine::{Confinement, Files, Network};
use crate::gate::Prepared;
use crate::guarantee::{Enforced, Guarantee};
use crate::limits::{ByteCount, Limits};
use crate::outcome::Failure;
use crate::plan::Plan;
use crate::tier::{Description, Step};

/// What a box shows of the system, to be read.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
];
const HOME: &str = "/tmp/home";
const TEMPORARY: &str = "/tmp";
const TEMPORARY_BYTES: u64 = 1 << 30;
const TEMPORARY_FILES: u64 = 1 << 18;
const SHARED_MEMORY_BYTES: u64 = 256 << 20;

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: Plan) -> Result<Held, Failure> {
    let (prepared, description) = plan.into_parts();
    let Description { steps, mut enforcement } = description;
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let mut jail = Jail::new(&c_path(&cleared.program_path)?, &c_path(&cleared.cwd_path)?);
    let mounts = mounts(&confinement.files)?;
    jail.landlock = steps.contains(&Step::Landlock).then(|| landlock(&mounts));
    jail.root = Some(mounts);
    (jail.network, jail.filter) = network(confinement.network);
    let cgroup = Cgroup::create(tree_limits(&confinement.limits));
    settle(&mut enforcement, &cgroup, &confinement)?;
    let mut rlimits = rlimits(&confinement)?;
    if cgroup.kept().contains(&Controller::Memory) {
        // The tree's memory is bounded, and some programs reserve far more than they use.
        rlimits.address_space_bytes = None;
    }
    jail.cgroup = Some(cgroup);
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
    let running = stockade_linux::start_jailed(spec, jail).map_err(|error| {
        not_started(error).remedy(
            "run stockade where user namespaces are allowed, or choose --tier process and read \
             in its enforcement what that does not keep",
        )
    })?;
    Ok(Held {
        running,
        scratch: None,
        started,
        stdin: cleared.stdin,
        confinement,
        tier,
        enforcement,
        dies_at_once: true,
    })
}

/// Limits for the tree: memory, and a ceiling on tasks somewhat above the limit on processes, at
/// which the keeper ends the tree.
fn tree_limits(limits: &Limits) -> CgroupLimits {
    const THREADS_BESIDES: u32 = 64;
    CgroupLimits {
        memory_bytes_max: limits.memory.map(ByteCount::get),
        tasks_max: limits
            .processes
            .map(|most| most.saturating_mul(2).saturating_add(THREADS_BESIDES)),
        cpu_millis_per_second: None,
    }
}

/// Says what the cgroups keep, which only their making shows.
fn settle(
    enforcement: &mut [Enforced],
    cgroup: &Cgroup,
    confinement: &Confinement,
) -> Result<(), Failure> {
    let Some(line) = enforcement.iter_mut().find(|one| one.guarantee == Guarantee::TreeLimits)
    else {
        return Ok(());
    };
    if cgroup.missing().is_empty() {
        *line = Enforced::full(Guarantee::TreeLimits, &["cgroup", "keeper-count"]);
    } else {
        let missing = |(one, errno): &(Controller, stockade_linux::Errno)| {
            format!("no cgroup for {one}: {errno}")
        };
        let missing: Vec<String> = cgroup.missing().iter().map(missing).collect();
        let why = line.note.take().unwrap_or_default();
        line.note = Some(format!("{why} ({})", missing.join("; ")));
    }
    match confinement.require.get(&Guarantee::TreeLimits) {
        Some(required) if line.kept < *required => {
            let mut failure = Failure::new("limit the tree", line.note.clone().unwrap_or_default())
                .remedy(
                    "give this user a cgroup (systemd-run --user --scope), or lower box.require",
                );
            failure.guarantee = Some(Guarantee::TreeLimits.to_string());
            Err(failure)
        }
        Some(_) | None => Ok(()),
    }
}

fn network(network: Network) -> (BoxNetwork, Option<Filter>) {
    let (network, sockets) = match network {
        Network::None => (BoxNetwork::None, Sockets::Unix),
        Network::Host => (BoxNetwork::Host, Sockets::Internet),
    };
    (network, Some(Filter { sockets, tracing: Tracing::Forbidden }))
}

/// The root of the box, in the order in which it is made.
fn mounts(files: &Files) -> Result<Vec<Mount>, Failure> {
    if files.root == Path::new("/") {
        return Err(files_failure(
            "show the project",
            "the whole machine cannot be the project of a box",
        )
        .remedy("name a folder with --root"));
    }
    let mut mounts = Vec::new();
    for folder in SYSTEM.iter().map(Path::new).filter(|folder| folder.exists()) {
        mounts.push(Mount::read_only(&c_path(folder)?).map_err(|error| unshown(folder, &error))?);
    }
    let devices = Mount::devices(SHARED_MEMORY_BYTES);
    mounts.extend(devices.map_err(|error| unshown(Path::new("/dev"), &error))?);
    mounts.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    mounts.push(Mount::Memory {
        target: c_path(Path::new(TEMPORARY))?,
        bytes_max: TEMPORARY_BYTES,
        files_max: TEMPORARY_FILES,
        mode: 0o1777,
    });
    if !files.write.contains(&files.root) {
        mounts.push(bind(&files.root, Access::ReadOnly)?);
    }
    for path in &files.read {
        mounts.push(bind(path, Access::ReadOnly)?);
    }
    for path in &files.write {
        mounts.push(bind(path, Access::Writable)?);
    }
    mounts.push(Mount::Folder { target: c_path(Path::new(HOME))?, mode: 0o1777 });
    cover(files, &mut mounts)?;
    Ok(mounts)
}

/// Hides and protects what is there, and pins every folder on the way down to it, so that none can
/// be moved aside with what it holds.
fn cover(files: &Files, mounts: &mut Vec<Mount>) -> Result<(), Failure> {
    let is_there = |path: &&PathBuf| std::fs::symlink_metadata(path).is_ok();
    let mut pinned: Vec<PathBuf> = Vec::new();
    for path in files.hide.iter().chain(&files.protect).filter(is_there) {
        for folder in files.write.iter().filter(|folder| path.starts_with(folder)) {
            let above: Vec<&Path> =
                path.ancestors().skip(1).take_while(|above| above != folder).collect();
            for above in above.into_iter().rev() {
                if !pinned.iter().any(|pinned| pinned == above) {
                    pinned.push(above.to_owned());
                    mounts.push(Mount::Pin { target: c_path(above)? });
                }
            }
        }
    }
    for path in files.hide.iter().filter(is_there) {
        mounts.push(Mount::Hide { target: c_path(path)? });
    }
    for path in files.protect.iter().filter(is_there) {
        mounts.push(Mount::Protect { target: c_path(path)? });
    }
    Ok(())
}

/// The second lock: the same folders, by the rights that each has.
fn landlock(mounts: &[Mount]) -> Landlock {
    let allow = |path: &str, rights| CString::new(path).ok().map(|path| Rule { path, rights });
    let mut rules: Vec<Rule> = [
        allow("/", rights::LIST),
        allow("/dev", rights::READ | rights::WRITE | rights::DEVICE),
        allow("/proc", rights::READ | rights::WRITE),
        allow(TEMPORARY, rights::READ | rights::WRITE),
    ]
    .into_iter()
    .flatten()
    .collect();
    for mount in mounts {
        let Mount::Bind { target, access, .. } = mount else { continue };
        let rights = match access {
            Access::ReadOnly => rights::READ,
            Access::Writable => rights::READ | rights::WRITE,
            Access::Device => continue,
        };
        rules.push(Rule { path: target.clone(), rights });
    }
    Landlock { rules }
}

fn bind(path: &Path, access: Access) -> Result<Mount, Failure> {
    Mount::bind(&c_path(path)?, access).map_err(|error| unshown(path, &error))
}

fn c_path(path: &Path) -> Result<CString, Failure> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_nul| files_failure("show a path", "a path holds a NUL byte"))
}

fn unshown(path: &Path, error: &std::io::Error) -> Failure {
    files_failure("show a path", &format!("could not open {path:?}: {error}"))
        .remedy("take it out of box.write and box.read, or make it")
}

fn files_failure(step: &str, message: &str) -> Failure {
    let mut failure = Failure::new(step, message);
    failure.guarantee = Some(Guarantee::Writes.to_string());
    failure
}
