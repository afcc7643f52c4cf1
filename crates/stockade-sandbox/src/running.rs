//! A program that runs, and how it ended.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::attest::{self, Attestation, Expectations};
use crate::channel::{Channel, Incoming, Timeout};
use crate::creations::Creations;
use crate::mechanisms::cgroup::Cgroup;
use crate::pidfd::{ends_within, kill};
use crate::pool::Cleanup;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::{Report, cause, kind};
use crate::sample::{self, Sample};
use crate::spawn::ShimProcess;
use crate::start::{OurStreams, TerminalSize};
use crate::teardown::Teardown;

/// A program that runs. Dropping it kills the whole tree and waits until it is gone.
#[derive(Debug)]
#[must_use = "dropping it kills the program"]
pub struct Running {
    // Closed first when dropped, so that everything ends before it is waited for.
    channel: Channel,
    streams: OurStreams,
    pid: Pid,
    pidfd: OwnedFd,
    result: Option<Result<Ended, LostShim>>,
    attested: Option<Attestation>,
    expected: Option<Expectations>,
    teardown: Teardown,
    cleanup: Option<Cleanup>,
    creations: Option<Creations>,
    folder: Option<EndFolder>,
}

/// The working directory in which the program of a session has ended.
#[derive(Debug)]
pub struct EndFolder {
    /// Its path in the sandbox. It is the sandbox's word.
    pub path: PathBuf,
    /// The directory itself (`O_PATH`), on a mount of the sandbox.
    pub handle: OwnedFd,
}

/// How a run ended. Nothing of it is left, survivors apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How the program itself ended.
    pub status: Status,
    /// User and system time of the whole tree, as far as it was waited for by its parents or by
    /// the shim: a process whose parent ignores SIGCHLD is not counted by the kernel.
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
    /// How many processes go on in a sandbox of a session, see [`Running::keep_left`].
    pub left_running: u32,
    /// Whether a folder of [`Jail::sealed`](crate::Jail::sealed) did not become read-only, because a process
    /// outside of the sandbox has a file there open for writing, or because init was killed.
    pub is_unsealed: bool,
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

/// The shim died before it could report, so the state of the tree is unknown.
///
/// As a last resort the program, its process group and its cgroup were killed; without a cgroup,
/// what left the group may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("learn how the program ended: its shim was lost, only its process group was killed")]
pub struct LostShim;

impl Running {
    pub(crate) fn new(
        channel: Channel,
        streams: OurStreams,
        (pid, pidfd): (Pid, OwnedFd),
        teardown: Teardown,
    ) -> Self {
        Self {
            channel,
            streams,
            pid,
            pidfd,
            result: None,
            attested: None,
            expected: None,
            teardown,
            cleanup: None,
            creations: None,
            folder: None,
        }
    }

    /// The same run with what belongs to a sandbox.
    pub(crate) fn with_box(
        mut self,
        expected: Expectations,
        attested: Option<Attestation>,
        cleanup: Option<Cleanup>,
        creations: Option<Creations>,
    ) -> Self {
        (self.expected, self.attested, self.cleanup) = (Some(expected), attested, cleanup);
        self.creations = creations;
        self
    }

    /// The mechanisms made of mounts that a running sandbox has lost.
    ///
    /// The host can undo a mount by accident: a program that renames another file over a protected
    /// one, as `git config` does, takes the mount away, and the sandbox can then write there. Ask
    /// now and then while the sandbox runs, and kill it if the answer is not empty.
    pub fn lost(&self) -> io::Result<Vec<Mechanism>> {
        match &self.expected {
            Some(expected) if self.result.is_none() => match attest::lost(expected, self.pid) {
                // The sandbox has just ended, and can write nowhere.
                Err(Errno::NOENT | Errno::SRCH) => Ok(Vec::new()),
                other => Ok(other?),
            },
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// The attestation of the sandbox before the program was executed, if it was attested.
    pub fn attested(&self) -> Option<&Attestation> {
        self.attested.as_ref()
    }

    /// The names that its program creates, where its init hears of them.
    pub fn creations(&self) -> Option<&Creations> {
        self.creations.as_ref()
    }

    /// The limits of the whole sandbox, and what it has used of them.
    pub fn cgroup(&self) -> Option<&Cgroup> {
        self.teardown.cgroup()
    }

    /// The current usage of all living processes of the tree together. A cgroup counts better.
    pub fn sample(&self) -> Sample {
        sample::add_up(&self.processes())
    }

    /// The memory of the tree at the moment, pages that processes share counted once. It costs far
    /// more than [`Self::sample`], which is never less.
    pub fn memory_bytes(&self) -> u64 {
        sample::proportional_bytes(&self.processes())
    }

    /// All processes of the tree at the moment. Orphans come to the shim, or to init
    /// of a sandbox, whose shim may have many.
    pub fn processes(&self) -> HashSet<u32> {
        match (self.shim_pid(), u32::try_from(self.pid())) {
            (Some(shim), _) => sample::descendants(shim),
            (None, Ok(first)) => sample::descendants(first).into_iter().chain([first]).collect(),
            (None, Err(_)) => HashSet::new(),
        }
    }

    /// The id of the program, or of a sandbox's init, for reading `/proc`; not for signals,
    /// use [`Self::kill`].
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The shim's process id; none for a sandbox that was made from a template.
    pub fn shim_pid(&self) -> Option<u32> {
        self.teardown.shim.as_ref().map(ShimProcess::id)
    }

    /// The end of standard input to write to, once, if it is [`Piped`](crate::Stdin::Piped).
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.streams.stdin.take()
    }

    /// The end of standard output to read from.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        self.streams.stdout.as_fd()
    }

    /// Sets the size of the program's terminal, if it has one.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let (ws_row, ws_col) = (size.rows, size.columns);
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.streams.stdout, size)?)
    }

    /// The end of standard error to read from.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.streams.stderr.as_fd()
    }

    /// A descriptor that is readable once [`Self::try_ended`] has an answer.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Orders the shim to kill the whole tree; [`Self::try_ended`] reports when it is done.
    pub fn kill(&self) -> io::Result<()> {
        Ok(self.channel.order_kill()?)
    }

    /// How the run ended, if it has.
    pub fn try_ended(&mut self) -> Result<Option<Ended>, LostShim> {
        self.receive(Timeout::None)
    }

    /// Waits for the end. A program that fills a pipe that nobody reads never ends.
    pub fn wait(&mut self) -> Result<Ended, LostShim> {
        loop {
            if let Some(ended) = self.receive(Timeout::Infinite)? {
                return Ok(ended);
            }
        }
    }

    fn receive(&mut self, patience: Timeout) -> Result<Option<Ended>, LostShim> {
        if let Some(result) = self.result {
            return result.map(Some);
        }
        let result = loop {
            match self.channel.receive(patience) {
                Ok(Incoming::Nothing) => return Ok(None),
                Ok(Incoming::Message(report, Some(handle))) if report.kind == kind::FOLDER => {
                    self.folder = Some(EndFolder { path: PathBuf::new(), handle });
                }
                Ok(Incoming::Message(report, Some(pipe))) if report.kind == kind::FOLDER_PATH => {
                    self.folder = self.folder.take().and_then(|folder| folder.with_path(pipe));
                }
                Ok(Incoming::Message(report, _)) => {
                    break Ended::from_report(&report).ok_or(LostShim);
                }
                Ok(Incoming::Closed) | Err(_) => break self.ended_with_first().ok_or(LostShim),
            }
        };
        if result.is_err() {
            self.kill_without_shim();
        }
        self.result = Some(result);
        result.map(Some)
    }

    /// Goes on with the processes that the program has left running: [`Self::try_ended`] reports when
    /// these have ended too. Without it they are killed when this is dropped.
    pub fn keep_left(&mut self) {
        self.result = None;
        if let Some(expected) = &mut self.expected {
            expected.seal();
        }
    }

    /// The working directory in which the program has ended, in a session.
    pub fn take_end_folder(&mut self) -> Option<EndFolder> {
        self.folder.take()
    }

    /// How a sandbox ended that the kernel killed as a whole for want of memory, its init
    /// included. The end of that is the end of everything in it, `pid_namespaces(7)`.
    fn ended_with_first(&self) -> Option<Ended> {
        const KILLED: i32 = 9;
        const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
        self.expected.as_ref().filter(|expected| expected.has_init())?;
        self.cgroup()?.usage().oom_kills.filter(|kills| *kills > 0)?;
        ends_within(&self.pidfd, &PATIENCE).then(|| Ended {
            status: Status::Signal(KILLED),
            cpu: self.cgroup().and_then(Cgroup::cpu).unwrap_or_default(),
            program_cpu: Duration::ZERO,
            peak_rss_bytes: 0,
            cause: Cause::Exited,
            leftovers: 0,
            survivors: 0,
            left_running: 0,
            is_unsealed: self.expected.as_ref().is_some_and(Expectations::has_sealed),
        })
    }

    /// Kills what can be found without a shim: the program and its process group, and everything
    /// where there is a cgroup.
    fn kill_without_shim(&self) {
        kill(&self.pidfd);
        if let Err(Errno::INVAL) = signal_group(&self.pidfd) {
            // It may have exited already, which is fine.
            let _gone = kill_process_group(self.pid, Signal::KILL);
        }
        // Removing the cgroup tries again to kill what is left.
        let _busy = self.cgroup().map(Cgroup::kill);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A shim gives up on a tree after five seconds.
        const PATIENCE: Timespec = Timespec { tv_sec: 6, tv_nsec: 0 };
        let has_left =
            |result: &Result<Ended, LostShim>| result.is_ok_and(|ended| ended.left_running > 0);
        if self.result.as_ref().is_none_or(has_left) {
            self.result = None;
            self.end(PATIENCE);
        }
        if let Some(cleanup) = self.cleanup.take() {
            cleanup.remove(std::mem::take(&mut self.teardown));
        }
    }
}

impl Running {
    /// Ends what has not ended.
    fn end(&mut self, patience: Timespec) {
        let pending = self.kill();
        let mut ready = [PollFd::new(&self.channel, PollFlags::IN)];
        if pending.is_err() || !matches!(poll(&mut ready, Some(&patience)), Ok(1..)) {
            self.kill_without_shim();
        } else {
            let _told = self.receive(Timeout::None);
        }
    }
}

impl EndFolder {
    /// The same with the path that a pipe holds, whose other end is closed.
    fn with_path(self, pipe: OwnedFd) -> Option<Self> {
        const PATH_MAX: u64 = 4096;
        let mut path = Vec::new();
        File::from(pipe).take(PATH_MAX).read_to_end(&mut path).ok()?;
        Some(Self { path: PathBuf::from(OsString::from_vec(path)), ..self })
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
    pub(crate) fn from_report(report: &Report) -> Option<Self> {
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
            left_running: report.left_running,
            is_unsealed: report.unsealed != 0,
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
