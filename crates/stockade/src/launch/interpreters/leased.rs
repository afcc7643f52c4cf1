//! One call in an interpreter that was there before it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use stockade_sandbox::{Cause, Cgroup, CgroupUsage, Ended, LostShim, Running, Sample, Status};

use super::interpreter::Interpreter;
use super::owner::Owner;
use super::protocol::{Channel, ExitInfo, Message};
use crate::launch::tree::Tree;
use crate::limits::LimitHit;
use crate::outcome::{Failure, Outcome, SessionUse};

/// How long a session has to stop by itself once it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// An interpreter with a call. Dropping it ends the interpreter.
#[derive(Debug)]
pub(super) struct LeasedInterpreter {
    interpreter: Interpreter,
    // Dropped after the interpreter: by then that is gone, as its owner will believe.
    owner: Owner,
    /// Those of the call; a session has the same for all.
    streams: Option<(OwnedFd, OwnedFd)>,
    before: CgroupUsage,
    cpu_before: Duration,
    ended: Option<Ended>,
    /// The interpreter is there no more, and its box tells how it ended.
    is_gone: bool,
    is_killed: bool,
    is_interrupted: bool,
}

impl LeasedInterpreter {
    pub(super) fn new(
        interpreter: Interpreter,
        owner: Owner,
        streams: Option<(OwnedFd, OwnedFd)>,
    ) -> Self {
        let running = &interpreter.running;
        let before = running.cgroup().map(Cgroup::usage).unwrap_or_default();
        let counted = running.cgroup().and_then(Cgroup::cpu);
        let cpu_before = counted.unwrap_or_else(|| running.sample().cpu);
        Self {
            interpreter,
            owner,
            streams,
            before,
            cpu_before,
            ended: None,
            is_gone: false,
            is_killed: false,
            is_interrupted: false,
        }
    }

    fn ended_as(&self, info: ExitInfo) -> Ended {
        let status = match info.status {
            code @ 0.. => Status::Code(code),
            signal => Status::Signal(signal.saturating_neg()),
        };
        let (cpu, peak_rss_bytes) = if self.is_session() {
            // Code in a session may write this word itself: what it uses is seen from outside.
            let seen = self.interpreter.running.sample();
            (seen.cpu.saturating_sub(self.cpu_before), seen.resident_bytes)
        } else {
            (info.cpu, info.peak_rss_bytes)
        };
        Ended {
            status,
            cpu,
            program_cpu: info.own_cpu,
            peak_rss_bytes,
            cause: if self.is_interrupted { Cause::Killed } else { Cause::Exited },
            leftovers: 0,
            survivors: 0,
            left_running: 0,
            is_unsealed: false,
        }
    }

    fn is_session(&self) -> bool {
        self.owner.session().is_some()
    }
}

impl Tree for LeasedInterpreter {
    fn running(&self) -> &Running {
        &self.interpreter.running
    }

    fn running_mut(&mut self) -> &mut Running {
        &mut self.interpreter.running
    }

    /// A session is asked to stop before it is killed, and may then end by itself.
    fn dies_at_once(&self) -> bool {
        !self.is_session()
    }

    /// The interpreter reports how the call ended, or the end of its sandbox does.
    fn try_ended(&mut self) -> Result<Option<Ended>, LostShim> {
        while self.ended.is_none() && !self.is_gone {
            match self.interpreter.channel.as_mut().map_or(Message::Gone, Channel::receive) {
                Message::Nothing => return Ok(None),
                Message::Ready => {}
                Message::Ended(info) => self.ended = Some(self.ended_as(info)),
                Message::Gone => self.is_gone = true,
            }
        }
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        let ended = self.interpreter.running.try_ended()?;
        if ended.is_none() {
            // It is about to end, or runs on without its channel, where nobody controls it. If it is
            // gone already, its end has been reported.
            let _gone = self.interpreter.running.kill().is_err();
        }
        // The interpreter's own figures are those of all its calls.
        let cpu = |ended: &Ended| ended.cpu.saturating_sub(self.cpu_before);
        Ok(ended.map(|ended| Ended { cpu: cpu(&ended), program_cpu: Duration::ZERO, ..ended }))
    }

    fn control(&self) -> BorrowedFd<'_> {
        match &self.interpreter.channel {
            Some(channel) if !self.is_gone => channel.as_fd(),
            Some(_) | None => self.interpreter.running.control(),
        }
    }

    fn stdout(&self) -> BorrowedFd<'_> {
        self.streams.as_ref().map_or(self.interpreter.running.stdout(), |(out, _)| out.as_fd())
    }

    fn stderr(&self) -> BorrowedFd<'_> {
        self.streams.as_ref().map_or(self.interpreter.running.stderr(), |(_, err)| err.as_fd())
    }

    /// A session takes its source from the channel.
    fn take_stdin(&mut self) -> Option<OwnedFd> {
        let channel = self.interpreter.channel.as_ref().filter(|_| self.is_session())?;
        channel.handle().ok()
    }

    /// One of a session may be told to end while it has a call.
    fn check(&mut self) -> Option<LimitHit> {
        self.owner.ordered()
    }

    fn kill(&mut self) -> io::Result<()> {
        self.is_killed = true;
        self.interpreter.running.kill()
    }

    fn interrupt(&mut self) -> Option<Duration> {
        let channel = self.interpreter.channel.as_ref()?;
        if self.is_interrupted || !self.is_session() {
            return None;
        }
        self.is_interrupted = channel.interrupt().is_ok();
        self.is_interrupted.then_some(GRACE)
    }

    /// Since the call began. Peaks are those of all calls, and are no figures of this one.
    fn usage(&self) -> Option<CgroupUsage> {
        let now = self.interpreter.running.cgroup().map(Cgroup::usage)?;
        let since = |now: Option<u64>, before: Option<u64>| {
            now.map(|now| now.saturating_sub(before.unwrap_or(0)))
        };
        Some(CgroupUsage {
            memory_peak_bytes: None,
            tasks_peak: None,
            oom_kills: since(now.oom_kills, self.before.oom_kills),
            forks_refused: since(now.forks_refused, self.before.forks_refused),
            cpu: now.cpu.map(|cpu| cpu.saturating_sub(self.cpu_before)),
            ..now
        })
    }

    fn counted_cpu(&self) -> Option<Duration> {
        let now = self.interpreter.running.cgroup().and_then(Cgroup::cpu)?;
        Some(now.saturating_sub(self.cpu_before))
    }

    fn sample(&self) -> Sample {
        let mut sample = self.interpreter.running.sample();
        sample.cpu = sample.cpu.saturating_sub(self.cpu_before);
        sample
    }

    /// Gives the interpreter back, if it is as it was.
    fn release(mut self: Box<Self>, mut outcome: Outcome, _: bool) -> Result<Outcome, Failure> {
        let is_well = self.ended.is_some() && !self.is_gone && !self.is_killed;
        let session = self.owner.session().map(|name| SessionUse {
            name: name.to_string(),
            new: self.interpreter.calls == 1,
            calls: self.interpreter.calls,
            alive: is_well,
            cwd: None,
        });
        outcome.notes.extend(self.interpreter.remark.take());
        if is_well {
            let Self { interpreter, owner, .. } = *self;
            owner.take_back(interpreter);
        } else if !self.is_killed {
            let what =
                if session.is_some() { "interpreter of the session" } else { "warm interpreter" };
            outcome
                .notes
                .push(format!("the {what} ended with this call; the next call gets a fresh one"));
        } else if let Some(session) = &session {
            outcome.notes.push(format!(
                "the interpreter of the session {} was ended; the next call gets a fresh one",
                session.name
            ));
        }
        outcome.session = session;
        Ok(outcome)
    }
}
