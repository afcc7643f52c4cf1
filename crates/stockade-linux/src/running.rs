//! A program that runs, and how it ended.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::attest::{self, Attested, Expected};
use crate::cgroup::Cgroup;
use crate::control::{Heard, Line, Patience};
use crate::creations::Creations;
use crate::keeper::Keeper;
use crate::keeper::mechanism::Mechanism;
use crate::keeper::wire::{Report, cause, kind};
use crate::pidfd::{ends_within, kill};
use crate::remains::Remains;
use crate::sample::{self, Sample};
use crate::start::OurStreams;
use crate::yard::Duty;

/// A program that runs. Dropping it kills the whole tree and waits until it is gone.
#[derive(Debug)]
#[must_use = "dropping it kills the program"]
pub struct Running {
    // Closed first when dropped, so that everything ends before it is waited for.
    line: Line,
    streams: OurStreams,
    pid: Pid,
    pidfd: OwnedFd,
    result: Option<Result<Ended, KeeperLost>>,
    attested: Option<Attested>,
    expected: Option<Expected>,
    remains: Remains,
    duty: Option<Duty>,
    creations: Option<Creations>,
}

/// How a run ended. Nothing of it is left, survivors apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How the program itself ended.
    pub status: Status,
    /// User and system time of the whole tree, as far as it was waited for by its parents or by
    /// the keeper: a process whose parent ignores SIGCHLD is not counted by the kernel.
    pub cpu: Duration,
    /// User and system time of the program itself: what `RLIMIT_CPU` counts, in ticks.
    pub program_cpu: Duration,
    /// The largest resident set of one process.
    pub peak_rss_bytes: u64,
    /// Why the tree was killed.
    pub cause: Cause,
    /// How many processes outlived the program and were killed.
    pub leftovers: u32,
    /// How many could not be killed within five seconds, as one that hangs in the kernel.
    pub survivors: u32,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// Why a tree was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The program ended by itself, or something else killed it.
    Exited,
    /// [`Running::kill`].
    Killed,
    /// More processes than [`Spec::processes_max`](crate::Spec::processes_max) lived at once.
    ProcessLimit,
}

/// The keeper died before it could report, so that nobody vouches for the tree.
///
/// As a last resort the program, its process group and its cgroup were killed; without a cgroup,
/// what left the group may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("learn how the program ended: its keeper was lost, only its process group was killed")]
pub struct KeeperLost;

impl Running {
    pub(crate) fn new(
        line: Line,
        streams: OurStreams,
        (pid, pidfd): (Pid, OwnedFd),
        remains: Remains,
    ) -> Self {
        Self {
            line,
            streams,
            pid,
            pidfd,
            result: None,
            attested: None,
            expected: None,
            remains,
            duty: None,
            creations: None,
        }
    }

    /// The same run with what belongs to a box.
    pub(crate) fn with_box(
        mut self,
        expected: Expected,
        attested: Option<Attested>,
        duty: Option<Duty>,
        creations: Option<Creations>,
    ) -> Self {
        (self.expected, self.attested, self.duty) = (Some(expected), attested, duty);
        self.creations = creations;
        self
    }

    /// The mechanisms made of mounts that a running box has lost.
    ///
    /// The host can undo a mount by accident: a program that renames another file over a protected
    /// one, as `git config` does, takes the mount away, and the box can then write there. Ask now
    /// and then while the box runs, and kill it if the answer is not empty.
    pub fn lost(&self) -> io::Result<Vec<Mechanism>> {
        match &self.expected {
            Some(expected) if self.result.is_none() => match attest::lost(expected, self.pid) {
                // The box has just ended, and can write nowhere.
                Err(Errno::NOENT | Errno::SRCH) => Ok(Vec::new()),
                other => Ok(other?),
            },
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// What was seen of the box from outside before the program was executed, if it was looked at.
    pub fn attested(&self) -> Option<&Attested> {
        self.attested.as_ref()
    }

    /// The names that its program creates, where its first process hears of them.
    pub fn creations(&self) -> Option<&Creations> {
        self.creations.as_ref()
    }

    /// The limits of the whole box, and what it has used of them.
    pub fn cgroup(&self) -> Option<&Cgroup> {
        self.remains.cgroup()
    }

    /// What the living processes of the tree use together at the moment. A cgroup counts better.
    pub fn sample(&self) -> Sample {
        sample::add_up(&self.processes())
    }

    /// The memory of the tree at the moment, pages that processes share counted once. It costs far
    /// more than [`Self::sample`], which is never less.
    pub fn memory_bytes(&self) -> u64 {
        sample::proportional_bytes(&self.processes())
    }

    /// All processes of the tree at the moment. Orphans come to the keeper, or to the first process
    /// of a box, whose keeper may have many.
    fn processes(&self) -> HashSet<u32> {
        match (self.keeper_pid(), u32::try_from(self.pid())) {
            (Some(keeper), _) => sample::descendants(keeper),
            (None, Ok(first)) => sample::descendants(first).into_iter().chain([first]).collect(),
            (None, Err(_)) => HashSet::new(),
        }
    }

    /// The id of the program, or of a box's first process, for reading `/proc`; not for signals,
    /// use [`Self::kill`].
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The keeper's process id; none for a box that was made from a template.
    pub fn keeper_pid(&self) -> Option<u32> {
        self.remains.keeper.as_ref().map(Keeper::id)
    }

    /// The end of standard input to write to, once, if it is [`Piped`](crate::Stdin::Piped).
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.streams.stdin.take()
    }

    /// The end of standard output to read from.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        self.streams.stdout.as_fd()
    }

    /// The end of standard error to read from.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.streams.stderr.as_fd()
    }

    /// A descriptor that is readable once [`Self::try_ended`] has an answer.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// Orders the death of the whole tree; [`Self::try_ended`] tells when it is done.
    pub fn kill(&self) -> io::Result<()> {
        Ok(self.line.order_kill()?)
    }

    /// How the run ended, if it has.
    pub fn try_ended(&mut self) -> Result<Option<Ended>, KeeperLost> {
        self.hear(Patience::None)
    }

    /// Waits for the end. A program that fills a pipe that nobody reads never ends.
    pub fn wait(&mut self) -> Result<Ended, KeeperLost> {
        loop {
            if let Some(ended) = self.hear(Patience::Endless)? {
                return Ok(ended);
            }
        }
    }

    fn hear(&mut self, patience: Patience) -> Result<Option<Ended>, KeeperLost> {
        if let Some(result) = self.result {
            return result.map(Some);
        }
        let result = match self.line.hear(patience) {
            Ok(Heard::Nothing) => return Ok(None),
            Ok(Heard::Message(report, _)) => Ended::from_report(&report).ok_or(KeeperLost),
            Ok(Heard::Closed) | Err(_) => self.ended_with_first().ok_or(KeeperLost),
        };
        if result.is_err() {
            self.kill_without_keeper();
        }
        self.result = Some(result);
        result.map(Some)
    }

    /// How a box ended that the kernel killed as a whole for want of memory, its first process
    /// included. The end of that is the end of everything in it, `pid_namespaces(7)`.
    fn ended_with_first(&self) -> Option<Ended> {
        const KILLED: i32 = 9;
        const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
        self.expected.as_ref().filter(|expected| expected.has_first())?;
        self.cgroup()?.usage().oom_kills.filter(|kills| *kills > 0)?;
        ends_within(&self.pidfd, &PATIENCE).then(|| Ended {
            status: Status::Signal(KILLED),
            cpu: self.cgroup().and_then(Cgroup::cpu).unwrap_or_default(),
            program_cpu: Duration::ZERO,
            peak_rss_bytes: 0,
            cause: Cause::Exited,
            leftovers: 0,
            survivors: 0,
        })
    }

    /// Kills what can be found without a keeper: the program and its process group, and everything
    /// where there is a cgroup.
    fn kill_without_keeper(&self) {
        kill(&self.pidfd);
        if let Err(Errno::INVAL) = signal_group(&self.pidfd) {
            // It may be gone already, which is what is wanted.
            let _gone = kill_process_group(self.pid, Signal::KILL);
        }
        // What is left even so is met again when the cgroup is removed.
        let _busy = self.cgroup().map(Cgroup::kill);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A keeper gives up on a tree after five seconds.
        const PATIENCE: Timespec = Timespec { tv_sec: 6, tv_nsec: 0 };
        if self.result.is_none() {
            self.end(PATIENCE);
        }
        if let Some(duty) = self.duty.take() {
            duty.see_to(std::mem::take(&mut self.remains));
        }
    }
}

impl Running {
    /// Ends what has not ended.
    fn end(&mut self, patience: Timespec) {
        let ordered = self.kill();
        let mut ready = [PollFd::new(&self.line, PollFlags::IN)];
        if ordered.is_err() || !matches!(poll(&mut ready, Some(&patience)), Ok(1..)) {
            self.kill_without_keeper();
        } else {
            let _told = self.hear(Patience::None);
        }
    }
}

/// Kills the process group that the process behind the pidfd leads or led.
fn signal_group(pidfd: &OwnedFd) -> rustix::io::Result<()> {
    // PIDFD_SIGNAL_PROCESS_GROUP of linux/pidfd.h, Linux 6.9. The group is found through the
    // handle, so that its number cannot mean another one by now.
    const PROCESS_GROUP: libc::c_uint = 1 << 2;
    // SAFETY: the information is null, so the kernel reads no memory.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            PROCESS_GROUP,
        )
    };
    let error = if result == 0 { None } else { Errno::from_io_error(&io::Error::last_os_error()) };
    error.map_or(Ok(()), Err)
}

impl Ended {
    fn from_report(report: &Report) -> Option<Self> {
        if report.kind != kind::ENDED {
            return None;
        }
        Some(Self {
            status: Status::from_raw(report.status),
            cpu: Duration::from_nanos(report.cpu_ns),
            program_cpu: Duration::from_nanos(report.program_cpu_ns),
            peak_rss_bytes: report.peak_rss_bytes,
            cause: match report.cause {
                cause::EXITED => Cause::Exited,
                cause::KILLED => Cause::Killed,
                cause::PROCESSES => Cause::ProcessLimit,
                _ => return None,
            },
            leftovers: report.leftovers,
            survivors: report.survivors,
        })
    }
}

impl Status {
    /// Reads a wait status, see wait(2): the low seven bits are the signal.
    fn from_raw(raw: i32) -> Self {
        match raw & 0x7f {
            0 => Self::Code((raw >> 8) & 0xff),
            signal => Self::Signal(signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_status_is_a_code_or_a_signal() {
        assert_eq!(Status::from_raw(0x0300), Status::Code(3));
        assert_eq!(Status::from_raw(9), Status::Signal(9));
        // 128 says that a core was written.
        assert_eq!(Status::from_raw(0x80 | 0xb), Status::Signal(11));
    }

    #[test]
    fn a_report_with_an_unknown_cause_is_no_end() {
        let report = Report { kind: kind::ENDED, cause: 99, ..Report::default() };
        assert_eq!(Ended::from_report(&report), None);
    }
}
