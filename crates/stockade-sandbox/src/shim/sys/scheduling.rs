//! System calls for when and where a process runs.

use core::ptr;

use super::{Result, call, nr, plain_call};

/// This process's nice value.
pub(crate) fn nice() -> Result<isize> {
    // The kernel gives 20 minus the value, so that no result looks like an error.
    plain_call(nr::GETPRIORITY, [0; 4]).map(|shifted| 20_isize.wrapping_sub(shifted as isize))
}

/// Sets this process's nice value.
pub(crate) fn set_nice(nice: isize) -> Result<()> {
    plain_call(nr::SETPRIORITY, [0, 0, nice as usize, 0]).map(drop)
}

/// Returns whether this process is scheduled in the ordinary way.
pub(crate) fn is_scheduled_normally() -> bool {
    plain_call(nr::SCHED_GETSCHEDULER, [0; 4]) == Ok(0)
}

/// Lets this process run before every ordinary one; what it forks is ordinary again.
pub(crate) fn schedule_first() -> Result<()> {
    const SCHED_FIFO_RESET_ON_FORK: usize = 0x4000_0001;
    let lowest_priority: i32 = 1;
    let parameter = ptr::from_ref(&lowest_priority).expose_provenance();
    // SAFETY: the kernel reads one struct sched_param, an int.
    unsafe { call(nr::SCHED_SETSCHEDULER, [0, SCHED_FIFO_RESET_ON_FORK, parameter, 0, 0, 0]) }
        .map(drop)
}

/// How a process is scheduled, as `struct sched_attr` of its first version.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// How long a turn of an ordinary process is, in nanoseconds; zero is what the kernel thinks best.
    /// Without meaning before Linux 6.12.
    pub(crate) turn_ns: u64,
    deadline: u64,
    period: u64,
}

impl Scheduling {
    /// The scheduling of this process, if its policy is `SCHED_OTHER`: for others the length means
    /// something else.
    pub(crate) fn of_ordinary() -> Option<Self> {
        const SCHED_OTHER: u32 = 0;
        let mut own = Self::default();
        let at = ptr::from_mut(&mut own).expose_provenance();
        // SAFETY: the kernel writes as many bytes as it is told, which the struct has.
        let found = unsafe { call(nr::SCHED_GETATTR, [0, at, size_of::<Self>(), 0, 0, 0]) };
        (found.is_ok() && own.policy == SCHED_OTHER).then_some(own)
    }

    /// Has this process scheduled so.
    pub(crate) fn choose(mut self) -> Result<()> {
        self.size = size_of::<Self>() as u32;
        let at = ptr::from_ref(&self).expose_provenance();
        // SAFETY: the kernel reads as many bytes as the struct says that it has.
        unsafe { call(nr::SCHED_SETATTR, [0, at, 0, 0, 0, 0]) }.map(drop)
    }
}
