//! Limits for all processes of a box together, by cgroups of version 2 or 1, whichever has them.
//!
//! The folders are made and limited before the box exists, and removed when its run is dropped. A
//! supervisor that was killed leaves empty folders; the next one removes them.

mod find;
mod folder;
mod stale;

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::Errno;

pub use self::find::Version as CgroupVersion;
use self::folder::Folder;

/// Limits for all processes of a box together; `None` sets no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupLimits {
    /// Memory, page cache, files in memory and the kernel's own for the box included; no swap.
    pub memory_bytes_max: Option<u64>,
    /// Tasks, threads included, besides the box's first process.
    pub tasks_max: Option<u32>,
    /// Processor time per second of wall time, in thousandths of one processor.
    pub cpu_millis_per_second: Option<u32>,
}

/// What a cgroup limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Memory.
    Memory,
    /// Tasks.
    Tasks,
    /// Processor time.
    Cpu,
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Controller {
    /// The kernel's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Tasks => "pids",
            Self::Cpu => "cpu",
        }
    }
}

/// The cgroups of one box, limited. Dropping it removes them.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<Folder>,
    kept: Vec<Controller>,
    missing: Vec<(Controller, Errno)>,
}

/// What a box has used, as far as its cgroups count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupUsage {
    /// The most memory that it had at once.
    pub memory_peak_bytes: Option<u64>,
    /// How many processes the kernel killed because the box had used up its memory.
    pub oom_kills: Option<u64>,
    /// The most tasks that it had at once, the box's first process included.
    pub tasks_peak: Option<u64>,
    /// How often a fork was refused.
    pub forks_refused: Option<u64>,
    /// Processor time.
    pub cpu: Option<Duration>,
}

impl Cgroup {
    /// Makes the cgroups that the limits need. A limit that this machine, or this user, cannot set
    /// is in [`Self::missing`].
    pub fn create(limits: CgroupLimits) -> Self {
        let mut cgroup = Self { folders: Vec::new(), kept: Vec::new(), missing: Vec::new() };
        let wanted = [
            (Controller::Memory, limits.memory_bytes_max.is_some()),
            (Controller::Tasks, limits.tasks_max.is_some()),
            (Controller::Cpu, limits.cpu_millis_per_second.is_some()),
        ];
        for (controller, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
            match cgroup.limit(controller, limits) {
                Ok(()) => cgroup.kept.push(controller),
                Err(errno) => cgroup.missing.push((controller, errno)),
            }
        }
        cgroup
    }

    /// The version that a limit was set with, where it is set.
    pub fn version(&self) -> Option<CgroupVersion> {
        self.folders.first().map(|folder| folder.version)
    }

    /// The limits that are set.
    pub fn kept(&self) -> &[Controller] {
        &self.kept
    }

    /// The limits that could not be set, and why.
    pub fn missing(&self) -> &[(Controller, Errno)] {
        &self.missing
    }

    /// What has been used so far; after the end, by the whole run.
    pub fn usage(&self) -> CgroupUsage {
        let read = |folder: &Folder| folder.usage();
        self.folders.iter().map(read).fold(CgroupUsage::default(), CgroupUsage::or)
    }

    fn limit(&mut self, controller: Controller, limits: CgroupLimits) -> Result<(), Errno> {
        let place = find::place_of(controller)?;
        let known = self.folders.iter().position(|folder| folder.is_in(&place));
        if known.is_none() {
            self.folders.push(Folder::make(&place)?);
        }
        let folder = known.map_or_else(|| self.folders.last(), |at| self.folders.get(at));
        folder.ok_or(Errno::NOENT)?.limit(controller, limits)
    }

    /// The names of its folders.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.folders.iter().map(Folder::name)
    }

    /// The files that a process of the box writes itself into, that of version 2 first.
    pub(crate) fn entrances(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let of = |version| self.folders.iter().filter(move |folder| folder.version == version);
        let all = of(CgroupVersion::Two).chain(of(CgroupVersion::One));
        all.map(|folder| folder.entrance.as_fd())
    }

    /// The folder of version 2, into which a process can be cloned.
    pub(crate) fn unified(&self) -> Option<BorrowedFd<'_>> {
        let mut unified = self.folders.iter().filter(|folder| folder.version == CgroupVersion::Two);
        unified.next().map(|folder| folder.handle.as_fd())
    }
}

impl CgroupUsage {
    fn or(self, other: Self) -> Self {
        Self {
            memory_peak_bytes: self.memory_peak_bytes.or(other.memory_peak_bytes),
            oom_kills: self.oom_kills.or(other.oom_kills),
            tasks_peak: self.tasks_peak.or(other.tasks_peak),
            forks_refused: self.forks_refused.or(other.forks_refused),
            cpu: self.cpu.or(other.cpu),
        }
    }
}
