//! Counts the processes of a tree, so that no more live at once than are allowed.

#![expect(clippy::as_conversions, reason = "a 32-bit count becomes a size")]

use super::run::{At, StepError};
use super::sys::{self, Pid};
use super::tree::Count;
use crate::protocol::UNLIMITED;
use crate::protocol::step::Step;

/// Counts the tree now and then: often while it changes, seldom while it is quiet.
pub(crate) struct Counter {
    room: Option<&'static mut [Pid]>,
    next_ns: u64,
    pause_ns: u64,
    last: Count,
}

impl Counter {
    const PAUSE_MIN_NS: u64 = 5_000_000;
    const PAUSE_MAX_NS: u64 = 50_000_000;
    // Counting a large tree that is quiet takes a tenth of a processor at most.
    const SHARE: u64 = 10;
    // PID_MAX_LIMIT of linux/threads.h: there are never more processes than this.
    const PROCESSES_MAX: u32 = 1 << 22;

    /// A counter with this limit; without one it never counts.
    pub(crate) fn new(limit: u32) -> Result<Self, StepError> {
        let room = if limit == UNLIMITED {
            None
        } else {
            let len = limit.min(Self::PROCESSES_MAX) as usize;
            let bytes = len.max(1).wrapping_mul(size_of::<Pid>());
            let start = sys::map(None, bytes).at(Step::CountProcesses)?;
            // SAFETY: a fresh mapping of zeroes, page-aligned, large enough, never unmapped and
            // known to nobody else.
            Some(unsafe { core::slice::from_raw_parts_mut(start.cast::<Pid>(), len) })
        };
        Ok(Self { room, next_ns: 0, pause_ns: Self::PAUSE_MIN_NS, last: Count::Within(1) })
    }

    /// Lets a program that is quick end before it is counted.
    pub(crate) fn rest(&mut self) {
        self.next_ns = sys::now_ns().saturating_add(Self::PAUSE_MIN_NS);
    }

    /// How long until it is time to count.
    pub(crate) fn time_left_ns(&self) -> Option<u64> {
        self.room.as_ref().map(|_| self.next_ns.saturating_sub(sys::now_ns()))
    }

    /// Counts if it is time, and returns whether there are too many. `count_in` gets a buffer for
    /// as many processes as are allowed.
    pub(crate) fn is_above(&mut self, count_in: impl Fn(&mut [Pid]) -> Count) -> bool {
        let Some(room) = self.room.as_deref_mut() else { return false };
        if sys::now_ns() < self.next_ns {
            return false;
        }
        let used = sys::used_ns();
        let mut count = count_in(room);
        if count == Count::Above {
            // A process that changes parents during the walk may be seen twice; not in two walks.
            count = count_in(room);
        }
        if count == Count::Above {
            return true;
        }
        self.pause_ns = if count == self.last {
            let cost = sys::used_ns().saturating_sub(used).saturating_mul(Self::SHARE);
            self.pause_ns.saturating_mul(2).max(cost).min(Self::PAUSE_MAX_NS)
        } else {
            Self::PAUSE_MIN_NS
        };
        self.last = count;
        self.next_ns = sys::now_ns().saturating_add(self.pause_ns);
        false
    }
}
