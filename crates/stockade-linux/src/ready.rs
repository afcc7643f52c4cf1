//! A box in which everything is in place and nothing runs yet.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::Pid;

use crate::attest::{self, Attested, Expected, Spaces, Surroundings};
use crate::booting::Booting;
use crate::cgroup::Cgroup;
use crate::control::Line;
use crate::creations::Creations;
use crate::handing::{Program, hand};
use crate::hearing::{House, hear_executed, hear_first, hear_first_failed, hear_left, hear_ready};
use crate::jail::pack::{Fittings, Sheet};
use crate::jail::{Attest, Jail};
use crate::keeper::mechanism::Mechanism;
use crate::keeper::step::Step;
use crate::pidfd::kill;
use crate::remains::Remains;
use crate::running::Running;
use crate::seccomp::Names;
use crate::start::{At, OurStreams, StartError};
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
    creations: Option<Creations>,
    duty: Option<Duty>,
    /// Whether it has yet to say that the host's folders are gone, which was seen.
    house: House,
    /// What it was made of, until its program runs.
    described: Option<Box<Jail>>,
}

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
    /// Paths whose creation is refused.
    pub(crate) refused: Arc<[CString]>,
}

impl Outlook {
    /// What is known of a box from its description.
    pub(crate) fn of(jail: &Jail) -> Self {
        let told = jail.names() == Names::Told;
        Self {
            expected: Expected::of(jail),
            owner: jail.user_to_take_on(),
            attest: jail.attest,
            refused: jail.refused.iter().filter(|_| told).cloned().collect(),
        }
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
    /// Where its first process writes down which names its program creates.
    pub(crate) creations: Option<Creations>,
}

impl Ordered {
    /// Lets a keeper make a box.
    pub(crate) fn with(
        keeper: Booting,
        sheet: &Sheet<'_>,
        outlook: Outlook,
        cgroup: Option<Cgroup>,
    ) -> Result<Self, StartError> {
        let (line, line_far) = Line::pair().at(Step::OpenControl)?;
        let (gate, gate_far) = Line::pair().at(Step::OpenControl)?;
        let creations = Creations::begin(&outlook.refused).at(Step::PrepareBox)?;
        let fittings = Fittings {
            line: Some(line_far.as_fd()),
            gate: Some(gate_far.as_fd()),
            cgroup: cgroup.as_ref(),
            supervisor: None,
            creation_log: creations.as_ref().map(Creations::file),
        };
        let mut remains = keeper.order(sheet, &fittings)?;
        drop((line_far, gate_far));
        remains.limits = cgroup;
        Ok(Self { gate, line, outlook, remains, creations })
    }

    /// Waits until the program's process waits.
    pub(crate) fn meet(self) -> Result<Ready, StartError> {
        // What is named first goes last: whoever waits for the end of a box has closed its lines.
        let Self { mut remains, gate, line, outlook, creations } = self;
        let owner = outlook.owner;
        let Seen { pid, pidfd, expected, attested, house } =
            see(&gate, &line, outlook, &mut remains)?;
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
            creations,
            duty: None,
            house,
            described: None,
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
        let ours = hand(&self.gate, self.owner, &program)?;
        drop(program);
        self.executed(ours)
    }

    /// Waits until its program has been executed.
    fn executed(self, ours: OurStreams) -> Result<Running, StartError> {
        // The next that is heard is the end.
        let heard = hear_executed(&self.gate).and_then(|()| hear_left(&self.line, self.house));
        // It may have been executed all the same, and nobody would hold it to anything.
        heard.inspect_err(|_failed| kill(&self.pidfd))?;
        self.remains.cgroup().into_iter().for_each(Cgroup::sweep);
        let Self { line, pid, pidfd, expected, attested, remains, mut duty, described, .. } = self;
        let creations = self.creations;
        drop(described);
        duty.iter_mut().for_each(Duty::begin);
        Ok(Running::new(line, ours, (pid, pidfd), remains)
            .with_box(expected, attested, duty, creations))
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
