//! Records the steps that shims do, in the order in which they do them. Only for tests.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::{Errno, pread};

use crate::memory_file;
use crate::pool::SandboxPool;
use crate::protocol::Request;
use crate::protocol::step::Step;
use crate::protocol::step_trace::{
    BYTES, COUNT, ENTRIES_MAX, FIRST, MOUNT_SHIFT, PROCESS_SHIFT, process,
};

thread_local! {
    /// The log that shims of this thread write to.
    static CURRENT: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// A record of the steps of every shim that this thread starts while the record lives, whichever
/// function starts it: [`start`](crate::start()), [`start_jailed`](crate::start_jailed) or a
/// [`SandboxPool`] without templates. It is meant for one sandbox. [`StepTrace::of_templates`] is for
/// sandboxes that are copied.
///
/// Tests use it to check that a printed plan is what is executed. Each shim, each init and each
/// program process adds an entry when a step has succeeded; [`Step::Execute`] is added immediately
/// before the program is executed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::fs::File;
/// use stockade_sandbox::{Rlimits, Spec, Stdin, Step, StepTrace, TracedProcess, start};
///
/// let trace = StepTrace::of_this_thread()?;
/// start(Spec {
///     program: File::open("/bin/true")?.into(),
///     script: None,
///     argv: vec![c"true".into()],
///     env: Vec::new(),
///     cwd: File::open("/")?.into(),
///     stdin: Stdin::Empty,
///     merges_output: false,
///     rlimits: Rlimits::default(),
///     processes_max: None,
///     signal_scope: None,
/// })?
/// .wait()?;
/// let steps = trace.steps_of(TracedProcess::Program)?;
/// assert_eq!(steps.last().map(|last| last.step), Some(Step::Execute));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the record"]
pub struct StepTrace(Log);

/// The shared file that steps are written to.
#[derive(Debug, Clone)]
pub(crate) struct Log(Arc<OwnedFd>);

impl Log {
    fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(memory_file::zeroed("stockade-steps", BYTES)?)))
    }

    /// Lets shims that this thread starts write to it.
    pub(crate) fn use_in_this_thread(&self) {
        CURRENT.with_borrow_mut(|current| *current = Some(self.clone()));
    }
}

/// One step that was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedStep {
    /// The process that did it.
    pub process: TracedProcess,
    /// The step.
    pub step: Step,
    /// The [`Mount`](crate::Mount) that it belongs to, as an index into [`Jail::root`](crate::Jail::root).
    pub mount: Option<usize>,
}

/// The process that does a step. Init and the program run at the same time, so only the order within
/// one process means something, and that everything of init before [`Step::Fork`] precedes the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedProcess {
    /// The shim outside the sandbox.
    Shim,
    /// The init of the sandbox.
    Init,
    /// The process that becomes the program.
    Program,
}

impl StepTrace {
    /// Starts a record, in place of the one that this thread has.
    pub fn of_this_thread() -> io::Result<Self> {
        let log = Log::new()?;
        log.use_in_this_thread();
        Ok(Self(log))
    }

    /// A record of the templates that this pool makes from now on, and of the sandboxes that are copied
    /// from them: what a copy has from its template is done by [`TracedProcess::Init`] too, and first.
    pub fn of_templates(pool: &SandboxPool) -> io::Result<Self> {
        let log = Log::new()?;
        pool.trace_templates(log.clone());
        Ok(Self(log))
    }

    /// Every step so far, but for [`Step::ReadRequest`]. A step that a process repeats without another
    /// one between is listed once. Fails with `ENOSPC` if there were more than the log holds.
    pub fn steps(&self) -> io::Result<Vec<TracedStep>> {
        let count = usize::try_from(self.word(COUNT)?).unwrap_or(usize::MAX);
        if count > ENTRIES_MAX {
            return Err(Errno::NOSPC.into());
        }
        let mut steps: Vec<TracedStep> = Vec::with_capacity(count);
        for at in 0..count {
            let entry = self.word(FIRST.saturating_add(at))?;
            let part = |shift: u32, mask: u64| u32::try_from(entry >> shift & mask).unwrap_or(0);
            let step = Step::from_number(part(0, 0xffff)).ok_or(Errno::PROTO)?;
            let mount =
                usize::try_from(part(MOUNT_SHIFT, u64::from(u32::MAX))).unwrap_or(0).checked_sub(1);
            let process = match part(PROCESS_SHIFT, 0xffff) {
                process::SHIM => TracedProcess::Shim,
                process::INIT => TracedProcess::Init,
                process::PROGRAM => TracedProcess::Program,
                _ => return Err(Errno::PROTO.into()),
            };
            if step == Step::ReadRequest {
                continue;
            }
            let traced = TracedStep { process, step, mount };
            if steps.iter().rfind(|last| last.process == process) != Some(&traced) {
                steps.push(traced);
            }
        }
        Ok(steps)
    }

    /// The steps of one process, in their order.
    pub fn steps_of(&self, process: TracedProcess) -> io::Result<Vec<TracedStep>> {
        Ok(self.steps()?.into_iter().filter(|traced| traced.process == process).collect())
    }

    fn word(&self, at: usize) -> rustix::io::Result<u64> {
        let mut word = [0; size_of::<u64>()];
        let offset = u64::try_from(at.saturating_mul(word.len())).unwrap_or(u64::MAX);
        match pread(&*self.0.0, &mut word, offset)? {
            len if len == word.len() => Ok(u64::from_ne_bytes(word)),
            _ => Err(Errno::IO),
        }
    }
}

impl Drop for StepTrace {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| {
            if current.as_ref().is_some_and(|log| Arc::ptr_eq(&log.0, &self.0.0)) {
                *current = None;
            }
        });
    }
}

/// Sends a request with the log of this thread, if it has one.
pub(crate) fn with_current<T>(
    request: &Request,
    rights: &[BorrowedFd<'_>],
    send: impl FnOnce(&Request, &[BorrowedFd<'_>]) -> T,
) -> T {
    let Some(log) = CURRENT.with_borrow(Clone::clone) else { return send(request, rights) };
    let descriptors = request.descriptors.saturating_add(1);
    let traced = Request { descriptors, is_traced: 1, ..*request };
    let rights: Vec<_> = rights.iter().copied().chain([log.0.as_fd()]).collect();
    send(&traced, &rights)
}
