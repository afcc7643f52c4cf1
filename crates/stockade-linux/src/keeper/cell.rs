//! The plan of a box as the keeper holds it: the memory file mapped, the descriptors at hand.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "sizes from the 64-bit wire become sizes of this 64-bit machine"
)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use super::boxed::{DESCRIPTORS_MAX, NONE, Plan};
use super::step::Step;
use super::sys::{self, Errno, Fd};
use super::watch::{At, Failed};

/// A plan with its descriptors and its data in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    /// The plan's fixed part.
    pub(crate) plan: Plan,
    /// Where the first process tells how the program ended.
    pub(crate) ending: &'static Ending,
    data: &'static [u8],
    fds: [Fd; DESCRIPTORS_MAX],
}

/// How the program ended, in memory that the keeper shares with the box's first process.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ending {
    /// Not zero once the rest counts.
    pub(crate) told: AtomicU32,
    /// The program's wait status.
    pub(crate) status: AtomicI32,
    /// How many processes outlived it and were killed.
    pub(crate) leftovers: AtomicU32,
    /// The program's process, as the box numbers it.
    pub(crate) program: AtomicI32,
    /// What the program itself has used.
    pub(crate) program_cpu_ns: AtomicU64,
}

impl Cell {
    /// Takes the plan from the control socket.
    pub(crate) fn receive(control: Fd) -> Result<Self, Failed> {
        let mut plan = Plan::empty();
        let mut fds = [-1; DESCRIPTORS_MAX];
        let (len, count) = loop {
            match sys::receive(control, &mut plan, &mut fds) {
                Err(Errno::INTR) => {}
                other => break other.at(Step::ReadRequest)?,
            }
        };
        let complete = len == size_of::<Plan>() && count >= 1 && count == plan.descriptors as usize;
        if !complete {
            return Err(Failed { step: Step::ReadRequest, errno: Errno::BADMSG });
        }
        Self::lay_out(plan, &fds).at(Step::ReadRequest)
    }

    fn lay_out(plan: Plan, fds: &[Fd; DESCRIPTORS_MAX]) -> sys::Result<Self> {
        let len = plan.len as usize;
        if len == 0 {
            return Err(Errno::BADMSG);
        }
        let start = sys::map(fds.first().copied(), len)?.cast::<u8>();
        // SAFETY: the mapping is len bytes of a sealed file, which cannot shrink; it is never
        // unmapped and never written.
        let data: &'static [u8] = unsafe { core::slice::from_raw_parts(start, len) };
        if data.last() != Some(&0) {
            return Err(Errno::BADMSG);
        }
        let shared = sys::map_shared(size_of::<Ending>())?.cast::<Ending>();
        // SAFETY: a fresh mapping of zeroes, page-aligned and large enough, never unmapped; zeroes
        // are values of these atomics, and atomics may be shared between processes.
        let ending = unsafe { &*shared };
        Ok(Self { plan, ending, data, fds: *fds })
    }

    /// The descriptor with this number in the message.
    pub(crate) fn fd(&self, index: u32) -> Option<Fd> {
        let within = index != NONE && index < self.plan.descriptors;
        self.fds.get(index as usize).copied().filter(|_| within)
    }

    /// The string at an offset; the empty one where the offset is zero or wrong.
    pub(crate) fn text(&self, offset: u64) -> &'static CStr {
        let from = if offset == 0 { None } else { self.data.get(offset as usize..) };
        from.and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok()).unwrap_or(c"")
    }
}
