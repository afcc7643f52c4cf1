//! The `jail` tier where namespaces are refused, applied: Landlock, the filter and the keeper, on
//! the machine's own files.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{CWD, Mode, OFlags};
use stockade_linux::{Cgroup, Controller, Filter, Jail, Landlock, Rule, Sockets, Tracing, rights};

use super::cover::{self, Covered};
use super::kept::{credit, incomplete, require_kept, settle};
use super::root::{SYSTEM, c_path, files_failure, not_whole_machine, placed};
use super::{MadeSince, tree_limits, watched_disk};
use crate::confine::{Files, Network, Shown};
use crate::gate::Prepared;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::inspect::real_folder;
use crate::launch::absent::{self, Writable};
use crate::launch::disk::Disk;
use crate::launch::git::GitSettings;
use crate::launch::held::Held;
use crate::launch::own;
use crate::launch::scratch::{Room, Scratch, unscratched};
use crate::launch::spec::{Added, environment, input, not_started, rlimits, signal_scope, spec};
use crate::launch::subject::Subject;
use crate::limits::Limits;
use crate::outcome::Failure;
use crate::tier::Description;
use crate::tier::locks::is_within;

/// Devices that give and keep nothing.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Does the steps of the plan, in their order.
pub(super) fn start(
    prepared: Prepared,
    description: Description,
    until: Instant,
) -> Result<Held, Failure> {
    let Description { steps, mut enforcement } = description;
    let Prepared { cleared, confinement, tier, .. } = prepared;
    own::none_exposed(&confinement.files)?;
    let granted = Granted::of(&confinement.files)?;
    let cover = cover::look(&confinement.files, until)?;
    granted.admit_exposed(&mut enforcement, &cover.present);
    cover.gaps.admit(&mut enforcement);
    let writable = Writable::of(&confinement.files)?;
    let since = MadeSince::after(&confinement.files, &cover, &writable);
    let cgroup = Cgroup::create(tree_limits(&confinement.limits));
    settle(&mut enforcement, Some(&cgroup), &confinement);
    require_kept(&enforcement, &confinement)?;
    cover::admit_shipped(&mut enforcement, &cover.present, &cover.gaps);
    // Here nothing keeps what is in a protected folder, so that all is watched.
    let absent = absent::watched(&cover.absent, &confinement.files, &writable)?;
    let scratch =
        Scratch::make(Room::Much, Some(&confinement.files)).map_err(|error| unscratched(&error))?;
    link_toolchains(&confinement.files.toolchains, scratch.path())
        .map_err(|error| unscratched(&error))?;
    let disk = granted.disk(scratch.path(), &confinement.limits)?;
    let landlock = granted.landlock(scratch.path())?;
    let program = c_path(&cleared.opened()?.path)?;
    let mut jail = Jail::locks_only(&program, landlock);
    jail.filter = Some(filter(confinement.network));
    let mut rlimits = rlimits(&confinement)?;
    if cgroup.kept().contains(&Controller::Memory) {
        rlimits.address_space_bytes = None;
    }
    jail.cgroup = Some(cgroup);
    let own_folder = scratch.path().as_os_str();
    let added = Added {
        env: environment(&confinement, own_folder, own_folder, &GitSettings::default())?,
        rlimits,
        processes_max: confinement.limits.processes,
        signal_scope: signal_scope(&steps)?,
        scratch: scratch.path().to_owned(),
    };
    let spec = spec(&cleared, added)?;
    let dies_at_once = spec.signal_scope.is_some();
    let started = Instant::now();
    let mut missing = Vec::new();
    let running = stockade_linux::start_jailed_if(spec, jail, |seen| {
        missing.clone_from(&seen.missing);
        seen.missing.is_empty()
    })
    .map_err(|error| if missing.is_empty() { not_started(error) } else { incomplete(&missing) })?;
    if let Some(seen) = running.attested() {
        credit(&mut enforcement, seen);
    }
    Ok(Held {
        subject: Subject::from(running),
        scratch: Some(scratch),
        started,
        stdin: input(cleared),
        confinement,
        tier,
        enforcement,
        absent,
        disk,
        covered: Vec::new(),
        since,
        dies_at_once,
        eye: None,
    })
}

/// The folders that can be written and read, by their real paths.
struct Granted {
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
}

impl Granted {
    fn of(files: &Files) -> Result<Self, Failure> {
        not_whole_machine(files)?;
        let place = |paths: &[PathBuf]| {
            paths.iter().map(|path| placed(path, &files.root)).collect::<Result<Vec<_>, _>>()
        };
        let mut read = place(&files.read)?;
        let toolchains = files.toolchains.iter().map(|one| &one.path);
        // One that has gone since is not missed.
        let toolchains: Vec<_> = toolchains.filter(|path| path.exists()).cloned().collect();
        read.extend(place(&toolchains)?);
        read.push(files.root.clone());
        // A link here leads to another of them, or to where the system keeps it.
        read.extend(SYSTEM.iter().filter_map(|folder| real_folder(Path::new(folder)).ok()));
        Ok(Self { write: place(&files.write)?, read })
    }

    /// Says of hidden and protected paths that lie in what is granted that nothing keeps them.
    fn admit_exposed(&self, enforcement: &mut [Enforced], present: &[Covered]) {
        for one in present {
            let (is_exposed, what) = if one.guarantee == Guarantee::Reads {
                (is_within(&one.path, self.write.iter().chain(&self.read)), "hidden")
            } else {
                (is_within(&one.path, &self.write), "protected")
            };
            if !is_exposed {
                continue;
            }
            for line in enforcement.iter_mut().filter(|line| line.guarantee == one.guarantee) {
                line.kept = Kept::None;
                line.by.clear();
                line.note = Some(format!(
                    "{:?} is to be {what} and lies in a folder that is granted, within which \
                     Landlock keeps nothing",
                    one.path
                ));
            }
        }
    }

    /// How full the disk is that can be written.
    fn disk(&self, scratch: &Path, limits: &Limits) -> Result<Option<Disk>, Failure> {
        let open = |path: &Path| {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = rustix::fs::openat(CWD, path, flags, Mode::empty());
            handle.map(|handle| (path.to_owned(), handle)).map_err(|errno| {
                files_failure("watch the disk", &format!("could not open {path:?}: {errno}"))
            })
        };
        let folders = self.write.iter().map(PathBuf::as_path).chain([scratch]);
        let folders = folders.map(open).collect::<Result<Vec<_>, _>>()?;
        watched_disk(folders.iter().map(|(path, handle)| (path.clone(), handle.as_fd())), limits)
    }

    fn landlock(&self, scratch: &Path) -> Result<Landlock, Failure> {
        let rule = |path: &Path, rights| Ok(Rule { path: c_path(path)?, rights });
        let both = rights::READ | rights::WRITE;
        let scratch = real_folder(scratch)
            .map_err(|errno| Failure::new("open the scratch folder", errno.to_string()))?;
        let mut rules = vec![rule(Path::new("/proc"), rights::READ)?, rule(&scratch, both)?];
        for device in DEVICES.iter().map(Path::new).filter(|device| device.exists()) {
            rules.push(rule(device, both | rights::DEVICE)?);
        }
        for path in &self.read {
            rules.push(rule(path, rights::READ)?);
        }
        for path in &self.write {
            rules.push(rule(path, both)?);
        }
        Ok(Landlock { rules })
    }
}

/// Lays links where tools look for toolchains in the home folder, which is the scratch folder here.
fn link_toolchains(shown: &[Shown], home: &Path) -> std::io::Result<()> {
    for one in shown.iter().filter(|one| one.path.exists()) {
        for (in_home, to) in &one.links {
            let link = home.join(in_home);
            if let Some(folder) = link.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::os::unix::fs::symlink(to, link)?;
        }
    }
    Ok(())
}

/// Sockets with paths lie outside Landlock's rules, and lead out of them.
fn filter(network: Network) -> Filter {
    let sockets = match network {
        Network::None => Sockets::Pairs,
        Network::Host => Sockets::InternetAndPairs,
    };
    Filter { sockets, tracing: Tracing::Forbidden }
}
