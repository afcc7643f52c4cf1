//! Fault injection and tracing in test builds: lets a step fail, leaves a mechanism out, and
//! records the steps.
//!
//! Without the feature `fault-injection` these functions are constant and do nothing.

use core::sync::atomic::{AtomicU32, Ordering};

use super::exec_request::ExecRequest;
use super::sys;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::Plan;
use crate::protocol::step::Step;

/// True if this build obeys tests that break something.
pub(crate) const ENABLED: bool = cfg!(feature = "fault-injection");

/// The step that fails, its number plus one, or zero.
static FAIL_AT: AtomicU32 = AtomicU32::new(0);

/// Takes the order of a test.
pub(crate) fn arm(plan: &Plan) {
    if ENABLED {
        FAIL_AT.store(plan.fail_at, Ordering::Relaxed);
    }
}

/// Returns whether a test wants this step to fail, although it did not.
pub(crate) fn fails(step: Step) -> bool {
    ENABLED && FAIL_AT.load(Ordering::Relaxed) == step.number().wrapping_add(1)
}

/// Returns whether a test wants this mechanism left out.
pub(crate) fn leaves_out(plan: &Plan, mechanism: Mechanism) -> bool {
    ENABLED && plan.left_out & mechanism.bit() != 0
}

/// Lets the program inherit the host's folder, where a test wants descriptors left open.
pub(crate) fn leak_in_child(exec: &ExecRequest, plan: &Plan) -> sys::Result<()> {
    const LEAKED: sys::Fd = 50;
    if leaves_out(plan, Mechanism::ClosedDescriptors) {
        sys::dup3(exec.last(), LEAKED)?;
    }
    Ok(())
}

/// The log of steps, if a test wants one.
#[cfg(feature = "fault-injection")]
mod trace {
    use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

    use super::super::sys::{self, Fd};
    use crate::protocol::step::Step;
    use crate::protocol::step_trace::{
        BYTES, COUNT, ENTRIES_MAX, FIRST, MOUNT_SHIFT, PROCESS_SHIFT, WORDS, process,
    };

    type Log = [AtomicU64; WORDS];

    static LOG: AtomicPtr<Log> = AtomicPtr::new(core::ptr::null_mut());
    /// The process that this memory belongs to, and what it is. Any other that uses the memory, or a
    /// copy of it, becomes the program.
    static OWNER: AtomicI32 = AtomicI32::new(0);
    static OWNER_IS: AtomicU32 = AtomicU32::new(process::SHIM);
    /// The index of the mount that is being made, plus one.
    static MOUNT: AtomicU32 = AtomicU32::new(0);

    /// Maps the log, and closes its file.
    pub(crate) fn open_trace(file: Fd) -> sys::Result<()> {
        let log = sys::map_shared(file, BYTES)?;
        sys::close(file);
        OWNER.store(sys::getpid(), Ordering::Relaxed);
        LOG.store(log.cast(), Ordering::Release);
        Ok(())
    }

    /// This process is the first of a sandbox now.
    pub(crate) fn be_init() {
        OWNER.store(sys::getpid(), Ordering::Relaxed);
        OWNER_IS.store(process::INIT, Ordering::Relaxed);
    }

    /// Sets the mount that the next steps belong to.
    pub(crate) fn is_at_mount(index: Option<usize>) {
        let number = index.map_or(0, |index| u32::try_from(index).unwrap_or(0).wrapping_add(1));
        MOUNT.store(number, Ordering::Relaxed);
    }

    /// Adds a step that was done.
    pub(crate) fn record(step: Step) {
        let log = LOG.load(Ordering::Acquire);
        // SAFETY: it is null or the mapping of `open_trace`, which is as long, aligned to a page, and
        // never unmapped. All who have it use it by atomic operations.
        let Some(log) = (unsafe { log.as_ref() }) else { return };
        let is_owner = sys::getpid() == OWNER.load(Ordering::Relaxed);
        let (process, mount) = if is_owner {
            (OWNER_IS.load(Ordering::Relaxed), MOUNT.load(Ordering::Relaxed))
        } else {
            (process::PROGRAM, 0)
        };
        let count = log.get(COUNT).map_or(u64::MAX, |count| count.fetch_add(1, Ordering::AcqRel));
        let at = usize::try_from(count).unwrap_or(usize::MAX);
        if let Some(word) = log.get(FIRST.saturating_add(at)).filter(|_| at < ENTRIES_MAX) {
            let mount = u64::from(mount) << MOUNT_SHIFT;
            let entry = u64::from(process) << PROCESS_SHIFT | mount | u64::from(step.number());
            word.store(entry, Ordering::Release);
        }
    }
}

#[cfg(feature = "fault-injection")]
pub(crate) use self::trace::{be_init, is_at_mount, open_trace, record};

/// Without tests nothing is written down.
#[cfg(not(feature = "fault-injection"))]
mod no_trace {
    use super::super::sys::{self, Errno, Fd};
    use crate::protocol::step::Step;

    pub(crate) const fn open_trace(_: Fd) -> sys::Result<()> {
        Err(Errno::NOSYS)
    }

    pub(crate) const fn be_init() {}

    pub(crate) const fn is_at_mount(_: Option<usize>) {}

    pub(crate) const fn record(_: Step) {}
}

#[cfg(not(feature = "fault-injection"))]
pub(crate) use self::no_trace::{be_init, is_at_mount, open_trace, record};
