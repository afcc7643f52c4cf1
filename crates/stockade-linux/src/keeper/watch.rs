//! The keeper from its first instruction to its last: prepare, fork, watch, kill, report.

use super::cell::Cell;
use super::counter::Counter;
use super::job::{Asked, Job};
use super::step::Step;
use super::sys::{self, Errno, Fd, Forked, Pid, Poll, pr};
use super::tree::{Reach, Tree};
use super::wire::{Failure, KILL, Plain, Report, cause, form, kind, slot};
use super::{child, sabotage, turns, ward};

/// The control socket is standard input.
pub(crate) const CONTROL: Fd = 0;

/// A step that went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed {
    /// Which.
    pub(crate) step: Step,
    /// Why.
    pub(crate) errno: Errno,
}

/// Says at which step a system call failed.
pub(crate) trait At<T> {
    /// The same result, its error with the step.
    fn at(self, step: Step) -> Result<T, Failed>;
}

impl<T> At<T> for sys::Result<T> {
    fn at(self, step: Step) -> Result<T, Failed> {
        if sabotage::fails(step) {
            return Err(Failed { step, errno: Errno::NOTRECOVERABLE });
        }
        self.map_err(|errno| Failed { step, errno })
    }
}

/// The whole life of the keeper.
pub(crate) fn keep() -> ! {
    let kept =
        become_keeper().and_then(|()| Asked::receive(CONTROL)).and_then(|asked| match asked {
            Asked::Nothing => Ok(None),
            Asked::Program(job) => keep_program(&job),
            Asked::Box { supervisor } => ward::keep_box(supervisor).map(|()| None),
        });
    let report = match kept {
        Ok(None) => sys::exit(0),
        Ok(Some(report)) => report,
        Err(failed) => tell(CONTROL, failed),
    };
    // If the host is gone there is nobody to tell.
    let told = sys::send(CONTROL, &report, None);
    // The host may wait for this processor.
    sys::step_aside();
    sys::exit(i32::from(told.is_err()))
}

/// Tells the host what went wrong, and ends.
pub(crate) fn tell(line: Fd, failed: Failed) -> ! {
    sys::exit(if report_failure(line, failed).is_ok() { 127 } else { 126 })
}

/// Tells the host what went wrong.
pub(crate) fn report_failure(line: Fd, Failed { step, errno }: Failed) -> sys::Result<()> {
    let (step, errno) = (step.number(), errno.0);
    sys::send(line, &Report { kind: kind::FAILED, step, errno, ..Report::default() }, None)
}

/// Runs one program to its end; no report if the host went away.
fn keep_program(job: &Job) -> Result<Option<Report>, Failed> {
    let broken = Failed { step: Step::ReadRequest, errno: Errno::BADMSG };
    let locks = match job.request.form {
        form::LOCKED => Some(Cell::receive(CONTROL)?.ok_or(broken)?),
        _ => None,
    };
    let mut counter = Counter::new(job.request.processes_max)?;
    let mut tree = Tree::open(close_scope(job)?)?;
    let children = sys::child_signals().at(Step::BecomeKeeper)?;
    let nice = hurry();
    let (program, verdict) = fork_program(job, locks.as_ref(), nice)?;
    tree.plant(program);

    let supervisor = job.fd(slot::SUPERVISOR);
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
fn become_keeper() -> Result<(), Failed> {
    const FIRST_AFTER_STDERR: Fd = 3;
    sys::block_signals().at(Step::BecomeKeeper)?;
    // An ignored SIGCHLD would be inherited, and the kernel would then reap behind our back.
    sys::default_signals();
    sys::close_from(FIRST_AFTER_STDERR, 0).at(Step::BecomeKeeper)?;
    sys::setsid().at(Step::BecomeKeeper)?;
    sys::prctl(pr::SET_DUMPABLE, 0).at(Step::BecomeKeeper)?;
    sys::set_name(c"stockade-keeper");
    turns::shorten();
    sys::prctl(pr::SET_CHILD_SUBREAPER, 1).at(Step::AdoptOrphans)
}

/// Enters the Landlock domain that the whole tree will live in, and proves that it holds.
///
/// The proof is a signal 0 to the supervisor, which is outside: allowed before, refused after.
/// Only then may the keeper ever signal "everybody", for that is the tree alone.
fn close_scope(job: &Job) -> Result<Reach, Failed> {
    let Some(ruleset) = job.scope() else { return Ok(Reach::Machine) };
    let supervisor = job.fd(slot::SUPERVISOR);
    let before = sys::may_signal(supervisor);
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::ScopeTree)?;
    sys::locks::landlock_restrict_self(ruleset).at(Step::ScopeTree)?;
    match (before, sys::may_signal(supervisor)) {
        (Ok(()), Err(Errno::PERM)) => Ok(Reach::Tree),
        (Ok(()), Ok(())) => Err(Failed { step: Step::ScopeTree, errno: Errno::INVAL }),
        // Never allowed in the first place, or the supervisor is dead: nothing is proven.
        (Ok(()) | Err(_), _) => Ok(Reach::Machine),
    }
}

/// Goes before ordinary processes where it may, as root may: whoever counts and kills must not
/// wait for its turn among those who fork. Without privileges `RLIMIT_NPROC` bounds them instead.
/// Gives the nice value for the program, if it must be set back.
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
fn fork_program(job: &Job, locks: Option<&Cell>, nice: Option<isize>) -> Result<(Pid, Fd), Failed> {
    let [verdict, failure] = sys::pipe().at(Step::Fork)?;
    let keeper = sys::getpid();
    match sys::fork().at(Step::Fork)? {
        Forked::Parent(program) => {
            sys::close(failure);
            if let Some(cell) = locks {
                cell.close();
            }
            Ok((program, verdict))
        }
        Forked::Child => {
            sys::close(verdict);
            let Failed { step, errno } = child::become_program_in_child(job, locks, keeper, nice);
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
    NotStarted(Failed),
    Because(u32),
}

/// What the keeper listens to.
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
            // Every signal is blocked, so polling fails for lack of kernel memory; or because somebody
            // took this process its descriptors, and then nobody rules the tree.
            if sys::poll(&mut fds, timeout) == Err(Errno::INVAL) {
                return End::HostGone;
            }
            let [control, supervisor, verdict, children] = fds.map(|fd| fd.revents != 0);
            let end = supervisor
                .then_some(End::HostGone)
                .or_else(|| verdict.then(|| self.hear_verdict()).flatten())
                // A program that has ended by itself was not killed by an order that came as well.
                .or_else(|| children.then(|| self.hear_children(tree)).flatten())
                .or_else(|| control.then(hear_host).flatten().map(End::from))
                .or_else(|| self.count(tree, counter));
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Counts what was executed. A program that is quicker than this process may have forked before
    /// its execution was heard of; that comes first, so that the host hears of it first.
    fn count(&self, tree: &Tree, counter: &mut Counter) -> Option<End> {
        let is_above = self.verdict < 0 && counter.is_above(|room| tree.count(room));
        is_above.then_some(End::Because(cause::PROCESSES))
    }

    /// The verdict pipe closes empty when the program was executed.
    fn hear_verdict(&mut self) -> Option<End> {
        let mut failure = Failure::default();
        let len = sys::read(self.verdict, failure.bytes_mut()).unwrap_or(0);
        if len == size_of::<Failure>() {
            let step = Step::from_number(failure.step).unwrap_or(Step::Execute);
            return Some(End::NotStarted(Failed { step, errno: Errno(failure.errno) }));
        }
        sys::close(self.verdict);
        self.verdict = -1;
        let started = Report { kind: kind::STARTED, pid: self.program, ..Report::default() };
        let told = sys::send(CONTROL, &started, None);
        told.is_err().then_some(End::HostGone)
    }

    fn hear_children(&self, tree: &mut Tree) -> Option<End> {
        // One read takes the pending SIGCHLD, however many children it stands for.
        let mut information = [0; 128];
        let _taken = sys::read(self.children, &mut information);
        tree.reap();
        // A failed child ends too: its words come first, through the pipe.
        (tree.status.is_some() && self.verdict < 0).then_some(End::Because(cause::EXITED))
    }
}

/// What the host wants while something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The end of it.
    Kill,
    /// Nothing any more: it is gone.
    Gone,
}

impl From<Order> for End {
    fn from(order: Order) -> Self {
        match order {
            Order::Kill => Self::Because(cause::KILLED),
            Order::Gone => Self::HostGone,
        }
    }
}

/// Takes the host's order from the control socket.
pub(crate) fn hear_host() -> Option<Order> {
    let mut command = Failure::default();
    let mut fds = [-1; slot::COUNT];
    match sys::receive(CONTROL, &mut command, &mut fds) {
        Ok((1.., _)) if command.step == KILL => Some(Order::Kill),
        Ok((1.., _)) | Err(Errno::INTR) => None,
        Ok((0, _)) | Err(_) => Some(Order::Gone),
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
