//! A parent for the process that decides: however that one ends, or if it does not, an agent gets a status that it
//! heeds. It takes any other for a hook that has nothing to say, and goes on.

use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use stockade::launch::{ForkSide, SignalQueue, fork_supervisor};

use super::event::Kind;
use super::{DEADLINE, KIND, WATCH_BYTES, leave, refuse};
use crate::exit_code::Status;
use crate::print;

/// How much longer the parent waits than the process that decides: that one may be stopped, or late.
const GRACE: Duration = Duration::from_secs(3);
/// How long one that was killed may take to be gone, and how long the words of a refusal may take.
const END_MAX: Duration = Duration::from_secs(2);

/// What the process that decides tells its parent: the kind of the answer, and that it was given.
const PRE_TOOL_USE: u8 = 0;
const PERMISSION_REQUEST: u8 = 1;
const ANSWERED: u8 = 2;

/// The socket to the parent.
static PARENT: OnceLock<OwnedFd> = OnceLock::new();

/// Goes on in a child of this process, and returns in the parent when the child has ended, or has to be ended.
/// Signals to the parent wait until they are read. Without a second process the first decides alone, and signals
/// do not end it before its deadline: where nothing can be had, that is as much as there is.
pub(crate) fn guard() -> Option<ExitCode> {
    let Ok(signals) = SignalQueue::begin() else { return None };
    match fork_supervisor() {
        Ok(ForkSide::FrontEnd { supervisor, socket }) => {
            Some(Guard { child: supervisor, socket, signals }.wait())
        }
        Ok(ForkSide::Supervisor(socket)) => {
            PARENT.get_or_init(|| socket);
            // With its signals it is ended as any process, and the parent refuses. If they cannot be had, its
            // deadline is what ends it.
            let _blocked = signals.release().is_err();
            None
        }
        Err(_none) => None,
    }
}

/// The parent.
struct Guard {
    child: Pid,
    socket: OwnedFd,
    signals: SignalQueue,
}

/// Why the parent does not wait any longer.
enum Event {
    Ended(WaitStatus),
    Signal(i32),
    Deadline,
    Error(String),
}

impl Guard {
    fn wait(self) -> ExitCode {
        let until = Instant::now().checked_add(DEADLINE.saturating_add(GRACE));
        let why = match self.next_event(until) {
            Event::Ended(status) => return self.settle(status, None),
            Event::Signal(signal) => format!("the hook was told to end by signal {signal}"),
            Event::Deadline => {
                let waited = DEADLINE.saturating_add(GRACE).as_secs();
                format!("the process that decides has not ended within {waited} seconds")
            }
            Event::Error(why) => format!("the process that decides cannot be waited for: {why}"),
        };
        // It may be stopped, or have ended just now.
        let _gone = kill_process(self.child, Signal::KILL).is_err();
        let until = Instant::now().checked_add(END_MAX);
        loop {
            match self.next_event(until) {
                Event::Ended(status) => return self.settle(status, Some(why)),
                Event::Signal(_) => {}
                Event::Deadline | Event::Error(_) => return self.refuse(&why),
            }
        }
    }

    /// Waits until the child has ended or a signal has come that would end this process, but for so long.
    fn next_event(&self, until: Option<Instant>) -> Event {
        loop {
            match waitpid(Some(self.child), WaitOptions::NOHANG) {
                Ok(Some((_, status))) => return Event::Ended(status),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Event::Error(errno.to_string()),
            }
            match self.signals.next() {
                // SIGCHLD is how the end of the child is told.
                Ok(Some(signal)) if HARMLESS.contains(&signal) => continue,
                Ok(Some(signal)) => return Event::Signal(signal),
                Ok(None) => {}
                Err(error) => return Event::Error(error.to_string()),
            }
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            let Some(rest) = rest.filter(|rest| !rest.is_zero()) else { return Event::Deadline };
            let timeout = Timespec::try_from(rest).ok();
            let mut polled = [PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Event::Error(errno.to_string()),
            }
        }
    }

    /// The status for the agent, after the end of the child; `why` it was to end, if it was.
    fn settle(&self, status: WaitStatus, why: Option<String>) -> ExitCode {
        let has_answered = self.heed();
        match status.exit_status() {
            Some(0) => return Status::Ok.into(),
            Some(2) if has_answered => return Status::Blocked.into(),
            Some(_) | None => {}
        }
        let how = || match status.terminating_signal() {
            Some(signal) => format!("the process that decides was ended by signal {signal}"),
            None => "the process that decides has ended without an answer".to_owned(),
        };
        if has_answered {
            // Its answer is out, and only the status can take it back.
            print::error(&why.unwrap_or_else(how));
            return Status::Blocked.into();
        }
        self.refuse(&why.unwrap_or_else(how))
    }

    /// Learns what the child has told; whether it has answered.
    fn heed(&self) -> bool {
        let (mut word, mut has_answered) = ([0], false);
        while let Ok((1.., _)) = recv(&self.socket, &mut word, RecvFlags::DONTWAIT) {
            match word {
                [ANSWERED] => has_answered = true,
                [PERMISSION_REQUEST] => _ = KIND.get_or_init(|| Kind::PermissionRequest),
                [_] => _ = KIND.get_or_init(|| Kind::PreToolUse),
            }
        }
        has_answered
    }

    fn refuse(&self, why: &str) -> ExitCode {
        self.heed();
        // Words that nobody reads hold up no refusal.
        let leave_in_time = || {
            thread::sleep(END_MAX);
            leave();
        };
        let thread = thread::Builder::new().name("words".to_owned()).stack_size(WATCH_BYTES);
        let _unwatched = thread.spawn(leave_in_time).is_err();
        refuse(why)
    }
}

/// What ends no process by default, or only stops it: a hook goes on. `SIGPIPE` is told by an error as well.
const HARMLESS: [i32; 8] = [
    Signal::PIPE.as_raw(),
    Signal::CHILD.as_raw(),
    Signal::CONT.as_raw(),
    Signal::TSTP.as_raw(),
    Signal::TTIN.as_raw(),
    Signal::TTOU.as_raw(),
    Signal::URG.as_raw(),
    Signal::WINCH.as_raw(),
];

/// Tells the parent which kind of answer is waited for.
pub(super) fn tell_kind(kind: Kind) {
    tell(if kind == Kind::PermissionRequest { PERMISSION_REQUEST } else { PRE_TOOL_USE });
}

/// Tells the parent that the agent has its answer.
pub(super) fn tell_answered() {
    tell(ANSWERED);
}

fn tell(word: u8) {
    if let Some(parent) = PARENT.get() {
        // A parent that is gone refuses nothing any more.
        let _gone = send(parent, &[word], SendFlags::NOSIGNAL).is_err();
    }
}
