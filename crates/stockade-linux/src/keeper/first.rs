//! The box's first process: it makes the box, forks the program, reaps, and ends with it.
//!
//! When it dies the kernel kills everything in the box, whoever killed it. It is a copy of the
//! keeper: no host memory, not dumpable, and no descriptor of the host but its line.

use core::sync::atomic::{AtomicBool, Ordering};

use super::apply;
use super::boxed::{NONE, new, op, option};
use super::broker::{self, Broker};
use super::cell::Cell;
use super::counter::Counter;
use super::mechanism::Mechanism;
use super::proclist::NumberedEntries;
use super::sharing;
use super::step::Step;
use super::sys::{self, AT_FDCWD, Errno, Fd, Forked, Left, Pid, Poll, pr, sig};
use super::template;
use super::tree::Count;
use super::watch::{At, CONTROL, Failed, Order, hear_host, tell};
use super::wire::{Report, UNLIMITED, cause, kind};

/// Whether a first process could not be cloned into its cgroup of version 2.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Clones the first process of a box into its namespaces, and into its cgroup where that may be.
pub(crate) fn clone(cell: &mut Cell) -> sys::Result<Forked> {
    // That of cgroups is entered by the first process itself, once it is in them.
    let namespaces = cell.plan.namespaces & !new::CGROUP;
    if REFUSED.load(Ordering::Relaxed) || cell.leaves_out(Mechanism::Cgroup) {
        cell.plan.unified = NONE;
    }
    let unified = cell.fd(cell.plan.unified);
    match sys::spaces::fork_into(namespaces, unified) {
        Err(_) if unified.is_some() => {
            // Refused, or a kernel without it; the first process then enters by itself. It would be
            // refused again, and late: most of a process has been made by then.
            REFUSED.store(true, Ordering::Relaxed);
            cell.plan.unified = NONE;
            sys::spaces::fork_into(namespaces, None)
        }
        other => other,
    }
}

/// The whole life of the first process. What goes wrong is told through the line.
pub(crate) fn be_first_in_child(cell: &mut Cell) -> ! {
    // Without a line nothing can be told.
    let Ok(line) = cell.line() else { sys::exit(126) };
    let failed = match make_box(cell) {
        Ok(()) if cell.has(option::TEMPLATE) => match apply::leave_host_in_child(cell) {
            Ok(()) => template::serve(cell, line),
            Err(failed) => failed,
        },
        Ok(()) => match start_program(cell, line) {
            Ok(first) => Life::of(line, cell, first).until_the_end(),
            Err(failed) => failed,
        },
        Err(failed) => failed,
    };
    tell(line, failed)
}

fn make_box(cell: &mut Cell) -> Result<(), Failed> {
    // A template ignores the end of its copies; a copy has children of its own.
    sys::heed_children().at(Step::ClearSignals)?;
    if !cell.has(option::COPY) {
        // A session has turns of its own, where the kernel groups them so, and waits less for its keeper.
        sys::setsid().at(Step::OpenSession)?;
    }
    sys::set_name(c"stockade-box");
    apply::make_box_in_child(cell)?;
    // A change of ids or capabilities clears this, so it comes late. Should the parent have died
    // before, the line closes with the host, and a template takes all that is in it along.
    sys::prctl(pr::SET_PDEATHSIG, sig::KILL).at(Step::TieToKeeper)
}

/// Gives the host a handle on the first process, so that it can kill the box whatever else is lost,
/// and lets it look at what was made.
pub(crate) fn announce(line: Fd, kind: u32) -> sys::Result<()> {
    let first = sys::getpid();
    let pidfd = sys::pidfd_open(first)?;
    let forked = Report { kind, pid: first, ..Report::default() };
    let told = sys::send(line, &forked, Some(pidfd));
    sys::close(pidfd);
    told
}

struct First {
    program: Pid,
    /// What the program's process has left in this memory, if it shared that.
    left: Option<Left>,
    proc: Fd,
    desk: Fd,
    counter: Counter,
    is_alone: bool,
}

fn start_program(cell: &mut Cell, line: Fd) -> Result<First, Failed> {
    let counter = Counter::new(cell.plan.processes_max)?;
    let proc = list_processes(cell).at(Step::ListProcesses)?;
    let desk = broker::open_desk_in_child(cell)?;
    let (program, left) = if cell.has_broker() {
        (broker::fork_program(cell, line)?, None)
    } else {
        sharing::start(cell, line).map(|left| (left.pid, Some(left)))?
    };
    let is_alone = !cell.leaves_out(Mechanism::PidNamespace);
    Ok(First { program, left, proc, desk, counter, is_alone })
}

/// The list of processes of the box; its own, if the box shows none and they are to be counted.
fn list_processes(cell: &Cell) -> sys::Result<Fd> {
    let shows_its_own = cell.ops()?.iter().any(|one| one.kind == op::PROC);
    if shows_its_own || cell.plan.processes_max == UNLIMITED {
        // Without one, only those that cannot be killed are not counted.
        return Ok(sys::open(AT_FDCWD, c"/proc").unwrap_or(-1));
    }
    sys::mounts::own_processes()
}

/// Where the list of processes is.
const PROC: Fd = CONTROL + 1;
/// Where the broker hears of its listener.
const DESK: Fd = PROC + 1;

/// `CAP_SYS_PTRACE`, without which a program could hide from being counted.
const TO_SEE_ALL: u64 = 1 << 19;

/// The first process while there is a program.
struct Life {
    children: Fd,
    proc: Fd,
    broker: Option<&'static mut Broker>,
    program: Pid,
    left: Option<Left>,
    counter: Counter,
    status: Option<i32>,
    program_cpu_ns: u64,
    leftovers: u32,
    /// Whether everybody who can be signalled is in the box; only a test can have it otherwise.
    is_alone: bool,
}

impl Life {
    /// Holds nothing but the line, which becomes the lowest descriptor, and what a broker needs.
    fn of(line: Fd, cell: &Cell, first: First) -> Self {
        let First { program, left, proc, desk, mut counter, is_alone } = first;
        let creations = match broker::open_log_in_child(cell).at(Step::LearnNames) {
            Ok(creations) => creations,
            Err(failed) => tell(line, failed),
        };
        // From here on nothing can be told; what fails ends this process, and so the box.
        let kept = sys::move_to(line, CONTROL)
            .and_then(|()| if proc < 0 { Ok(()) } else { sys::move_to(proc, PROC) })
            .and_then(|()| if desk < 0 { Ok(()) } else { sys::move_to(desk, DESK) })
            .and_then(|()| sys::close_from(if desk < 0 { DESK } else { DESK + 1 }, 0))
            .and_then(|()| {
                // Without a user namespace, as a test may have it, there is no such capability.
                let seeing = sys::locks::set_capabilities(TO_SEE_ALL);
                seeing.or_else(|_| sys::locks::set_capabilities(0))
            });
        let Ok(children) = kept.and_then(|()| sys::child_signals()) else { sys::exit(126) };
        counter.rest();
        let proc = if proc < 0 { proc } else { PROC };
        let broker = (desk >= 0).then(|| match Broker::new(cell, DESK, creations) {
            Ok(broker) => broker,
            Err(failed) => tell(CONTROL, failed),
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
            is_alone,
        }
    }

    /// Waits for the program's end, for an order, or for a reason to end it; ends the box.
    fn until_the_end(mut self) -> ! {
        let cause = loop {
            let desk = self.broker.as_ref().map_or(-1, |broker| broker.desk());
            let mut fds = [Poll::input(CONTROL), Poll::input(self.children), Poll::input(desk)];
            // Every signal is blocked, so polling fails for lack of kernel memory; or because somebody
            // took this process its descriptors, and then nobody rules the box.
            if sys::poll(&mut fds, self.time_left_ns()) == Err(Errno::INVAL) {
                sys::exit(126);
            }
            let [line, children, _] = fds.map(|fd| fd.revents != 0);
            if !fds.iter().any(|fd| fd.revents != 0) {
                self.left.take().into_iter().for_each(sharing::clear_away);
            }
            if let (Some(broker), [_, _, desk]) = (&mut self.broker, fds) {
                broker.serve(desk.revents);
            }
            if children && self.reap_until_program() {
                break cause::EXITED;
            }
            if line {
                match hear_host() {
                    Some(Order::Kill) => break cause::KILLED,
                    // Everything goes with it.
                    Some(Order::Gone) => sys::exit(0),
                    None => {}
                }
            }
            let proc = self.proc;
            if self.counter.is_above(|room| count(proc, room.len())) {
                break cause::PROCESSES;
            }
        };
        let survivors = self.kill();
        if let (0, Some(broker)) = (survivors, &mut self.broker) {
            broker.finish();
        }
        let told = sys::send(CONTROL, &self.report(cause, survivors), None);
        // The end of a namespace takes a while, and the host may wait for this processor.
        sys::step_aside();
        sys::exit(i32::from(told.is_err()))
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

    /// Reaps what has ended, and says whether the program is among it.
    fn reap_until_program(&mut self) -> bool {
        // One read takes the pending SIGCHLD, however many children it stands for.
        let mut information = [0; 128];
        let _taken = sys::read(self.children, &mut information);
        // A zombie's figures are final, and gone once it is reaped.
        self.program_cpu_ns = sys::used_by_ns(self.program).unwrap_or(self.program_cpu_ns);
        while let Ok(Some((pid, status))) = sys::reap() {
            if pid == self.program {
                self.status = Some(status);
                return true;
            }
        }
        false
    }

    /// Kills everybody in this namespace but this process, and reaps them: how many remain.
    fn kill(&mut self) -> u32 {
        const EVERYBODY: Pid = -1;
        const SIGNAL: i32 = 0x7f;
        const TIME_NS: u64 = 5_000_000_000;
        const PAUSE_NS: u64 = 20_000_000;
        if self.is_alone {
            // Fails if nobody is left.
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
                // No child is left, and so nobody at all.
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
            cpu_ns: usage.cpu_ns,
            program_cpu_ns: self.program_cpu_ns,
            peak_rss_bytes: usage.peak_rss_bytes,
            ..Report::default()
        }
    }
}

/// Counts the processes of the box, this one apart, up to a limit.
fn count(proc: Fd, limit: usize) -> Count {
    let Ok(list) = sys::open(proc, c".") else { return Count::Within(1) };
    let count = NumberedEntries::of(list).count().saturating_sub(1);
    sys::close(list);
    match u32::try_from(count) {
        Ok(within) if count <= limit => Count::Within(within),
        _ => Count::Above,
    }
}
