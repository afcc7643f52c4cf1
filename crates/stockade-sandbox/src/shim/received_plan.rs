//! The plan of a sandbox as the shim holds it: the memory file mapped, the descriptors at hand.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "sizes from the 64-bit wire become sizes of this 64-bit machine"
)]

use core::ffi::CStr;

use super::fault;
use super::run::{At, StepError};
use super::sys::{self, Errno, Fd};
use crate::protocol::Plain;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{
    ASIDE_MAX, DESCRIPTORS_MAX, ListedPath, NONE, Op, Plan, names, session,
};
use crate::protocol::step::Step;

/// A plan with its descriptors and its data in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedPlan {
    /// The plan's fixed part.
    pub(crate) fixed: Plan,
    /// Where the program's process sends its listener to the broker; negative without one.
    pub(crate) listener_channel: Fd,
    data: &'static [u8],
    fds: [Fd; DESCRIPTORS_MAX],
    aside: [Fd; ASIDE_MAX],
    /// The folder of the session, attached nowhere yet; negative without one.
    pub(crate) session_folder: Fd,
    /// Whether init has left the host's folders and locked its mounts.
    pub(crate) has_locked_mounts: bool,
}

impl ReceivedPlan {
    /// Takes a plan from a socket; none if the host is gone.
    pub(crate) fn receive(socket: Fd) -> Result<Option<Self>, StepError> {
        let mut plan = Plan::empty();
        let mut fds = [-1; DESCRIPTORS_MAX];
        let (len, count) = loop {
            match sys::receive(socket, &mut plan, &mut fds) {
                Err(Errno::INTR) => {}
                other => break other.at(Step::ReadRequest)?,
            }
        };
        if len == 0 {
            return Ok(None);
        }
        let complete = len == size_of::<Plan>() && count >= 1 && count == plan.descriptors as usize;
        if !complete {
            return Err(StepError { step: Step::ReadRequest, errno: Errno::BADMSG });
        }
        fault::arm(&plan);
        Self::lay_out(plan, &fds).at(Step::ReadRequest).map(Some)
    }

    fn lay_out(plan: Plan, fds: &[Fd; DESCRIPTORS_MAX]) -> sys::Result<Self> {
        let len = plan.len as usize;
        if len == 0 {
            return Err(Errno::BADMSG);
        }
        let start = sys::map_whole(fds.first().copied().unwrap_or(-1), len)?.cast::<u8>();
        // SAFETY: the mapping is len bytes of a sealed file, which cannot shrink; it is never written,
        // and unmapped only by `forget`, which takes the cell.
        let data: &'static [u8] = unsafe { core::slice::from_raw_parts(start, len) };
        if data.last() != Some(&0) {
            sys::unmap(data);
            return Err(Errno::BADMSG);
        }
        Ok(Self {
            fixed: plan,
            listener_channel: -1,
            data,
            fds: *fds,
            aside: [-1; ASIDE_MAX],
            session_folder: -1,
            has_locked_mounts: false,
        })
    }

    /// The descriptor with this number in the message.
    pub(crate) fn fd(&self, index: u32) -> Option<Fd> {
        let within = index != NONE && index < self.fixed.descriptors;
        self.fds.get(index as usize).copied().filter(|_| within)
    }

    /// The descriptors of the session, if there is one.
    pub(crate) fn session(&self) -> sys::Result<Option<[Fd; session::COUNT]>> {
        if self.fixed.session == NONE {
            return Ok(None);
        }
        let mut fds = [-1; session::COUNT];
        for (place, number) in fds.iter_mut().zip(self.fixed.session..) {
            *place = self.fd(number).ok_or(Errno::BADMSG)?;
        }
        Ok(Some(fds))
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
        self.array(self.fixed.ops, self.fixed.op_count)
    }

    /// The pinned folders that become read-only with the end of the program.
    pub(crate) fn sealed(&self) -> sys::Result<&'static [ListedPath]> {
        self.array(self.fixed.sealed, self.fixed.sealed_count)
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

    /// Returns whether the sandbox has namespaces, and so an init; without them it is locks only.
    pub(crate) const fn has_namespaces(&self) -> bool {
        self.fixed.namespaces != 0
    }

    /// Returns whether the sandbox has a broker, which creates names for the program.
    pub(crate) const fn has_broker(&self) -> bool {
        self.fixed.names == names::BROKERED
    }

    /// Returns whether init hears of calls that create names, and may refuse them.
    pub(crate) const fn is_told_of_names(&self) -> bool {
        self.fixed.names != names::FREE
    }

    /// Returns whether a test wants this mechanism left out.
    pub(crate) fn leaves_out(&self, mechanism: Mechanism) -> bool {
        fault::leaves_out(&self.fixed, mechanism)
    }

    /// Closes every descriptor that came with the plan.
    pub(crate) fn close(&self) {
        for fd in self.fds.iter().take(self.fixed.descriptors as usize) {
            sys::close(*fd);
        }
    }

    /// Closes every descriptor that came with the plan, and gives its memory back.
    pub(crate) fn forget(self) {
        self.close();
        sys::unmap(self.data);
    }

    /// The socket by which the host hears of the sandbox.
    pub(crate) fn channel(&self) -> sys::Result<Fd> {
        self.fd(self.fixed.channel).ok_or(Errno::BADMSG)
    }

    /// Returns whether this option was chosen.
    pub(crate) const fn has(&self, option: u32) -> bool {
        self.fixed.options & option != 0
    }

    /// The place for a mount that is taken aside.
    pub(crate) fn aside(&mut self, index: u32) -> sys::Result<&mut Fd> {
        self.aside.get_mut(index as usize).ok_or(Errno::BADMSG)
    }

    /// Puts another descriptor in the place of one that came with the plan.
    pub(crate) fn replace(&mut self, index: u32, fd: Fd) {
        if let Some(place) = self.fds.get_mut(index as usize) {
            *place = fd;
        }
    }
}
