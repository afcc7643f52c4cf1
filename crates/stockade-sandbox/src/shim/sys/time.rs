//! System calls for clocks, and for waiting.

use super::{Fd, Pid, Result, call, nr};

pub(super) const fn timespec(ns: u64) -> [u64; 2] {
    [ns / 1_000_000_000, ns % 1_000_000_000]
}

/// The monotonic clock, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_ns(1) // CLOCK_MONOTONIC
}

/// The processor time that this process has used, in nanoseconds.
pub(crate) fn used_ns() -> u64 {
    clock_ns(2) // CLOCK_PROCESS_CPUTIME_ID
}

/// The processor time that a process has used, its children not counted, in nanoseconds; also of one
/// that has ended, until it is reaped.
pub(crate) fn used_by_ns(process: Pid) -> Result<u64> {
    // CPUCLOCK_SCHED of include/linux/posix-timers_types.h, of the process and not of one thread.
    const SCHED: usize = 2;
    read_clock_ns(!(process as usize) << 3 | SCHED)
}

fn clock_ns(clock: usize) -> u64 {
    // Never fails for these clocks.
    read_clock_ns(clock).unwrap_or(0)
}

fn read_clock_ns(clock: usize) -> Result<u64> {
    let mut time = [0_u64; 2];
    let at = time.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one 16-byte timespec.
    unsafe { call(nr::CLOCK_GETTIME, [clock, at, 0, 0, 0, 0]) }?;
    Ok(time[0].saturating_mul(1_000_000_000).saturating_add(time[1]))
}

/// Lets others run first that wait for this processor.
pub(crate) fn step_aside() {
    // SAFETY: no arguments, no memory.
    let _never_fails = unsafe { call(nr::SCHED_YIELD, [0; 6]) };
}

/// One descriptor to poll, as `struct pollfd`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Poll {
    /// The descriptor; a negative one is passed over.
    pub(crate) fd: Fd,
    /// The requested events.
    pub(crate) events: i16,
    /// The returned events.
    pub(crate) revents: i16,
}

impl Poll {
    /// Something can be read: `POLLIN`.
    pub(crate) const INPUT: i16 = 1;

    /// Waits for something to read, or for the end.
    pub(crate) const fn input(fd: Fd) -> Self {
        Self { fd, events: Self::INPUT, revents: 0 }
    }
}

/// Waits until a descriptor is ready or the time has passed.
pub(crate) fn poll(fds: &mut [Poll], timeout_ns: Option<u64>) -> Result<()> {
    let time = timespec(timeout_ns.unwrap_or(0));
    let timeout = if timeout_ns.is_some() { time.as_ptr().expose_provenance() } else { 0 };
    let list = fds.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads and writes fds.len() pollfds and may write the remaining time into
    // the timespec, which is a local that is not read again.
    unsafe { call(nr::PPOLL, [list, fds.len(), timeout, 0, 0, 0]) }.map(drop)
}
