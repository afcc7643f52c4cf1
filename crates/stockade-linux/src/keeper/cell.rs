//! The plan of a box as the keeper holds it: the memory file mapped, the descriptors at hand.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "sizes from the 64-bit wire become sizes of this 64-bit machine"
)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use super::boxed::{DESCRIPTORS_MAX, NONE, Op, Plan};
use super::mechanism::Mechanism;
use super::sabotage;
use super::step::Step;
use super::sys::{self, Errno, Fd};
use super::watch::{At, Failed};
use super::wire::Plain;

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
    /// Not zero once the program's process has come to its last step, the execution.
    pub(crate) executing: AtomicU32,
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
        sabotage::obey(&plan);
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

    /// The bytes at an offset; none where they are not all there.
    pub(crate) fn bytes(&self, offset: u64, len: u64) -> &'static [u8] {
        let end = (offset as usize).saturating_add(len as usize);
        self.data.get(offset as usize..end).unwrap_or(&[])
    }

    /// The operations that fill the root.
    pub(crate) fn ops(&self) -> sys::Result<&'static [Op]> {
        self.array(self.plan.ops, self.plan.op_count)
    }

    /// The array at an offset.
    pub(crate) fn array<T: Plain>(&self, offset: u64, count: u64) -> sys::Result<&'static [T]> {
        let len = count.checked_mul(size_of::<T>() as u64).ok_or(Errno::BADMSG)?;
        let bytes = self.bytes(offset, len);
        let start = bytes.as_ptr().cast::<T>();
        if bytes.len() as u64 != len || !start.is_aligned() {
            return Err(Errno::BADMSG);
        }
        // SAFETY: the bytes are `count` times the type's size long, aligned as just seen, live as
        // long as this process and are never written; the type is plain, so they are values.
        Ok(unsafe { core::slice::from_raw_parts(start, count as usize) })
    }

    /// Whether the box has namespaces, and so a first process; without them it is locks only.
    pub(crate) const fn has_namespaces(&self) -> bool {
        self.plan.namespaces != 0
    }

    /// Whether a test wants this mechanism left out.
    pub(crate) fn leaves_out(&self, mechanism: Mechanism) -> bool {
        sabotage::leaves_out(&self.plan, mechanism)
    }

    /// Closes every descriptor that came with the plan.
    pub(crate) fn close(&self) {
        for fd in self.fds.iter().take(self.plan.descriptors as usize) {
            sys::close(*fd);
        }
    }

    /// Puts another descriptor in the place of one that came with the plan.
    pub(crate) fn replace(&mut self, index: u32, fd: Fd) {
        if let Some(place) = self.fds.get_mut(index as usize) {
            *place = fd;
        }
    }
}
