//! The program's processes: counting them, reaping them, and killing every last one.
//!
//! The shim adopts orphans (`PR_SET_CHILD_SUBREAPER`), so a descendant that lives is either its
//! child or has a living ancestor that is: no children left means that nothing is left.

use super::proclist::{NumberedEntries, Numbers, Path};
use super::run::{At, StepError};
use super::sys::{self, AT_FDCWD, Errno, Fd, Pid, sig};
use crate::protocol::step::Step;

const KILL_TIME_NS: u64 = 5_000_000_000;
const KILL_PAUSE_NS: u64 = 1_000_000;
const STROKE_PAUSE_NS: u64 = 20_000_000;

/// The program and all that descends from it.
#[derive(Debug)]
pub(crate) struct Tree {
    proc: Fd,
    children: Fd,
    reach: Reach,
    own_group: Pid,
    program: Pid,
    /// The program's wait status, once it has been reaped.
    pub(crate) status: Option<i32>,
    /// The CPU time of the program itself, without its children.
    pub(crate) program_cpu_ns: u64,
    /// How many other processes were found alive by the kill.
    pub(crate) leftovers: u32,
}

/// How far a signal to everybody would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To every process of this user: never send one.
    Machine,
    /// To the tree alone, proven: the kernel kills it in one stroke, forks in flight included.
    Tree,
}

/// The result of reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReapResult {
    /// Nothing has ended.
    Nothing,
    /// Something has ended and something is left.
    Some,
    /// Nothing is left.
    All,
}

/// The result of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// This many live.
    Within(u32),
    /// More than the limit live.
    Above,
}

impl Tree {
    /// Opens the process lists. There is no program yet.
    pub(crate) fn open(reach: Reach) -> Result<Self, StepError> {
        let proc = sys::open(AT_FDCWD, c"/proc").at(Step::ListProcesses)?;
        let children = sys::open(proc, c"thread-self/children").at(Step::ListProcesses)?;
        let own_group = sys::getpgid(0).at(Step::ListProcesses)?;
        Ok(Self {
            proc,
            children,
            reach,
            own_group,
            program: 0,
            status: None,
            program_cpu_ns: 0,
            leftovers: 0,
        })
    }

    /// Names the program.
    pub(crate) fn plant(&mut self, program: Pid) {
        self.program = program;
    }

    /// Reaps all that have ended.
    pub(crate) fn reap(&mut self) -> ReapResult {
        if self.status.is_none() && self.program != 0 {
            // Readable until it is reaped; afterwards only sums with its children are left.
            self.program_cpu_ns = sys::used_by_ns(self.program).unwrap_or(self.program_cpu_ns);
        }
        let mut reaped = ReapResult::Nothing;
        loop {
            match sys::reap() {
                Ok(Some((pid, status))) => {
                    reaped = ReapResult::Some;
                    self.note(pid, status);
                }
                Ok(None) => return reaped,
                Err(Errno::INTR) => {}
                Err(_) => return ReapResult::All,
            }
        }
    }

    fn note(&mut self, pid: Pid, status: i32) {
        const SIGNAL: i32 = 0x7f;
        if pid == self.program && self.status.is_none() {
            self.status = Some(status);
        } else if usize::try_from(status & SIGNAL) == Ok(sig::KILL) {
            self.leftovers = self.leftovers.saturating_add(1);
        }
    }

    /// Kills everything, and gives the number of those that did not die in time.
    pub(crate) fn kill(&mut self) -> u32 {
        let deadline = sys::now_ns().saturating_add(KILL_TIME_NS);
        self.leftovers = 0;
        self.strike();
        let mut next_strike = self.next_strike();
        loop {
            match self.reap() {
                ReapResult::All => return 0,
                ReapResult::Some => {}
                ReapResult::Nothing => sys::await_child_signal(KILL_PAUSE_NS),
            }
            let now = sys::now_ns();
            if now > deadline {
                return self.survivors();
            }
            if now > next_strike {
                self.strike();
                next_strike = self.next_strike();
            }
        }
    }

    /// One stroke at the whole tree needs no second, but for a process that could not be
    /// signalled; without it each round finds those that the last one has orphaned.
    fn next_strike(&self) -> u64 {
        sys::now_ns().saturating_add(match self.reach {
            Reach::Tree => STROKE_PAUSE_NS,
            Reach::Machine => 0,
        })
    }

    /// Sends SIGKILL to all that can be found now.
    fn strike(&self) {
        const EVERYBODY: Pid = -1;
        if self.reach == Reach::Tree {
            // Fails if no process is left, which reaping will find.
            let _nobody = sys::kill(EVERYBODY, sig::KILL);
            return;
        }
        // The kernel signals a process group in one stroke, so that a fork in flight does not
        // slip through. The program opened a session, so every group here is its tree's own.
        let mut struck = self.own_group;
        for pid in Numbers::of(self.children) {
            let group = sys::getpgid(pid).unwrap_or(0);
            // A child cannot vanish before it is reaped, so neither number can be another's.
            let _dead = sys::kill(pid, sig::KILL);
            if group > 1 && group != struck && group != self.own_group {
                let _dead = sys::kill(group.wrapping_neg(), sig::KILL);
                struck = group;
            }
        }
    }

    fn survivors(&self) -> u32 {
        let mut room = [0; 256];
        match self.count(&mut room) {
            Count::Within(count) => count,
            Count::Above => 256,
        }
    }

    /// Counts the tree, ended but unreaped processes included; the room is the limit.
    pub(crate) fn count(&self, room: &mut [Pid]) -> Count {
        let mut waiting = Stack { room, len: 0, found: 0 };
        if !waiting.push_from(self.children) {
            return Count::Above;
        }
        while let Some(pid) = waiting.pop() {
            if !self.push_children(pid, &mut waiting) {
                return Count::Above;
            }
        }
        Count::Within(waiting.found)
    }

    /// Takes in the children of a process; false if the limit is passed.
    fn push_children(&self, pid: Pid, waiting: &mut Stack<'_>) -> bool {
        const NAMES_WITH_ONE_THREAD: u32 = 3;
        // Each thread has a list of the children that it made; the folder of threads has a name
        // for each and two for itself.
        let threads = Path::new().number(pid).text("/task");
        if threads.names(self.proc) == Ok(NAMES_WITH_ONE_THREAD) {
            let list = threads.text("/").number(pid).text("/children").open(self.proc);
            return list.map_or(true, |list| waiting.push_all(list));
        }
        let Ok(threads) = threads.open(self.proc) else { return true };
        let fits = NumberedEntries::of(threads).all(|thread| {
            let list = Path::new().number(thread).text("/children").open(threads);
            list.map_or(true, |list| waiting.push_all(list))
        });
        sys::close(threads);
        fits
    }
}

/// Processes whose children are still to be counted.
struct Stack<'a> {
    room: &'a mut [Pid],
    len: usize,
    found: u32,
}

impl Stack<'_> {
    /// Takes in a `children` file and closes it; false if the limit is passed.
    fn push_all(&mut self, list: Fd) -> bool {
        let fits = self.push_from(list);
        sys::close(list);
        fits
    }

    fn push_from(&mut self, list: Fd) -> bool {
        Numbers::of(list).all(|pid| {
            self.found = self.found.saturating_add(1);
            let above = usize::try_from(self.found).is_ok_and(|found| found > self.room.len());
            if let Some(place) = self.room.get_mut(self.len) {
                *place = pid;
                self.len = self.len.wrapping_add(1);
            }
            !above
        })
    }

    fn pop(&mut self) -> Option<Pid> {
        self.len = self.len.checked_sub(1)?;
        self.room.get(self.len).copied()
    }
}
