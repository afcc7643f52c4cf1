//! One call in an interpreter that was there before it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use stockade_linux::{Cause, Cgroup, CgroupUsage, Ended, KeeperLost, Running, Status};

use super::interpreter::Interpreter;
use super::line::{Line, Said, Word};
use super::place::Place;
use crate::launch::subject::Parting;
use crate::outcome::SessionUse;

/// How long a session has to stop by itself once it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// A call that an interpreter has taken. Dropping it ends the interpreter.
#[derive(Debug)]
pub(in crate::launch) struct Lent {
    interpreter: Interpreter,
    /// After the interpreter, which is gone when its place is given up.
    place: Place,
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

impl Lent {
    pub(super) fn new(
        interpreter: Interpreter,
        place: Place,
        streams: Option<(OwnedFd, OwnedFd)>,
    ) -> Self {
        let running = &interpreter.running;
        let before = running.cgroup().map(Cgroup::usage).unwrap_or_default();
        let counted = running.cgroup().and_then(Cgroup::cpu);
        let cpu_before = counted.unwrap_or_else(|| running.sample().cpu);
        Self {
            interpreter,
            place,
            streams,
            before,
            cpu_before,
            ended: None,
            is_gone: false,
            is_killed: false,
            is_interrupted: false,
        }
    }

    pub(in crate::launch) fn running(&self) -> &Running {
        &self.interpreter.running
    }

    pub(in crate::launch) fn cpu_before(&self) -> Duration {
        self.cpu_before
    }

    /// What was used of the box since the call began. Peaks are those of all calls, and are no
    /// figures of this one.
    pub(in crate::launch) fn since(&self, now: CgroupUsage) -> CgroupUsage {
        let since = |now: Option<u64>, before: Option<u64>| {
            now.map(|now| now.saturating_sub(before.unwrap_or(0)))
        };
        CgroupUsage {
            memory_peak_bytes: None,
            tasks_peak: None,
            oom_kills: since(now.oom_kills, self.before.oom_kills),
            forks_refused: since(now.forks_refused, self.before.forks_refused),
            cpu: now.cpu.map(|cpu| cpu.saturating_sub(self.cpu_before)),
            ..now
        }
    }

    /// How the call ended: its interpreter says so, or the end of the box does.
    pub(in crate::launch) fn try_ended(&mut self) -> Result<Option<Ended>, KeeperLost> {
        while self.ended.is_none() && !self.is_gone {
            match self.interpreter.line.as_mut().map_or(Word::Gone, Line::hear) {
                Word::Nothing => return Ok(None),
                Word::Ready => {}
                Word::Ended(said) => self.ended = Some(self.ended_as(said)),
                Word::Gone => self.is_gone = true,
            }
        }
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        let ended = self.interpreter.running.try_ended()?;
        if ended.is_none() {
            // Its end is near, or it goes on without its line, and nobody could rule it. Who is
            // gone has been told.
            let _gone = self.interpreter.running.kill().is_err();
        }
        // The interpreter's own figures are those of all its calls.
        let cpu = |ended: &Ended| ended.cpu.saturating_sub(self.cpu_before);
        Ok(ended.map(|ended| Ended { cpu: cpu(&ended), program_cpu: Duration::ZERO, ..ended }))
    }

    fn ended_as(&self, said: Said) -> Ended {
        let status = match said.status {
            code @ 0.. => Status::Code(code),
            signal => Status::Signal(signal.saturating_neg()),
        };
        let (cpu, peak_rss_bytes) = if self.place.session().is_some() {
            // Code in a session may write this word itself: what it uses is seen from outside.
            let seen = self.interpreter.running.sample();
            (seen.cpu.saturating_sub(self.cpu_before), seen.resident_bytes)
        } else {
            (said.cpu, said.peak_rss_bytes)
        };
        Ended {
            status,
            cpu,
            program_cpu: said.own_cpu,
            peak_rss_bytes,
            cause: if self.is_interrupted { Cause::Killed } else { Cause::Exited },
            leftovers: 0,
            survivors: 0,
        }
    }

    pub(in crate::launch) fn control(&self) -> BorrowedFd<'_> {
        match &self.interpreter.line {
            Some(line) if !self.is_gone => line.as_fd(),
            Some(_) | None => self.interpreter.running.control(),
        }
    }

    pub(in crate::launch) fn stdout(&self) -> BorrowedFd<'_> {
        self.streams.as_ref().map_or(self.interpreter.running.stdout(), |(out, _)| out.as_fd())
    }

    pub(in crate::launch) fn stderr(&self) -> BorrowedFd<'_> {
        self.streams.as_ref().map_or(self.interpreter.running.stderr(), |(_, err)| err.as_fd())
    }

    /// Where a session takes its source from.
    pub(in crate::launch) fn take_input(&self) -> Option<OwnedFd> {
        let line = self.interpreter.line.as_ref().filter(|_| self.place.session().is_some())?;
        line.handle().ok()
    }

    pub(in crate::launch) fn kill(&mut self) -> io::Result<()> {
        self.is_killed = true;
        self.interpreter.running.kill()
    }

    pub(in crate::launch) fn interrupt(&mut self) -> Option<Duration> {
        let line = self.interpreter.line.as_ref()?;
        if self.is_interrupted || self.place.session().is_none() {
            return None;
        }
        self.is_interrupted = line.interrupt().is_ok();
        self.is_interrupted.then_some(GRACE)
    }

    /// Gives the interpreter back, if it is as it was.
    pub(in crate::launch) fn part(mut self) -> Parting {
        let is_well = self.ended.is_some() && !self.is_gone && !self.is_killed;
        let session = self.place.session().map(|name| SessionUse {
            name: name.to_string(),
            new: self.interpreter.calls == 1,
            calls: self.interpreter.calls,
            alive: is_well,
        });
        let mut notes: Vec<String> = self.interpreter.remark.take().into_iter().collect();
        if is_well {
            self.place.fill(self.interpreter);
        } else if !self.is_killed {
            let what = if session.is_some() { "session" } else { "warm interpreter" };
            notes.push(format!(
                "the {what} of this call ended with it; the next call gets a fresh one"
            ));
        } else if let Some(session) = &session {
            notes.push(format!(
                "the session {} was ended; the next call gets a fresh one",
                session.name
            ));
        }
        Parting { session, notes }
    }
}
