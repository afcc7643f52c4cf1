//! A box in which everything is in place and nothing runs yet.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::Pid;

use crate::attest::{self, Attested, Expected, Spaces, Surroundings};
use crate::booting::Booting;
use crate::cgroup::{Cgroup, Limits};
use crate::control::Line;
use crate::handing::{Program, hand};
use crate::hearing::{
    House, hear_executed, hear_first, hear_first_failed, hear_left, hear_program_failed, hear_ready,
};
use crate::jail::pack::{Fittings, Sheet};
use crate::jail::{Attest, Jail};
use crate::keeper::boxed::{ENTRANCES_MAX, gate};
use crate::keeper::mechanism::Mechanism;
use crate::keeper::step::Step;
use crate::keeper::wire::{Failure, form};
use crate::pidfd::kill;
use crate::remains::Remains;
use crate::running::Running;
use crate::start::{At, OurStreams, StartError};
use crate::whereabouts::bring_here;
use crate::yard::Duty;

/// A box that waits for its program. Dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the box"]
pub struct Ready {
    // Closed first when dropped, so that the box ends before it is waited for.
    gate: Line,
    line: Line,
    pid: Pid,
    pidfd: OwnedFd,
    owner: Option<(u32, u32)>,
    expected: Expected,
    attested: Option<Attested>,
    origin: Origin,
    remains: Remains,
    duty: Option<Duty>,
    /// Whether it has yet to say that the host's folders are gone, which was seen.
    house: House,
    /// What it was made of, until its program runs.
    described: Option<Box<Jail>>,
    /// Of a program that waits in it for the word, the host's ends of the streams.
    handed: Option<OurStreams>,
    /// Whether its first process counts on being brought to this thread's processor.
    is_brought: bool,
}

/// The program for a box with these limits, if it is known.
pub(crate) type ProgramFor<'a> = &'a dyn Fn(Option<&Cgroup>) -> Option<Program>;

/// How a box came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was made from nothing.
    Made,
    /// It was copied from a template when it was asked for.
    Copied,
    /// It was copied before, and waited.
    Waiting,
}

/// What the host knows of a box before there is one.
#[derive(Debug, Clone)]
pub(crate) struct Outlook {
    /// What was asked for.
    pub(crate) expected: Expected,
    /// Whom its streams must belong to.
    pub(crate) owner: Option<(u32, u32)>,
    /// Whether it is looked at.
    pub(crate) attest: Attest,
}

impl Outlook {
    /// What is known of a box from its description.
    pub(crate) fn of(jail: &Jail) -> Self {
        Self { expected: Expected::of(jail), owner: jail.user_to_take_on(), attest: jail.attest }
    }
}

/// A box that is being made. Dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the box"]
pub(crate) struct Ordered {
    // Closed first when dropped, so that the box ends before it is waited for.
    pub(crate) gate: Line,
    pub(crate) line: Line,
    pub(crate) outlook: Outlook,
    pub(crate) remains: Remains,
    /// The host's ends of the streams of a program that it has already, and executes on a word.
    pub(crate) handed: Option<OurStreams>,
    /// Whether its first process counts on being brought to the host's processor.
    pub(crate) is_brought: bool,
}

impl Ordered {
    /// Lets a keeper make a box.
    pub(crate) fn with(
        keeper: Booting,
        sheet: &Sheet<'_>,
        outlook: Outlook,
        limits: Limits,
    ) -> Result<Self, StartError> {
        let (line, line_far) = Line::pair().at(Step::OpenControl)?;
        let (gate, gate_far) = Line::pair().at(Step::OpenControl)?;
        let fittings = Fittings {
            line: Some(line_far.as_fd()),
            gate: Some(gate_far.as_fd()),
            limits: &limits,
            supervisor: None,
        };
        let mut remains = keeper.order(sheet, &fittings)?;
        drop((line_far, gate_far));
        let is_later = limits.is_later();
        // The box is being made meanwhile.
        remains.limits = limits.made();
        if let Some(cgroup) = remains.limits.as_ref().filter(|_| is_later) {
            let entrances: Vec<_> = cgroup.entrances().take(ENTRANCES_MAX).collect();
            match line.send(&Failure::default(), &entrances) {
                // Who does not listen any more has told why.
                Ok(()) | Err(Errno::PIPE) => {}
                Err(errno) => return Err(StartError { step: Step::SendRequest, errno }),
            }
        }
        let is_brought = sheet.is_brought();
        Ok(Self { gate, line, outlook, remains, handed: None, is_brought })
    }

    /// Hands it the program that it is for, if there is one yet: all but its execution is prepared while
    /// the host looks. What goes wrong is told when it is to run.
    pub(crate) fn hand(mut self, program: ProgramFor<'_>) -> Self {
        // Where there is a broker, the program's process cannot know whether the host's folders are gone.
        let may_be = !self.outlook.expected.has_broker();
        if let Some(program) = may_be.then(|| program(self.remains.cgroup())).flatten() {
            self.handed = hand(&self.gate, self.outlook.owner, &program, form::HELD).ok();
        }
        self
    }

    /// Waits until the program's process waits.
    pub(crate) fn meet(self) -> Result<Ready, StartError> {
        // What is named first goes last: whoever waits for the end of a box has closed its lines.
        let Self { mut remains, gate, line, outlook, handed, is_brought } = self;
        let owner = outlook.owner;
        let seen = see(&gate, &line, outlook, &mut remains);
        // Nothing can be seen of a process that has gone because it could not take its program on.
        if handed.is_some()
            && !seen.as_ref().is_ok_and(Seen::is_whole)
            && let Some(failed) = hear_program_failed(&gate)
        {
            return Err(failed);
        }
        let Seen { pid, pidfd, expected, attested, house } = seen?;
        Ok(Ready {
            gate,
            line,
            pid,
            pidfd,
            owner,
            expected,
            attested,
            origin: Origin::Made,
            remains,
            duty: None,
            house,
            described: None,
            handed,
            is_brought,
        })
    }
}

/// What the host sees of a box before anything runs in it.
struct Seen {
    pid: Pid,
    pidfd: OwnedFd,
    expected: Expected,
    attested: Option<Attested>,
    house: House,
}

impl Seen {
    fn is_whole(&self) -> bool {
        self.attested.iter().all(|seen| seen.missing.is_empty())
    }
}

/// Looks at a box while it is made, and when the program's process waits.
fn see(
    gate: &Line,
    line: &Line,
    Outlook { expected, attest, .. }: Outlook,
    remains: &mut Remains,
) -> Result<Seen, StartError> {
    // It is being made meanwhile.
    let host = attest::look_at_host(&expected);
    if !line.has_news() {
        // Later this thread would keep the program from its processor.
        remains.cgroup().into_iter().for_each(Cgroup::sweep);
    }
    let (pid, pidfd, house) = hear_first(line, remains)?;
    remains.has_first(pidfd.try_clone().at(Step::HearKeeper)?);
    let expected = expected.with_cgroup(remains.cgroup());
    // The namespaces are there, and then the mounts; the program's process puts its locks on
    // meanwhile.
    let spaces = match attest {
        Attest::BeforeExecution => {
            pid.map(|pid| host.and_then(|host| attest::look_at_spaces(&expected, pid, &host)))
        }
        Attest::No => None,
    };
    let (around, house) = match spaces {
        Some(spaces) => look_around(line, house, spaces).map(|(it, house)| (Some(it), house))?,
        None => hear_left(line, house).map(|()| (None, House::Own))?,
    };
    let tested = hear_ready(gate, line)?;
    let pid = pid.ok_or(StartError { step: Step::HearFirst, errno: Errno::SRCH })?;
    let look = |around: Surroundings| attest::look(&expected, around, tested);
    let attested = around.map(|around| around.and_then(look)).transpose().at(Step::Attest);
    let attested = attested.map_err(|unseen| hear_first_failed(line).unwrap_or(unseen))?;
    Ok(Seen { pid, pidfd, expected, attested, house })
}

impl Ready {
    /// The same box, that came to be in this way.
    pub(crate) fn by(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The id of the box's first process, for reading `/proc`.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Whom the streams of its program have to belong to, if that is another than this user.
    pub fn owner(&self) -> Option<(u32, u32)> {
        self.owner
    }

    /// How it came to be.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The same box, whose remains others will see to.
    pub(crate) fn on_duty(mut self, duty: Duty) -> Self {
        self.duty = Some(duty);
        self
    }

    /// The same box, that was made of this. To close so many folders takes a while, which there is
    /// when the program runs.
    pub(crate) fn made_of(mut self, jail: Jail) -> Self {
        self.described = Some(Box::new(jail));
        self
    }

    /// What was seen of the box from outside, if it was looked at.
    pub fn attested(&self) -> Option<&Attested> {
        self.attested.as_ref()
    }

    /// Whether it was looked at, and has all that was asked for.
    pub(crate) fn is_whole(&self) -> bool {
        self.attested.as_ref().is_some_and(|seen| seen.missing.is_empty())
    }

    /// The limits of the whole box.
    pub fn cgroup(&self) -> Option<&Cgroup> {
        self.remains.cgroup()
    }

    /// The mechanisms made of mounts that it has lost while it waited.
    pub(crate) fn lost(&self) -> rustix::io::Result<Vec<Mechanism>> {
        attest::lost(&self.expected, self.pid)
    }

    /// Executes a program in the box. When this returns it has been executed.
    pub fn run(self, program: Program) -> Result<Running, StartError> {
        if self.handed.is_some() {
            // It has another one, which it would execute instead.
            return Err(StartError { step: Step::SendRequest, errno: Errno::BUSY });
        }
        self.bring_first();
        let ours = hand(&self.gate, self.owner, &program, form::PLAIN)?;
        drop(program);
        self.executed(ours)
    }

    /// Whether a program waits in it for the word.
    pub fn is_handed(&self) -> bool {
        self.handed.is_some()
    }

    /// Gives the word to the program that waits in it. When this returns it has been executed.
    pub fn go(mut self) -> Result<Running, StartError> {
        const NONE_WAITS: StartError = StartError { step: Step::SendRequest, errno: Errno::SRCH };
        let ours = self.handed.take().ok_or(NONE_WAITS)?;
        self.bring_first();
        match self.gate.send(&Failure { step: gate::GO, errno: 0 }, &[]) {
            // Who does not listen any more has told why.
            Ok(()) | Err(Errno::PIPE) => self.executed(ours),
            Err(errno) => Err(StartError { step: Step::SendRequest, errno }),
        }
    }

    /// This thread has nothing to do while the program is executed, elsewhere as a rule.
    fn bring_first(&self) {
        if self.is_brought {
            bring_here(self.pid, &self.pidfd);
        }
    }

    /// Waits until its program has been executed.
    fn executed(self, ours: OurStreams) -> Result<Running, StartError> {
        // The next that is heard is the end.
        let heard = hear_executed(&self.gate).and_then(|()| hear_left(&self.line, self.house));
        // It may have been executed all the same, and nobody would hold it to anything.
        heard.inspect_err(|_failed| kill(&self.pidfd))?;
        self.remains.cgroup().into_iter().for_each(Cgroup::sweep);
        let Self { line, pid, pidfd, expected, attested, remains, mut duty, described, .. } = self;
        drop(described);
        duty.iter_mut().for_each(Duty::begin);
        Ok(Running::new(line, ours, (pid, pidfd), remains).with_box(expected, attested, duty))
    }
}

/// Looks at the mounts of a box, from which the host's may be about to go. They go at once, but who
/// takes them away learns of it late, so that what is seen counts, and the word if they are seen.
fn look_around(
    line: &Line,
    house: House,
    spaces: rustix::io::Result<Spaces>,
) -> Result<(rustix::io::Result<Surroundings>, House), StartError> {
    let around = spaces.and_then(attest::look_around);
    match around {
        Ok(around) if house == House::Leaving && !around.has_one_root() => {
            hear_left(line, house)?;
            Ok((around.again(), House::Own))
        }
        other => Ok((other, house)),
    }
}

#[cfg(test)]
mod tests;
