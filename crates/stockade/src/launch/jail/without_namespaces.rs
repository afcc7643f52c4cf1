//! The `jail` tier where namespaces are refused, applied: Landlock, the filter and the shim, on the
//! machine's own files.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{CWD, Mode, OFlags};
use stockade_sandbox::{Cgroup, Filter, Jail, Landlock, Rule, rights};

use super::enforcement::{credit, incomplete, require_kept, settle};
use super::masks::{self, MaskedPath};
use super::root::{c_path, files_failure, not_whole_machine, placed};
use super::{CreatedPaths, watched_disk};
use crate::confine::ToolchainPath;
use crate::gate::ProgramWork;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::inspect::real_folder;
use crate::launch::absent::{self, Writable};
use crate::launch::disk::Disk;
use crate::launch::git::GitSettings;
use crate::launch::own;
use crate::launch::run::{Guards, SupervisedRun};
use crate::launch::scratch::unscratched;
use crate::launch::setup::{Setup, has_all, make_scratch, misplaced};
use crate::launch::spec::{added, input, not_started, spec};
use crate::launch::tree::ProgramTree;
use crate::limits::Limits;
use crate::outcome::{Failure, FailureKind};
use crate::plan::describe::is_within;
use crate::plan::ops::{Access, Allow, Op};
use crate::plan::{Description, Terms};
use crate::tier::Tier;

/// What the shim does for every program that is locked without namespaces.
const ALWAYS: [Op; 7] = [
    Op::Shim,
    Op::DropCapabilities,
    Op::NoNewPrivileges,
    Op::Attest,
    Op::CloseDescriptors,
    Op::Exec,
    Op::CleanUp,
];

/// Carries out the plan.
pub(in crate::launch) fn start(
    (cleared, terms): (ProgramWork, Terms),
    description: Description,
    until: Instant,
) -> Result<SupervisedRun, Failure> {
    let Description { ops, mut enforcement } = description;
    let setup = WithoutNamespacesSetup::of(&ops)?;
    let common = &setup.common;
    own::none_exposed(&common.files)?;
    let granted = GrantedFolders::of(&setup)?;
    let cover = masks::find(common, until)?;
    granted.admit_exposed(&mut enforcement, &cover.present);
    cover.gaps.record(&mut enforcement);
    let writable = Writable::of(&common.files)?;
    let since = CreatedPaths::after(&common.files, &cover, &writable);
    let cgroup = Cgroup::create(common.cgroup);
    settle(&mut enforcement, Some(&cgroup), common.limits.cpu.is_some());
    require_kept(&enforcement, &terms.require)?;
    masks::admit_shipped(&mut enforcement, &cover.present, &cover.gaps);
    // Here nothing keeps what is in a protected folder, so that all is watched.
    let absent = absent::watched(&cover.absent, &common.files, &writable)?;
    let scratch = make_scratch(common)?;
    link_toolchains(&common.files.toolchains, scratch.path())
        .map_err(|error| unscratched(&error))?;
    let disk = granted.disk(scratch.path(), &common.limits)?;
    let added = added(common, Some(scratch.path()), &GitSettings::default(), Some(&cgroup))?;
    let mut jail = setup.jail(&cleared, scratch.path())?;
    jail.cgroup = Some(cgroup);
    let spec = spec(&cleared, added)?;
    let is_scoped = spec.signal_scope.is_some();
    let input = input(cleared);
    let started = Instant::now();
    let mut missing = Vec::new();
    let running = stockade_sandbox::start_jailed_if(spec, jail, |seen| {
        missing.clone_from(&seen.missing);
        seen.missing.is_empty()
    })
    .map_err(|error| if missing.is_empty() { not_started(error) } else { incomplete(&missing) })?;
    if let Some(seen) = running.attested() {
        credit(&mut enforcement, seen);
    }
    Ok(SupervisedRun {
        tree: ProgramTree::of_process(running, is_scoped),
        scratch: Some(scratch),
        started,
        input,
        limits: setup.common.limits,
        hints: terms.hints,
        tier: Tier::Jail,
        enforcement,
        guards: Guards { absent, since, disk, ..Guards::default() },
        before: None,
        joined: None,
        ports: None,
    })
}

/// The parts of a jail without namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WithoutNamespacesSetup {
    common: Setup,
    allowed: Vec<Allow>,
    has_landlock: bool,
    filter: Option<Filter>,
}

impl WithoutNamespacesSetup {
    /// What these operations add up to.
    fn of(ops: &[Op]) -> Result<Self, Failure> {
        has_all(ops, &ALWAYS, Tier::Jail)?;
        let mut setup =
            Self { common: Setup::empty(), allowed: Vec::new(), has_landlock: false, filter: None };
        for op in ops {
            setup.add(op)?;
        }
        setup.common = setup.common.complete();
        Ok(setup)
    }

    fn add(&mut self, op: &Op) -> Result<(), Failure> {
        let common = &mut self.common;
        match op {
            Op::Survey(_)
            | Op::Shim
            | Op::DropCapabilities
            | Op::NoNewPrivileges
            | Op::Attest
            | Op::CloseDescriptors
            | Op::Exec
            | Op::CleanUp => {}
            Op::GuardOwn(own) => common.guard_own(own),
            Op::Unenforced(keep, origin, what) => common.leave_unenforced(*keep, *origin, what),
            Op::Scratch(scratch) => common.scratch = Some(scratch.clone()),
            Op::Environment(environment) => common.environment = Some(environment.clone()),
            Op::Check(keep, target) => common.keep(*keep, target),
            Op::Cgroup(limits) => common.cgroup = *limits,
            Op::SignalScope { .. } => common.signal_scope = true,
            Op::Allow(allow) => self.allow(allow),
            Op::Landlock => self.has_landlock = true,
            Op::Seccomp(filter) => self.filter = Some(*filter),
            Op::Rlimit(limit) => common.rlimit(*limit),
            Op::Watch(watch) => common.watch(*watch),
            Op::Namespaces(_)
            | Op::Network(_)
            | Op::JoinSession { .. }
            | Op::Publish(_)
            | Op::HostPort(_)
            | Op::HostName(_)
            | Op::ForbidNesting
            | Op::NewRoot
            | Op::Mount(_)
            | Op::Hide(_)
            | Op::Protect(_)
            | Op::SealRoot
            | Op::Broker
            | Op::RefuseCreation
            | Op::Oci(_)
            | Op::Inline(_) => return Err(misplaced(op, Tier::Jail)),
        }
        Ok(())
    }

    fn allow(&mut self, allow: &Allow) {
        let common = &mut self.common;
        match allow {
            Allow::Project(path) => common.project(path, Access::ReadOnly),
            Allow::Read(path) => common.path(path, Access::ReadOnly),
            Allow::Write(path) => common.path(path, Access::Writable),
            Allow::Toolchain(shown) => common.toolchain(shown),
            Allow::System(_) | Allow::Proc | Allow::Devices(_) | Allow::Scratch => {}
        }
        self.allowed.push(allow.clone());
    }

    /// The locks of a program.
    fn jail(&self, cleared: &ProgramWork, scratch: &Path) -> Result<Jail, Failure> {
        let program = c_path(&cleared.opened()?.path)?;
        let mut jail = Jail::locks_only(&program, self.landlock(scratch)?);
        jail.landlock = jail.landlock.filter(|_| self.has_landlock);
        jail.filter = self.filter;
        Ok(jail)
    }

    fn landlock(&self, scratch: &Path) -> Result<Landlock, Failure> {
        let rule = |path: &Path, rights| Ok(Rule { path: c_path(path)?, rights });
        let both = rights::READ | rights::WRITE;
        let root = &self.common.files.root;
        let mut rules = Vec::new();
        for allow in &self.allowed {
            match allow {
                Allow::Proc => rules.push(rule(Path::new("/proc"), rights::READ)?),
                Allow::Scratch => {
                    let scratch = real_folder(scratch).map_err(|errno| {
                        Failure::new(FailureKind::OpenScratch, errno.to_string())
                    })?;
                    rules.push(rule(&scratch, both)?);
                }
                Allow::Devices(paths) => {
                    for device in paths.iter().map(Path::new).filter(|device| device.exists()) {
                        rules.push(rule(device, both | rights::DEVICE)?);
                    }
                }
                Allow::System(folders) => {
                    for folder in real_folders(folders) {
                        rules.push(rule(&folder, rights::READ)?);
                    }
                }
                Allow::Project(path) => rules.push(rule(path, rights::READ)?),
                Allow::Read(path) => rules.push(rule(&placed(path, root)?, rights::READ)?),
                // One that has gone since is not missed.
                Allow::Toolchain(shown) if shown.path.exists() => {
                    rules.push(rule(&placed(&shown.path, root)?, rights::READ)?);
                }
                Allow::Toolchain(_) => {}
                Allow::Write(path) => rules.push(rule(&placed(path, root)?, both)?),
            }
        }
        Ok(Landlock { rules })
    }
}

/// Where these directories really are: a link leads to another of them, or to where the system keeps
/// it.
fn real_folders(folders: &[&str]) -> impl Iterator<Item = PathBuf> {
    folders.iter().filter_map(|folder| real_folder(Path::new(folder)).ok())
}

/// The folders that can be written and read, by their real paths.
struct GrantedFolders {
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
}

impl GrantedFolders {
    fn of(setup: &WithoutNamespacesSetup) -> Result<Self, Failure> {
        let files = &setup.common.files;
        not_whole_machine(files)?;
        let place = |path: &Path| placed(path, &files.root);
        let (mut write, mut read) = (Vec::new(), Vec::new());
        for allow in &setup.allowed {
            match allow {
                Allow::System(folders) => read.extend(real_folders(folders)),
                Allow::Project(path) => read.push(path.clone()),
                Allow::Read(path) => read.push(place(path)?),
                Allow::Toolchain(shown) if shown.path.exists() => read.push(place(&shown.path)?),
                Allow::Write(path) => write.push(place(path)?),
                Allow::Toolchain(_) | Allow::Proc | Allow::Devices(_) | Allow::Scratch => {}
            }
        }
        Ok(Self { write, read })
    }

    /// Says of hidden and protected paths that lie in what is granted that nothing keeps them.
    fn admit_exposed(&self, enforcement: &mut [Enforced], present: &[MaskedPath]) {
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
                files_failure(FailureKind::WatchDisk, &format!("could not open {path:?}: {errno}"))
            })
        };
        let folders = self.write.iter().map(PathBuf::as_path).chain([scratch]);
        let folders = folders.map(open).collect::<Result<Vec<_>, _>>()?;
        watched_disk(folders.iter().map(|(path, handle)| (path.clone(), handle.as_fd())), limits)
    }
}

/// Lays links where tools look for toolchains in the home folder, which is the scratch folder here.
fn link_toolchains(shown: &[ToolchainPath], home: &Path) -> std::io::Result<()> {
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

#[cfg(test)]
mod tests;
