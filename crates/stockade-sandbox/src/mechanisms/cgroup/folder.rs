//! One folder in one hierarchy: made, limited, read, removed.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, mkdirat, openat, rmdir, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::aside::step_aside;
use super::find::{Hierarchies, Place, Version, errno};
use super::kill::kill_all;
use super::{CgroupLimits, CgroupUsage, Controller, stale};

/// A folder of ours.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) version: Version,
    pub(super) handle: OwnedFd,
    pub(super) entrance: OwnedFd,
    path: PathBuf,
    /// The controllers that it was made for.
    controllers: Vec<Controller>,
    /// Why it lacks controllers, if it does.
    lacks: Option<Errno>,
    /// How many tasks may be in it.
    tasks_max: Option<u64>,
}

impl Folder {
    /// Makes a folder in the nearest parent where all these controllers can be used; if there is
    /// none, in our own where that holds nobody else; else in the nearest that allows a folder. A
    /// parent that is closed to us is passed over at once.
    pub(super) fn make(
        there: &Hierarchies,
        place: &Place,
        controllers: &[Controller],
    ) -> Result<Self, Errno> {
        if place.version == Version::One {
            let parent = place.parents.first().ok_or(Errno::NODEV)?;
            return Self::make_in(there, place, parent, controllers);
        }
        let mut nearest = None;
        let rights = Access::WRITE_OK | Access::EXEC_OK;
        let asked = |parent| (parent, accessat(CWD, parent, rights, AtFlags::EACCESS));
        let parents: Vec<(&PathBuf, Result<(), Errno>)> = place.parents.iter().map(asked).collect();
        for demand in [Demand::All, Demand::AllAside, Demand::WhatIsThere] {
            for (parent, access) in &parents {
                let enabled = access.and_then(|()| enable_all(place, parent, controllers, demand));
                let made = || Self::make_in(there, place, parent, controllers);
                match enabled.and_then(|()| made()) {
                    Ok(mut folder) => {
                        folder.lacks = nearest;
                        return Ok(folder);
                    }
                    Err(errno) => nearest = nearest.or(Some(errno)),
                }
            }
        }
        Err(nearest.unwrap_or(Errno::NODEV))
    }

    fn make_in(
        there: &Hierarchies,
        place: &Place,
        parent: &Path,
        controllers: &[Controller],
    ) -> Result<Self, Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = stale::name(NEXT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(&name);
        let parent = there.open(parent)?;
        let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        retry_on_intr(|| mkdirat(&parent, &name, mode))?;
        let open = || -> Result<(OwnedFd, OwnedFd), Errno> {
            // A thread that moves itself alone needs no lock of the whole machine, which takes
            // milliseconds (`cgroup_procs_write_start` in kernel/cgroup/cgroup.c); the process
            // that enters has one thread. Version 2 is cloned into.
            let entrance = if place.version == Version::One { "tasks" } else { "cgroup.procs" };
            if place.version == Version::Two && !is_domain(&path)? {
                return Err(Errno::OPNOTSUPP);
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = retry_on_intr(|| openat(&parent, &name, flags, Mode::empty()))?;
            let entrance = open_to_write(handle.as_fd(), Path::new(entrance))?;
            Ok((handle, entrance))
        };
        match open() {
            Ok((handle, entrance)) => {
                let (version, controllers) = (place.version, controllers.to_vec());
                let (lacks, tasks_max) = (None, None);
                Ok(Self { version, handle, entrance, path, controllers, lacks, tasks_max })
            }
            Err(errno) => {
                remove(&path);
                Err(errno)
            }
        }
    }

    /// Kills everything in it.
    pub(super) fn kill(&self) -> Result<(), Errno> {
        kill_all(&self.path)
    }

    /// Removes what dead supervisors have left beside it, once in a process.
    pub(super) fn sweep(&self) {
        if let Some(parent) = self.path.parent() {
            stale::remove_once(parent);
        }
    }

    /// Its last name.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Sets one limit.
    pub(super) fn limit(
        &mut self,
        controller: Controller,
        limits: CgroupLimits,
    ) -> Result<(), Errno> {
        const PERIOD_MICROS: u64 = 100_000;
        let limited = match controller {
            Controller::Memory => {
                let bytes = limits.memory_bytes_max.unwrap_or(u64::MAX).to_string();
                self.limit_memory(&bytes)
            }
            Controller::Tasks => {
                // The init of the sandbox counts too.
                let tasks = u64::from(limits.tasks_max.unwrap_or(u32::MAX)).saturating_add(1);
                self.tasks_max = Some(tasks);
                self.write("pids.max", &tasks.to_string())
            }
            Controller::Cpu => {
                let millis = u64::from(limits.cpu_millis_per_second.unwrap_or(u32::MAX));
                // The kernel wants a millisecond at least.
                let quota = millis.saturating_mul(PERIOD_MICROS / 1000).max(1000);
                match self.version {
                    Version::Two => self.write("cpu.max", &format!("{quota} {PERIOD_MICROS}")),
                    Version::One => {
                        self.write("cpu.cfs_period_us", &PERIOD_MICROS.to_string())?;
                        self.write("cpu.cfs_quota_us", &quota.to_string())
                    }
                }
            }
        };
        // There is a folder, but the controller was not given to it.
        let why = self.lacks.unwrap_or(Errno::NODEV);
        limited.map_err(|errno| if errno == Errno::NOENT { why } else { errno })
    }

    fn limit_memory(&self, bytes: &str) -> Result<(), Errno> {
        match self.version {
            Version::Two => {
                self.write("memory.max", bytes)?;
                self.write_if_there("memory.swap.max", "0")?;
                self.write_if_there("memory.oom.group", "1")
            }
            Version::One => {
                self.write("memory.limit_in_bytes", bytes)?;
                self.write_if_there("memory.memsw.limit_in_bytes", bytes)
            }
        }
    }

    /// The usage according to its files.
    pub(super) fn usage(&self) -> CgroupUsage {
        let mut usage = CgroupUsage { cpu: self.cpu(), ..CgroupUsage::default() };
        if self.controls(Controller::Tasks) {
            usage.tasks_peak = self.number("pids.peak");
            // None was refused as long as there was room. The kernel notes the peak without a lock, so
            // that it may have been somewhat higher.
            let had_room =
                usage.tasks_peak.zip(self.tasks_max).is_some_and(|(peak, most)| peak < most / 2);
            usage.forks_refused = if had_room { Some(0) } else { self.entry("pids.events", "max") };
        }
        match self.version {
            _ if !self.controls(Controller::Memory) => {}
            Version::Two => {
                usage.memory_peak_bytes = self.number("memory.peak");
                usage.memory_used_up = self.entry("memory.events", "oom").map(|times| times > 0);
                usage.oom_kills = self.entry("memory.events", "oom_kill");
            }
            Version::One => {
                let peak = self.number("memory.max_usage_in_bytes");
                usage.memory_peak_bytes = peak;
                usage.oom_kills = self.entry("memory.oom_control", "oom_kill");
                // Nothing was killed as long as there was room.
                let used_up =
                    |kills| if kills > 0 { self.used_up_memory(peak) } else { Some(false) };
                usage.memory_used_up = usage.oom_kills.and_then(used_up);
            }
        }
        usage
    }

    /// Returns whether this is where it limits something, and so where the kernel counts it.
    pub(super) fn controls(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    /// Version 1 does not count this reliably (`memory.failcnt` stays 0 on Linux 6.18), so that the
    /// most that was used has to tell: a large page may not have found room below the limit.
    fn used_up_memory(&self, peak: Option<u64>) -> Option<bool> {
        const LARGE_PAGE_BYTES: u64 = 2 << 20;
        let limit = self.number("memory.limit_in_bytes")?;
        let slack = LARGE_PAGE_BYTES.min(limit / 16);
        Some(peak? >= limit.saturating_sub(slack))
    }

    /// Processor time, if this folder counts it: each of version 2 does.
    pub(super) fn cpu(&self) -> Option<Duration> {
        match self.version {
            Version::Two => self.entry("cpu.stat", "usage_usec").map(Duration::from_micros),
            // Made for something else, it is in a hierarchy that does not count this.
            Version::One if !self.controllers.is_empty() && !self.controls(Controller::Cpu) => None,
            Version::One => self.number("cpuacct.usage").map(Duration::from_nanos),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Errno> {
        write(self.handle.as_fd(), Path::new(name), text)
    }

    /// Some files are there only where the kernel was built for them.
    fn write_if_there(&self, name: &str, text: &str) -> Result<(), Errno> {
        match self.write(name, text) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.read(name)?.trim().parse().ok()
    }

    /// One of its files, which are all short.
    fn read(&self, name: &str) -> Option<String> {
        const LENGTH_MAX: usize = 4096;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.handle, name, flags, Mode::empty()).ok()?;
        let mut bytes = vec![0; LENGTH_MAX];
        let length = rustix::io::read(&file, &mut bytes).ok()?;
        bytes.truncate(length);
        String::from_utf8(bytes).ok()
    }

    /// The number behind a word, in a file of such lines.
    fn entry(&self, name: &str, word: &str) -> Option<u64> {
        let text = self.read(name)?;
        let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(key, _)| *key == word)?.1.trim().parse().ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The short way, see `Hierarchies`.
        let beside = Path::new("..").join(self.path.file_name().unwrap_or_default());
        remove_by(&self.path, || unlinkat(&self.handle, &beside, AtFlags::REMOVEDIR));
    }
}

/// Removes a folder. Nothing may live in it any more, so what does is killed; besides, the kernel
/// may hold a folder for a moment after its last process has ended.
pub(super) fn remove(path: &Path) {
    remove_by(path, || rmdir(path));
}

fn remove_by(path: &Path, remove: impl Fn() -> Result<(), Errno>) {
    const ATTEMPTS: u32 = 50;
    for attempt in 0..ATTEMPTS {
        match remove() {
            Err(Errno::BUSY) => {
                if attempt == 1 {
                    // A process that cannot be killed is tried again at the next attempt.
                    let _busy = kill_all(path);
                }
                thread::sleep(Duration::from_millis(2));
            }
            // The next supervisor finds a folder that cannot be removed now.
            Ok(()) | Err(_) => return,
        }
    }
}

fn open_to_write(at: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(at, path, flags, Mode::empty()))
}

/// The requirements for a parent folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// All controllers.
    All,
    /// All controllers, and this process may be moved for that.
    AllAside,
    /// Nothing but a folder.
    WhatIsThere,
}

/// Lets folders beneath one of version 2 use all these controllers, as far as it is demanded.
fn enable_all(
    place: &Place,
    parent: &Path,
    controllers: &[Controller],
    demand: Demand,
) -> Result<(), Errno> {
    // To enter a folder beneath it a process needs this file of the parent, `cgroups(7)`.
    open_to_write(CWD, &parent.join("cgroup.procs"))?;
    let is_own = place.parents.first().is_some_and(|own| own == parent);
    for controller in controllers {
        let enabled = enable(parent, controller.name(), is_own && demand == Demand::AllAside);
        if demand != Demand::WhatIsThere {
            enabled?;
        }
    }
    Ok(())
}

/// Lets folders beneath this one use a controller.
fn enable(parent: &Path, controller: &str, may_step_aside: bool) -> Result<(), Errno> {
    let is_in = |name| {
        let list = fs::read_to_string(parent.join(name)).map_err(|error| errno(&error))?;
        Ok(list.split_whitespace().any(|one| one == controller))
    };
    if is_in("cgroup.subtree_control")? {
        return Ok(());
    }
    if !is_in("cgroup.controllers")? {
        return Err(Errno::NODEV);
    }
    if has_processes(parent)? {
        if !may_step_aside {
            return Err(Errno::BUSY);
        }
        step_aside(parent)?;
    }
    write(CWD, &parent.join("cgroup.subtree_control"), &format!("+{controller}"))
}

/// Returns whether a cgroup holds processes, so that it must not have limits beneath it. The kernel refuses
/// that for some controllers; with the others it makes folders that no process can enter
/// (`domain invalid`, `cgroups(7)`). The root of the machine, which has no type, may hold any.
fn has_processes(parent: &Path) -> Result<bool, Errno> {
    let read = |name| fs::read_to_string(parent.join(name)).map_err(|error| errno(&error));
    match read("cgroup.type") {
        Ok(_) => Ok(!read("cgroup.procs")?.is_empty()),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Returns whether processes can enter a folder of ours.
fn is_domain(path: &Path) -> Result<bool, Errno> {
    let kind = fs::read_to_string(path.join("cgroup.type")).map_err(|error| errno(&error))?;
    Ok(kind.trim() == "domain")
}

fn write(at: BorrowedFd<'_>, path: &Path, text: &str) -> Result<(), Errno> {
    // Never made: a file that is not there is a controller that is not there. The kernel takes such a
    // text whole or not at all.
    let file = open_to_write(at, path)?;
    // A limit on memory is not set where a signal comes in between.
    retry_on_intr(|| rustix::io::write(&file, text.as_bytes())).map(drop)
}
