//! Limits for all processes of a sandbox together, by cgroups of version 2 or 1, whichever has
//! them.
//!
//! The folders are made and limited before the sandbox exists, and removed when its run is dropped.
//! A supervisor that was killed leaves folders; the next one ends what is in them and removes them.

mod aside;
mod find;
mod folder;
mod kill;
mod stale;

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::Errno;

pub(crate) use self::find::Hierarchies;
use self::find::Place;
pub use self::find::Version as CgroupVersion;
use self::folder::Folder;

/// Limits for all processes of a sandbox together; `None` sets no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupLimits {
    /// Memory, page cache, files in memory and the kernel's own for the sandbox included; no swap.
    pub memory_bytes_max: Option<u64>,
    /// Tasks, threads included, besides the sandbox's init.
    pub tasks_max: Option<u32>,
    /// Processor time per second of wall time, in thousandths of one processor.
    pub cpu_millis_per_second: Option<u32>,
}

/// The limits of a cgroup.
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

/// The cgroups of one sandbox, limited. Dropping it removes them.
#[derive(Debug, Default)]
pub struct Cgroup {
    folders: Vec<Folder>,
    kept: Vec<Controller>,
    missing: Vec<(Controller, Errno)>,
    version: Option<CgroupVersion>,
}

/// The usage of a sandbox, as far as its cgroups count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupUsage {
    /// The most memory that it had at once.
    pub memory_peak_bytes: Option<u64>,
    /// True if the sandbox has used up its own memory.
    pub memory_used_up: Option<bool>,
    /// How many of its processes the kernel killed for want of memory: because the sandbox had used
    /// up its own, or because the machine or a cgroup above had none left.
    pub oom_kills: Option<u64>,
    /// The most tasks that it had at once, the sandbox's init included.
    pub tasks_peak: Option<u64>,
    /// How often a fork was refused.
    pub forks_refused: Option<u64>,
    /// Processor time.
    pub cpu: Option<Duration>,
}

impl Cgroup {
    /// Makes the cgroups that the limits need, and one that counts processor time. A limit that
    /// this machine, or this user, cannot set is in [`Self::missing`].
    pub fn create(limits: CgroupLimits) -> Self {
        let cgroup = Self::create_with(limits, Stroke::Cgroup, Hierarchies::read());
        cgroup.sweep();
        cgroup
    }

    /// As [`Self::create`], in hierarchies that were found before, for a sandbox with an init,
    /// whose exit kills everything in it. Stale cgroups beside it are removed when its program
    /// runs.
    pub(crate) fn create_for_box(limits: CgroupLimits, there: Result<Hierarchies, Errno>) -> Self {
        Self::create_with(limits, Stroke::FirstProcess, there)
    }

    fn create_with(
        limits: CgroupLimits,
        stroke: Stroke,
        there: Result<Hierarchies, Errno>,
    ) -> Self {
        let mut cgroup = Self::default();
        let wanted = limits.wanted();
        let there = match there {
            Ok(there) => there,
            Err(errno) => {
                cgroup.missing = wanted.into_iter().map(|one| (one, errno)).collect();
                return cgroup;
            }
        };
        let mut refused = Vec::new();
        for (place, controllers) in places(&there, &wanted, stroke) {
            match Folder::make(&there, &place, &controllers) {
                Ok(folder) => cgroup.folders.push(folder),
                Err(errno) => refused.extend(controllers.into_iter().map(|one| (one, errno))),
            }
        }
        for controller in wanted {
            match cgroup.limit(controller, limits, &refused) {
                Ok(version) => {
                    cgroup.version = cgroup.version.or(Some(version));
                    cgroup.kept.push(controller);
                }
                Err(errno) => cgroup.missing.push((controller, errno)),
            }
        }
        cgroup.count_cpu(&there);
        cgroup
    }

    /// The version that the first of the limits is set with.
    pub fn version(&self) -> Option<CgroupVersion> {
        self.version
    }

    /// The limits that are set.
    pub fn kept(&self) -> &[Controller] {
        &self.kept
    }

    /// The limits that could not be set, and why.
    pub fn missing(&self) -> &[(Controller, Errno)] {
        &self.missing
    }

    /// The usage so far; after the end, that of the whole run.
    pub fn usage(&self) -> CgroupUsage {
        let read = |folder: &Folder| folder.usage();
        self.folders.iter().map(read).fold(CgroupUsage::default(), CgroupUsage::or)
    }

    /// Processor time so far, where it is counted.
    pub fn cpu(&self) -> Option<Duration> {
        self.folders.iter().find_map(Folder::cpu)
    }

    /// Kills everything in it, without a shim.
    pub(crate) fn kill(&self) -> Result<(), Errno> {
        self.folders.iter().try_for_each(Folder::kill)
    }

    fn limit(
        &mut self,
        controller: Controller,
        limits: CgroupLimits,
        refused: &[(Controller, Errno)],
    ) -> Result<CgroupVersion, Errno> {
        let folder = self.folders.iter_mut().find(|folder| folder.controls(controller));
        let why = refused.iter().find(|(one, _)| *one == controller);
        let why = why.map_or(Errno::NODEV, |(_, why)| *why);
        let folder = folder.ok_or(why)?;
        folder.limit(controller, limits).map(|()| folder.version)
    }

    /// Where version 2 does not count processor time, version 1 has a controller for that alone.
    fn count_cpu(&mut self, there: &Hierarchies) {
        if self.folders.is_empty() || self.cpu().is_some() {
            return;
        }
        let place = there.first("cpuacct");
        if let Some(Ok(folder)) = place.map(|place| Folder::make(there, &place, &[])) {
            self.folders.push(folder);
        }
    }

    /// Removes what dead supervisors have left beside it, once in a process: when there is time.
    pub(crate) fn sweep(&self) {
        self.folders.iter().for_each(Folder::sweep);
    }

    /// The names of its folders.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.folders.iter().map(Folder::name)
    }

    /// The files that a process of the sandbox writes itself into, that of version 2 first.
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

impl CgroupLimits {
    /// The limited resources.
    fn wanted(self) -> Vec<Controller> {
        let all = [
            (Controller::Memory, self.memory_bytes_max.is_some()),
            (Controller::Tasks, self.tasks_max.is_some()),
            (Controller::Cpu, self.cpu_millis_per_second.is_some()),
        ];
        all.into_iter().filter(|(_, wanted)| *wanted).map(|(controller, _)| controller).collect()
    }
}

/// By what everything is killed in one stroke, without a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stroke {
    /// A cgroup of version 2, wherever there is one.
    Cgroup,
    /// The init of a sandbox.
    FirstProcess,
}

/// Where folders are to be made, with the controllers that are used there.
///
/// One of version 2 is killed in one stroke and counts processor time. But unless a process is
/// cloned into it, it is entered through a lock of the whole machine, which now and then takes
/// milliseconds; where limits are set with version 1, a sandbox with an init does without.
fn places(
    there: &Hierarchies,
    wanted: &[Controller],
    stroke: Stroke,
) -> Vec<(Place, Vec<Controller>)> {
    let unified = there.unified().map(|place| (place, Vec::new()));
    let mut places: Vec<(Place, Vec<Controller>)> = unified.into_iter().collect();
    for controller in wanted {
        let Some(place) = there.place_of(controller.name()) else { continue };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, controllers)) => controllers.push(*controller),
            None => places.push((place, vec![*controller])),
        }
    }
    let is_limited = places.iter().any(|(_, controllers)| !controllers.is_empty());
    if stroke == Stroke::FirstProcess && is_limited {
        places.retain(|(_, controllers)| !controllers.is_empty());
    }
    places
}

impl CgroupUsage {
    fn or(self, other: Self) -> Self {
        Self {
            memory_peak_bytes: self.memory_peak_bytes.or(other.memory_peak_bytes),
            memory_used_up: self.memory_used_up.or(other.memory_used_up),
            oom_kills: self.oom_kills.or(other.oom_kills),
            tasks_peak: self.tasks_peak.or(other.tasks_peak),
            forks_refused: self.forks_refused.or(other.forks_refused),
            cpu: self.cpu.or(other.cpu),
        }
    }
}
