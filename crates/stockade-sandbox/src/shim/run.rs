//! The shim from its first instruction to its last: prepare, fork, watch, kill, report.

use super::counter::Counter;
use super::exec_request::{ExecRequest, ShimRequest};
use super::received_plan::ReceivedPlan;
use super::sys::{self, Errno, Fd, ForkSide, Pid, Poll, pr};
use super::tree::{Reach, Tree};
use super::{exec, fault, hold_sandbox, sched_slice, sockets};
use crate::protocol::step::Step;
use crate::protocol::{Failure, KILL, Plain, Report, cause, form, kind, slot};

/// The control socket is standard input.
pub(crate) const CONTROL: Fd = 0;

/// A step that went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepError {
    /// Which.
    pub(crate) step: Step,
    /// Why.
    pub(crate) errno: Errno,
}

/// Adds the step to the error of a system call.
pub(crate) trait At<T> {
    /// The same result, its error with the step.
    fn at(self, step: Step) -> Result<T, StepError>;
}

impl<T> At<T> for sys::Result<T> {
    fn at(self, step: Step) -> Result<T, StepError> {
        if fault::fails(step) {
            return Err(StepError { step, errno: Errno::NOTRECOVERABLE });
        }
        if self.is_ok() {
            fault::record(step);
        }
        self.map_err(|errno| StepError { step, errno })
    }
}

/// The whole life of the shim.
pub(crate) fn keep() -> ! {
    let kept =
        become_shim().and_then(|()| ShimRequest::receive(CONTROL)).and_then(|asked| match asked {
            ShimRequest::Nothing => Ok(None),
            ShimRequest::Program(exec) => keep_program(&exec),
            ShimRequest::Box { supervisor } => hold_sandbox::run(supervisor).map(|()| None),
            ShimRequest::Sockets => sockets::hand_out().map(|()| None),
        });
    let report = match kept {
        Ok(None) => sys::exit(0),
        Ok(Some(report)) => report,
        Err(failed) => fail(CONTROL, failed),
    };
    // If the host has exited, the report has no reader.
    let told = sys::send(CONTROL, &report, None);
    // The host may wait for this processor.
    sys::step_aside();
    sys::exit(i32::from(told.is_err()))
}

/// Tells the host what went wrong, and ends.
pub(crate) fn fail(channel: Fd, failed: StepError) -> ! {
    sys::exit(if report_failure(channel, failed).is_ok() { 127 } else { 126 })
}

/// Tells the host what went wrong.
pub(crate) fn report_failure(channel: Fd, StepError { step, errno }: StepError) -> sys::Result<()> {
    let (step, errno) = (step.number(), errno.0);
    sys::send(channel, &Report { kind: kind::FAILED, step, errno, ..Report::default() }, None)
}

/// Runs one program to its end; no report if the host went away.
fn keep_program(exec: &ExecRequest) -> Result<Option<Report>, StepError> {
    let broken = StepError { step: Step::ReadRequest, errno: Errno::BADMSG };
    let locks = match exec.request.form {
        form::LOCKED => Some(ReceivedPlan::receive(CONTROL)?.ok_or(broken)?),
        _ => None,
    };
    let mut counter = Counter::new(exec.request.processes_max)?;
    let mut tree = Tree::open(close_scope(exec)?)?;
    let children = sys::child_signals().at(Step::SetUpShim)?;
    let nice = hurry();
    let (program, verdict) = fork_program(exec, locks.as_ref(), nice)?;
    // The program has the only end, so that whoever writes to it learns when it reads no more.
    sys::close(exec.fd(slot::STDIN));
    tree.plant(program);

    let supervisor = exec.fd(slot::SUPERVISOR);
    let mut watch = Watch { children, verdict, supervisor, program };
    let end = watch.until_the_end(&mut tree, &mut counter);
    let survivors = tree.kill();
    match end {
        End::HostGone => Ok(None),
        End::NotStarted(failed) => Err(failed),
        End::Because(cause) => Ok(Some(account(&tree, program, cause, survivors))),
    }
}

/// Cuts what was inherited and makes this process fit to hold a tree.
fn become_shim() -> Result<(), StepError> {
    const FIRST_AFTER_STDERR: Fd = 3;
    sys::block_signals().at(Step::SetUpShim)?;
    // An ignored SIGCHLD would be inherited, and the kernel would then reap behind our back.
    sys::default_signals();
    sys::close_from(FIRST_AFTER_STDERR, 0).at(Step::SetUpShim)?;
    sys::setsid().at(Step::SetUpShim)?;
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::SetUpShim)?;
    sys::set_name(c"stockade-shim");
    sched_slice::set_short();
    sys::prctl(pr::SET_CHILD_SUBREAPER, 1).at(Step::AdoptOrphans)
}

/// Enters the Landlock domain that the whole tree will live in, and proves that it holds.
///
/// The proof is a signal 0 to the supervisor, which is outside: allowed before, refused after.
/// Only then may the shim ever signal "everybody", for that is the tree alone.
fn close_scope(exec: &ExecRequest) -> Result<Reach, StepError> {
    let Some(ruleset) = exec.scope() else { return Ok(Reach::Machine) };
    let supervisor = exec.fd(slot::SUPERVISOR);
    let before = sys::may_signal(supervisor);
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::ScopeTree)?;
    sys::locks::landlock_restrict_self(ruleset).at(Step::ScopeTree)?;
    match (before, sys::may_signal(supervisor)) {
        (Ok(()), Err(Errno::PERM)) => Ok(Reach::Tree),
        (Ok(()), Ok(())) => Err(StepError { step: Step::ScopeTree, errno: Errno::INVAL }),
        // Never allowed in the first place, or the supervisor is dead: nothing is proven.
        (Ok(()) | Err(_), _) => Ok(Reach::Machine),
    }
}

/// Raises the priority above ordinary processes if allowed, as for root: the process that counts
/// and kills must not wait behind those that fork. Without privileges `RLIMIT_NPROC` bounds them
/// instead. Returns the nice value for the program, if it must be restored.
fn hurry() -> Option<isize> {
    const HIGHEST: isize = -20;
    let inherited = sys::nice().ok()?;
    if !sys::is_scheduled_normally() {
        return None;
    }
    // The nice value weighs only within a session where the kernel groups by session (autogroup).
    let hurried = sys::schedule_first().or_else(|_| sys::set_nice(HIGHEST));
    hurried.ok().map(|()| inherited)
}

/// Forks the program: its id, and a pipe that closes when it is executed.
fn fork_program(
    exec: &ExecRequest,
    locks: Option<&ReceivedPlan>,
    nice: Option<isize>,
) -> Result<(Pid, Fd), StepError> {
    let [verdict, failure] = sys::pipe().at(Step::Fork)?;
    let shim = sys::getpid();
    match sys::fork().at(Step::Fork)? {
        ForkSide::Parent(program) => {
            sys::close(failure);
            if let Some(plan) = locks {
                plan.close();
            }
            Ok((program, verdict))
        }
        ForkSide::Child => {
            sys::close(verdict);
            let StepError { step, errno } = exec::become_program_in_child(exec, locks, shim, nice);
            let message = Failure { step: step.number(), errno: errno.0 };
            let told = sys::write(failure, message.bytes());
            sys::exit(if told.is_ok() { 127 } else { 126 })
        }
    }
}

/// Why the watch ended.
#[derive(Debug, Clone, Copy)]
enum End {
    HostGone,
    NotStarted(StepError),
    Because(u32),
}

/// The descriptors that the shim polls.
#[derive(Debug)]
struct Watch {
    children: Fd,
    verdict: Fd,
    supervisor: Fd,
    program: Pid,
}

impl Watch {
    fn until_the_end(&mut self, tree: &mut Tree, counter: &mut Counter) -> End {
        loop {
            let mut fds = [
                Poll::input(CONTROL),
                Poll::input(self.supervisor),
                Poll::input(self.verdict),
                Poll::input(self.children),
            ];
            // Until the program is executed there is nothing of it to count.
            let timeout = if self.verdict < 0 { counter.time_left_ns() } else { None };
            // Every signal is blocked, so poll fails only for lack of kernel memory, or with EINVAL
            // because RLIMIT_NOFILE of this process was lowered; then the tree has no control any
            // more.
            if sys::poll(&mut fds, timeout) == Err(Errno::INVAL) {
                return End::HostGone;
            }
            let [control, supervisor, verdict, children] = fds.map(|fd| fd.revents != 0);
            let end = supervisor
                .then_some(End::HostGone)
                .or_else(|| verdict.then(|| self.read_verdict()).flatten())
                // A program that has ended by itself was not killed by an order that came as well.
                .or_else(|| children.then(|| self.reap_children(tree)).flatten())
                .or_else(|| control.then(read_command).flatten().map(End::from))
                .or_else(|| self.count(tree, counter));
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Counts processes once the program is executed. A quick program may fork before this process
    /// reads of its exec; the exec is reported first.
    fn count(&self, tree: &Tree, counter: &mut Counter) -> Option<End> {
        let is_above = self.verdict < 0 && counter.is_above(|room| tree.count(room));
        is_above.then_some(End::Because(cause::PROCESSES))
    }

    /// The verdict pipe closes empty when the program was executed.
    fn read_verdict(&mut self) -> Option<End> {
        let mut failure = Failure::default();
        let len = sys::read(self.verdict, failure.bytes_mut()).unwrap_or(0);
        if len == size_of::<Failure>() {
            let step = Step::from_number(failure.step).unwrap_or(Step::Execute);
            return Some(End::NotStarted(StepError { step, errno: Errno(failure.errno) }));
        }
        sys::close(self.verdict);
        self.verdict = -1;
        let started = Report { kind: kind::STARTED, pid: self.program, ..Report::default() };
        let told = sys::send(CONTROL, &started, None);
        told.is_err().then_some(End::HostGone)
    }

    fn reap_children(&self, tree: &mut Tree) -> Option<End> {
        // One read takes the pending SIGCHLD, however many children it stands for.
        let mut information = [0; 128];
        let _taken = sys::read(self.children, &mut information);
        tree.reap();
        // A failed child ends too: its words come first, through the pipe.
        (tree.status.is_some() && self.verdict < 0).then_some(End::Because(cause::EXITED))
    }
}

/// A command of the host while something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostCommand {
    /// The end of it.
    Kill,
    /// Nothing any more: it is gone.
    Gone,
}

impl From<HostCommand> for End {
    fn from(order: HostCommand) -> Self {
        match order {
            HostCommand::Kill => Self::Because(cause::KILLED),
            HostCommand::Gone => Self::HostGone,
        }
    }
}

/// Takes the host's order from the control socket.
pub(crate) fn read_command() -> Option<HostCommand> {
    let mut command = Failure::default();
    let mut fds = [-1; slot::COUNT];
    match sys::receive(CONTROL, &mut command, &mut fds) {
        Ok((1.., _)) if command.step == KILL => Some(HostCommand::Kill),
        Ok((1.., _)) | Err(Errno::INTR) => None,
        Ok((0, _)) | Err(_) => Some(HostCommand::Gone),
    }
}

/// The final report. The usage is complete: everything that could be reaped was.
fn account(tree: &Tree, program: Pid, cause: u32, survivors: u32) -> Report {
    const KILLED_STATUS: i32 = 9;
    let usage = sys::children_usage();
    Report {
        kind: kind::ENDED,
        pid: program,
        // A program that survives its kill has no status yet; it is as good as killed.
        status: tree.status.unwrap_or(KILLED_STATUS),
        cause,
        leftovers: tree.leftovers,
        survivors,
        cpu_ns: usage.cpu_ns,
        program_cpu_ns: tree.program_cpu_ns,
        peak_rss_bytes: usage.peak_rss_bytes,
        ..Report::default()
    }
}
