//! One folder in one hierarchy: made, limited, read, removed.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::find::{Place, Version, errno};
use super::{CgroupLimits, CgroupUsage, Controller, stale};

/// A folder of ours.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) version: Version,
    pub(super) handle: File,
    pub(super) entrance: File,
    parents: Vec<PathBuf>,
    path: PathBuf,
}

impl Folder {
    /// Makes a folder in the nearest parent that allows it.
    pub(super) fn make(place: &Place) -> Result<Self, Errno> {
        let mut last = Errno::NODEV;
        for parent in &place.parents {
            match Self::make_in(place, parent) {
                Ok(folder) => return Ok(folder),
                Err(errno) => last = errno,
            }
        }
        Err(last)
    }

    fn make_in(place: &Place, parent: &Path) -> Result<Self, Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if place.version == Version::Two {
            enable_controllers(parent)?;
        }
        stale::remove_once(parent);
        let path = parent.join(stale::name(NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&path).map_err(|error| errno(&error))?;
        let open = || -> std::io::Result<(File, File)> {
            // A thread that moves itself alone needs no lock of the whole machine, which takes
            // milliseconds (`cgroup_procs_write_start` in kernel/cgroup/cgroup.c); the process
            // that enters has one thread. Version 2 is cloned into.
            let name = if place.version == Version::One { "tasks" } else { "cgroup.procs" };
            let entrance = OpenOptions::new().write(true).open(path.join(name))?;
            Ok((File::open(&path)?, entrance))
        };
        match open() {
            Ok((handle, entrance)) => {
                let parents = place.parents.clone();
                Ok(Self { version: place.version, handle, entrance, parents, path })
            }
            Err(error) => {
                remove(&path);
                Err(errno(&error))
            }
        }
    }

    /// Whether this folder is in that place.
    pub(super) fn is_in(&self, place: &Place) -> bool {
        self.version == place.version && self.parents == place.parents
    }

    /// Its last name.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Sets one limit.
    pub(super) fn limit(&self, controller: Controller, limits: CgroupLimits) -> Result<(), Errno> {
        const PERIOD_MICROS: u64 = 100_000;
        match controller {
            Controller::Memory => {
                let bytes = limits.memory_bytes_max.unwrap_or(u64::MAX).to_string();
                self.limit_memory(&bytes)
            }
            Controller::Tasks => {
                // The first process of the box counts too.
                let tasks = u64::from(limits.tasks_max.unwrap_or(u32::MAX)).saturating_add(1);
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
        }
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

    /// What its files say was used.
    pub(super) fn usage(&self) -> CgroupUsage {
        let (peak, events, killed) = match self.version {
            Version::Two => ("memory.peak", "memory.events", "oom_kill"),
            Version::One => ("memory.max_usage_in_bytes", "memory.oom_control", "oom_kill"),
        };
        CgroupUsage {
            memory_peak_bytes: self.number(peak),
            oom_kills: self.entry(events, killed),
            tasks_peak: self.number("pids.peak"),
            forks_refused: self.entry("pids.events", "max"),
            cpu: self.entry("cpu.stat", "usage_usec").map(Duration::from_micros),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Errno> {
        fs::write(self.path.join(name), text).map_err(|error| errno(&error))
    }

    /// Some files are there only where the kernel was built for them.
    fn write_if_there(&self, name: &str, text: &str) -> Result<(), Errno> {
        match self.write(name, text) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        fs::read_to_string(self.path.join(name)).ok()?.trim().parse().ok()
    }

    /// The number behind a word, in a file of such lines.
    fn entry(&self, name: &str, word: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(name)).ok()?;
        let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(key, _)| *key == word)?.1.trim().parse().ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a folder, which the kernel may hold for a moment after its last process has ended.
fn remove(path: &Path) {
    const ATTEMPTS: u32 = 50;
    for _ in 0..ATTEMPTS {
        match fs::remove_dir(path) {
            Err(error) if errno(&error) == Errno::BUSY => thread::sleep(Duration::from_millis(2)),
            // What cannot be removed now is found by the next supervisor.
            Ok(()) | Err(_) => return,
        }
    }
}

/// Lets folders beneath this one have limits.
fn enable_controllers(parent: &Path) -> Result<(), Errno> {
    let read = |name| fs::read_to_string(parent.join(name)).map_err(|error| errno(&error));
    let (there, enabled) = (read("cgroup.controllers")?, read("cgroup.subtree_control")?);
    for name in ["memory", "pids", "cpu"] {
        let has = |list: &str| list.split_whitespace().any(|one| one == name);
        if has(&there) && !has(&enabled) {
            // A cgroup with processes of its own refuses (EBUSY); then one above must do.
            fs::write(parent.join("cgroup.subtree_control"), format!("+{name}"))
                .map_err(|error| errno(&error))?;
        }
    }
    Ok(())
}
