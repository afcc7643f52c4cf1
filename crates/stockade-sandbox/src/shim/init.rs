//! The sandbox's init: it makes the sandbox, forks the program, reaps, and ends with it.
//!
//! When it exits, the kernel kills everything in the sandbox. It is a copy of the shim: it has no
//! memory of the host, is not dumpable, and holds no descriptor of the host but its channel.

use core::sync::atomic::{AtomicBool, Ordering};

use super::apply;
use super::broker::{self, Broker};
use super::counter::Counter;
use super::fault;
use super::proclist::NumberedEntries;
use super::received_plan::ReceivedPlan;
use super::root;
use super::run::{At, CONTROL, HostCommand, StepError, fail, read_command};
use super::session::Namespaces;
use super::sys::{self, AT_FDCWD, Errno, Fd, ForkSide, Leftover, Pid, Poll, pr, sig};
use super::template;
use super::tree::Count;
use super::vfork;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{NONE, new, op, option};
use crate::protocol::step::Step;
use crate::protocol::{Report, UNLIMITED, cause, kind};

/// True if an init could not be cloned into its cgroup of version 2.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Clones the init of a sandbox into its namespaces, and into its cgroup where that may be.
pub(crate) fn clone(plan: &mut ReceivedPlan) -> sys::Result<ForkSide> {
    // Init enters the cgroup namespace itself, once it is in its cgroups.
    let namespaces = plan.fixed.namespaces & !new::CGROUP;
    if REFUSED.load(Ordering::Relaxed) || plan.leaves_out(Mechanism::Cgroup) {
        plan.fixed.unified = NONE;
    }
    let unified = plan.fd(plan.fixed.unified);
    let forked = match sys::spaces::fork_into(namespaces, unified) {
        Err(_) if unified.is_some() => {
            // Refused, or a kernel without it; init then enters by itself. It would be
            // refused again, and late: most of a process has been made by then.
            REFUSED.store(true, Ordering::Relaxed);
            plan.fixed.unified = NONE;
            sys::spaces::fork_into(namespaces, None)
        }
        other => other,
    };
    if let Ok(ForkSide::Child) = forked {
        fault::be_init();
    }
    forked
}

/// Runs init to its end. Failures are reported on the channel.
pub(crate) fn be_first_in_child(plan: &mut ReceivedPlan) -> ! {
    // Without a channel nothing can be reported.
    let Ok(channel) = plan.channel() else { sys::exit(126) };
    if plan.has(option::SESSION) {
        match make_session(plan, channel) {
            Ok(()) => sys::exit(0),
            Err(failed) => fail(channel, failed),
        }
    }
    let failed = match make_box(plan) {
        Ok(()) if plan.has(option::TEMPLATE) => match apply::leave_host_in_child(plan) {
            Ok(()) => template::serve(plan, channel),
            Err(failed) => failed,
        },
        Ok(()) => match start_program(plan, channel) {
            Ok(first) => InitLoop::of(channel, plan, first).until_the_end(),
            Err(failed) => failed,
        },
        Err(failed) => failed,
    };
    fail(channel, failed)
}

/// Makes the namespaces of a session and sends them to the host, which holds them by their descriptors.
fn make_session(plan: &mut ReceivedPlan, channel: Fd) -> Result<(), StepError> {
    let namespaces = Namespaces::open_in_child().at(Step::EnterSession)?;
    make_box(plan)?;
    apply::leave_host_in_child(plan)?;
    namespaces.send_in_child(channel).at(Step::Announce)
}

fn make_box(plan: &mut ReceivedPlan) -> Result<(), StepError> {
    // A template ignores the end of its copies; a copy has children of its own.
    sys::heed_children().at(Step::ClearSignals)?;
    if !plan.has(option::COPY) {
        // A session of its own is scheduled as a group (autogroup), and waits less for its shim.
        sys::setsid().at(Step::OpenSession)?;
    }
    sys::set_name(c"stockade-init");
    apply::make_box_in_child(plan)?;
    // A change of ids or capabilities clears this, so it comes late. If the parent has exited
    // before, the channel closes with the host, and the end of a template ends its copies.
    sys::prctl(pr::SET_PDEATHSIG, sig::KILL).at(Step::TieToShim)
}

/// Sends the host a pidfd of init, so that it can kill the sandbox whatever else is lost, and can
/// attest what was made.
pub(crate) fn announce(channel: Fd, kind: u32) -> sys::Result<()> {
    let first = sys::getpid();
    let pidfd = sys::pidfd_open(first)?;
    let forked = Report { kind, pid: first, ..Report::default() };
    let told = sys::send(channel, &forked, Some(pidfd));
    sys::close(pidfd);
    told
}

struct StartedBox {
    program: Pid,
    /// The memory that the program's process has left here, if it was shared.
    left: Option<Leftover>,
    proc: Fd,
    listener_channel: Fd,
    counter: Counter,
    is_alone: bool,
}

fn start_program(plan: &mut ReceivedPlan, channel: Fd) -> Result<StartedBox, StepError> {
    let counter = Counter::new(plan.fixed.processes_max)?;
    let proc = list_processes(plan).at(Step::ListProcesses)?;
    let listener_channel = broker::open_listener_channel_in_child(plan)?;
    let (program, left) = if plan.has_broker() {
        (broker::fork_program(plan, channel)?, None)
    } else {
        vfork::start(plan, channel).map(|left| (left.pid, Some(left)))?
    };
    let is_alone = !plan.leaves_out(Mechanism::PidNamespace);
    Ok(StartedBox { program, left, proc, listener_channel, counter, is_alone })
}

/// The list of processes of the sandbox; its own, if the sandbox shows none and they are to be
/// counted.
fn list_processes(plan: &ReceivedPlan) -> sys::Result<Fd> {
    let shows_its_own = plan.ops()?.iter().any(|one| one.kind == op::PROC);
    if shows_its_own || plan.fixed.processes_max == UNLIMITED {
        // Without one, only those that cannot be killed are not counted.
        return Ok(sys::open(AT_FDCWD, c"/proc").unwrap_or(-1));
    }
    sys::mounts::own_processes()
}

/// Where the list of processes is.
const PROC: Fd = CONTROL + 1;
/// Where the broker hears of its listener.
const LISTENER_CHANNEL: Fd = PROC + 1;

/// `CAP_SYS_PTRACE`, without which a program could hide from being counted.
const TO_SEE_ALL: u64 = sys::locks::cap::SYS_PTRACE;
/// `CAP_SYS_ADMIN`, with which mounts become read-only when the program has ended.
const TO_SEAL: u64 = sys::locks::cap::SYS_ADMIN;

/// Init while there is a program.
struct InitLoop<'a> {
    children: Fd,
    proc: Fd,
    broker: Option<&'static mut Broker>,
    program: Pid,
    left: Option<Leftover>,
    counter: Counter,
    status: Option<i32>,
    program_cpu_ns: u64,
    leftovers: u32,
    is_sealed: bool,
    plan: &'a ReceivedPlan,
    /// True if every process that can be signalled is in the sandbox; only a test can have it
    /// otherwise.
    is_alone: bool,
}

impl<'a> InitLoop<'a> {
    /// Keeps only the channel, which becomes the lowest descriptor, and the descriptors of a
    /// broker.
    fn of(channel: Fd, plan: &'a ReceivedPlan, first: StartedBox) -> Self {
        let StartedBox { program, left, proc, listener_channel, mut counter, is_alone } = first;
        let creations = match broker::open_log_in_child(plan).at(Step::LearnNames) {
            Ok(creations) => creations,
            Err(failed) => fail(channel, failed),
        };
        // From here on nothing can be reported; a failure ends this process, and so the sandbox.
        let kept = sys::move_to(channel, CONTROL)
            .and_then(|()| if proc < 0 { Ok(()) } else { sys::move_to(proc, PROC) })
            .and_then(|()| {
                if listener_channel < 0 {
                    Ok(())
                } else {
                    sys::move_to(listener_channel, LISTENER_CHANNEL)
                }
            })
            .and_then(|()| {
                sys::close_from(
                    if listener_channel < 0 { LISTENER_CHANNEL } else { LISTENER_CHANNEL + 1 },
                    0,
                )
            })
            .and_then(|()| {
                let sealing = if plan.fixed.sealed_count > 0 { TO_SEAL } else { 0 };
                // Without a user namespace, as a test may have it, there is no such capability.
                let seeing = sys::locks::set_capabilities(TO_SEE_ALL | sealing);
                seeing.or_else(|_| sys::locks::set_capabilities(0))
            });
        let Ok(children) = kept.and_then(|()| sys::child_signals()) else { sys::exit(126) };
        counter.rest();
        let proc = if proc < 0 { proc } else { PROC };
        let broker =
            (listener_channel >= 0).then(|| match Broker::new(plan, LISTENER_CHANNEL, creations) {
                Ok(broker) => broker,
                Err(failed) => fail(CONTROL, failed),
            });
        Self {
            children,
            proc,
            broker,
            program,
            left,
            counter,
            status: None,
            program_cpu_ns: 0,
            leftovers: 0,
            is_sealed: plan.fixed.sealed_count == 0,
            plan,
            is_alone,
        }
    }

    /// Waits for the program's end, for an order, or for a reason to end it; ends the sandbox.
    fn until_the_end(mut self) -> ! {
        let mut cause = self.watch();
        if cause == cause::EXITED {
            self.report_folder();
            if self.leave_running() {
                cause = self.watch();
            }
        }
        let survivors = self.end_all();
        if let (0, Some(broker)) = (survivors, &mut self.broker) {
            broker.finish();
        }
        let told = sys::send(CONTROL, &self.report(cause, survivors), None);
        // The end of a namespace takes a while, and the host may wait for this processor.
        sys::step_aside();
        sys::exit(i32::from(told.is_err()))
    }

    /// Waits until the program has ended, or, once it has, until all that it left running has; or for
    /// an order, or for a reason to end it. Returns the cause.
    fn watch(&mut self) -> u32 {
        loop {
            let listener_channel =
                self.broker.as_ref().map_or(-1, |broker| broker.listener_channel());
            let mut fds =
                [Poll::input(CONTROL), Poll::input(self.children), Poll::input(listener_channel)];
            // Every signal is blocked, so poll fails only for lack of kernel memory, or with EINVAL
            // because RLIMIT_NOFILE of this process was lowered; then the sandbox has no control
            // any more.
            if sys::poll(&mut fds, self.time_left_ns()) == Err(Errno::INVAL) {
                sys::exit(126);
            }
            let [channel, children, _] = fds.map(|fd| fd.revents != 0);
            if !fds.iter().any(|fd| fd.revents != 0) {
                self.left.take().into_iter().for_each(vfork::clear_away);
            }
            if let (Some(broker), [_, _, listener_channel]) = (&mut self.broker, fds) {
                broker.serve(listener_channel.revents);
            }
            if children && self.reap_until_program() {
                return cause::EXITED;
            }
            if channel {
                match read_command() {
                    Some(HostCommand::Kill) => return cause::KILLED,
                    // Everything goes with it.
                    Some(HostCommand::Gone) => {
                        self.end_all();
                        sys::exit(0)
                    }
                    None => {}
                }
            }
            let proc = self.proc;
            if self.counter.is_above(|room| count(proc, room.len())) {
                return cause::PROCESSES;
            }
        }
    }

    /// Tells the host in which working directory the program has ended; init has shared it.
    fn report_folder(&self) {
        if !self.plan.has(option::REPORTS_FOLDER) {
            return;
        }
        // A folder that was removed has no descriptor, and the host keeps the one it knows.
        let Ok(folder) = sys::mounts::here() else { return };
        let told = Self::send_folder(folder);
        sys::close(folder);
        // The host keeps the one that it knows.
        let _untold = told.is_err();
    }

    fn send_folder(folder: Fd) -> sys::Result<()> {
        const PATH_MAX: usize = 4096;
        let mut room = [0; PATH_MAX];
        let path = sys::mounts::getcwd(&mut room)?;
        let [read, write] = sys::pipe()?;
        // It fits into an empty pipe.
        let written = sys::write(write, path);
        sys::close(write);
        let sent = written.and_then(|_| {
            let report = |kind| Report { kind, ..Report::default() };
            sys::send(CONTROL, &report(kind::FOLDER), Some(folder))?;
            sys::send(CONTROL, &report(kind::FOLDER_PATH), Some(read))
        });
        sys::close(read);
        sent
    }

    /// Reports that the program has ended and that others go on, if there are others and they may.
    fn leave_running(&mut self) -> bool {
        if !self.plan.has(option::KEEPS_LEFT) {
            return false;
        }
        // One that has ended and is not reaped yet counts as a process.
        if !Self::reap_rest() {
            return false;
        }
        let Count::Within(left_running @ 1..) = count(self.proc, usize::MAX) else { return false };
        // Whatever has a protected folder open for writing is ended with all others.
        if !self.seal() {
            return false;
        }
        let report = Report { left_running, ..self.report(cause::EXITED, 0) };
        self.program = 0;
        sys::send(CONTROL, &report, None).is_ok()
    }

    /// Kills everything and makes the pinned folders read-only, which a process of another sandbox may have a
    /// handle on: how many processes remain.
    fn end_all(&mut self) -> u32 {
        let survivors = self.kill();
        self.seal();
        survivors
    }

    /// Makes the pinned folders read-only, once; returns whether they are.
    fn seal(&mut self) -> bool {
        if !self.is_sealed {
            self.is_sealed = root::seal_in_child(self.plan).is_ok()
                && sys::locks::set_capabilities(TO_SEE_ALL).is_ok();
        }
        self.is_sealed
    }

    /// Reaps what has ended, and says whether any process is left.
    fn reap_rest() -> bool {
        loop {
            match sys::reap() {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// How long nothing has to be done.
    fn time_left_ns(&self) -> Option<u64> {
        /// So long it goes without tidying up, which a program that is quick would have to wait for.
        const UNTIDY_NS: u64 = 5_000_000;
        let counter = self.counter.time_left_ns();
        let broker = self.broker.as_ref().and_then(|broker| broker.time_left_ns());
        let tidy = self.left.as_ref().map(|_| UNTIDY_NS);
        counter.into_iter().chain(broker).chain(tidy).min()
    }

    /// Reaps what has ended, and says whether the program is among it, or there is none any more.
    fn reap_until_program(&mut self) -> bool {
        // One read takes the pending SIGCHLD, however many children it stands for.
        let mut information = [0; 128];
        let _taken = sys::read(self.children, &mut information);
        // A zombie's figures are final, and gone once it is reaped.
        if self.program != 0 {
            self.program_cpu_ns = sys::used_by_ns(self.program).unwrap_or(self.program_cpu_ns);
        }
        loop {
            match sys::reap() {
                Ok(Some((pid, status))) if pid == self.program => {
                    self.status = Some(status);
                    return true;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                // No process is left. Before the program has ended there is one.
                Err(_) => return true,
            }
        }
    }

    /// Kills everybody in this namespace but this process, and reaps them: how many remain.
    fn kill(&mut self) -> u32 {
        const EVERYBODY: Pid = -1;
        const SIGNAL: i32 = 0x7f;
        const TIME_NS: u64 = 5_000_000_000;
        const PAUSE_NS: u64 = 20_000_000;
        if self.is_alone {
            // Fails if no process is left.
            let _nobody = sys::kill(EVERYBODY, sig::KILL);
        }
        let until = sys::now_ns().saturating_add(TIME_NS);
        loop {
            match sys::reap() {
                Ok(Some((pid, status))) if pid == self.program && self.status.is_none() => {
                    self.status = Some(status);
                }
                Ok(Some((_, status))) => {
                    let killed = usize::try_from(status & SIGNAL) == Ok(sig::KILL);
                    self.leftovers = self.leftovers.saturating_add(u32::from(killed));
                }
                Ok(None) if sys::now_ns() > until => {
                    let Count::Within(left) = count(self.proc, usize::MAX) else { return u32::MAX };
                    return left;
                }
                Ok(None) => sys::await_child_signal(PAUSE_NS),
                Err(Errno::INTR) => {}
                // No child is left, and so no process at all.
                Err(_) => return 0,
            }
        }
    }

    fn report(&self, cause: u32, survivors: u32) -> Report {
        const KILLED_STATUS: i32 = 9;
        let usage = sys::children_usage();
        Report {
            kind: kind::ENDED,
            // A program that survives its kill has no status yet; it is as good as killed.
            status: self.status.unwrap_or(KILLED_STATUS),
            cause,
            leftovers: self.leftovers,
            survivors,
            unsealed: u32::from(!self.is_sealed),
            cpu_ns: usage.cpu_ns,
            program_cpu_ns: self.program_cpu_ns,
            peak_rss_bytes: usage.peak_rss_bytes,
            ..Report::default()
        }
    }
}

/// Counts the processes of the sandbox, this one apart, up to a limit.
fn count(proc: Fd, limit: usize) -> Count {
    let Ok(list) = sys::open(proc, c".") else { return Count::Within(1) };
    let count = NumberedEntries::of(list).count().saturating_sub(1);
    sys::close(list);
    match u32::try_from(count) {
        Ok(within) if count <= limit => Count::Within(within),
        _ => Count::Above,
    }
}
