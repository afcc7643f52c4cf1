//! One running thing, as the supervisor sees it: a program with its tree, the client of a container
//! engine, or a call in an interpreter that was started before it.

use std::fmt::{self, Debug};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use stockade_sandbox::{
    Cgroup, CgroupUsage, Controller, Creations, Creator, Ended, LostShim, Mechanism, Running,
    Sample,
};

use super::absent::{Absent, Maker};
use crate::guarantee::Guarantee;
use crate::limits::LimitHit;
use crate::outcome::{Failure, Outcome};

/// How long a sandbox goes unchecked.
const CHECK_PAUSE: Duration = Duration::from_millis(100);

/// Something that runs under supervision. Dropping it ends it.
pub(super) trait Tree: Debug + Send {
    /// The process tree that it runs in.
    fn running(&self) -> &Running;

    /// The same, to be changed.
    fn running_mut(&mut self) -> &mut Running;

    /// Whether the kernel kills the whole tree in one stroke. Otherwise a shell may see its children
    /// die first, and exit by itself.
    fn dies_at_once(&self) -> bool;

    /// Completes the outcome of the call, and gives up or gives back what it ran in. `was_killed` if
    /// the supervisor ended it.
    fn release(self: Box<Self>, outcome: Outcome, was_killed: bool) -> Result<Outcome, Failure>;

    /// How the call ended, if it has.
    fn try_ended(&mut self) -> Result<Option<Ended>, LostShim> {
        self.running_mut().try_ended()
    }

    /// Readable once [`Self::try_ended`] may have an answer.
    fn control(&self) -> BorrowedFd<'_> {
        self.running().control()
    }

    /// Where standard output is read.
    fn stdout(&self) -> BorrowedFd<'_> {
        self.running().stdout()
    }

    /// Where standard error is read.
    fn stderr(&self) -> BorrowedFd<'_> {
        self.running().stderr()
    }

    /// Where standard input is written, the first time.
    fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.running_mut().take_stdin()
    }

    /// Kills the whole tree; an interpreter dies with its call.
    fn kill(&mut self) -> io::Result<()> {
        self.running().kill()
    }

    /// Asks it to stop by itself. Returns how long it has for that, if it can be asked, and once only.
    fn interrupt(&mut self) -> Option<Duration> {
        None
    }

    /// What was used since the call began, where a cgroup counts it.
    fn usage(&self) -> Option<CgroupUsage> {
        self.running().cgroup().map(Cgroup::usage)
    }

    /// Processor time since the call began, where a cgroup counts it.
    fn counted_cpu(&self) -> Option<Duration> {
        self.running().cgroup().and_then(Cgroup::cpu)
    }

    /// What its living processes use together; processor time since the call began.
    fn sample(&self) -> Sample {
        self.running().sample()
    }

    /// Checks what runs outside of the tree; returns the limit that it has passed.
    fn check(&mut self) -> Option<LimitHit> {
        None
    }

    /// What no longer confines it.
    fn losses(&self) -> Vec<Loss> {
        // Mounts that cannot be read now are read at the next check.
        self.running().lost().unwrap_or_default().into_iter().map(Loss::Mechanism).collect()
    }

    /// Readable when something outside of it may have happened that it has to end for.
    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Takes what has made [`Self::alarm`] readable; returns whether it has to be checked now.
    fn heed_alarm(&mut self) -> bool {
        false
    }

    /// How long it goes unchecked; `None` if there is nothing to check.
    fn check_pause(&self) -> Option<Duration> {
        self.running().attested().map(|_| CHECK_PAUSE)
    }
}

/// Something that confined a call and is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    /// A mechanism of our own sandbox.
    Mechanism(Mechanism),
    /// What an engine was to enforce for a guarantee, in words.
    Guarantee(Guarantee, String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mechanism(mechanism) => fmt::Display::fmt(mechanism, f),
            Self::Guarantee(_, why) => f.write_str(why),
        }
    }
}

impl dyn Tree + '_ {
    /// Whether a cgroup bounds the tree's memory.
    pub(super) fn is_memory_bounded(&self) -> bool {
        let cgroup = self.running().cgroup();
        cgroup.is_some_and(|cgroup| cgroup.kept().contains(&Controller::Memory))
    }

    /// The process that adopts orphans: the shim, or the init of a sandbox made from a template.
    pub(super) fn adopter(&self) -> Option<u32> {
        let running = self.running();
        running.shim_pid().or_else(|| u32::try_from(running.pid()).ok())
    }

    /// Who created a protected path; nothing if it does not exist.
    pub(super) fn maker_of(&self, absent: &Absent) -> Option<Maker> {
        let is_there = || absent.has_appeared();
        let running = self.running();
        let seen = running.attested().map(|seen| seen.kept.as_slice()).unwrap_or_default();
        match running.creations() {
            Some(creations) => {
                let creator = creations.creator_of(absent.path(), &is_there)?;
                Some(match creator {
                    Creator::Program => Maker::Sandbox,
                    Creator::Other => Maker::Other,
                    Creator::Undecided => Maker::Undecided,
                })
            }
            // The broker creates every name of the sandbox, and never this one.
            None if seen.contains(&Mechanism::Broker) => is_there().then_some(Maker::Other),
            None => is_there().then_some(Maker::Sandbox),
        }
    }

    /// Who created files that match a pattern: not the sandbox, if it created nothing at all.
    pub(super) fn maker_of_any(&self) -> Maker {
        let creations = self.running().creations();
        if creations.is_some_and(|creations| !creations.is_any()) {
            Maker::Other
        } else {
            Maker::Sandbox
        }
    }

    /// The protected paths whose creation was refused.
    pub(super) fn refused(&self) -> Vec<PathBuf> {
        let creations = self.running().creations();
        creations.into_iter().flat_map(Creations::refused).map(Path::to_owned).collect()
    }
}

/// A program and all that it starts, under a shim.
#[derive(Debug)]
pub(super) struct ProgramTree {
    running: Running,
    dies_at_once: bool,
}

impl ProgramTree {
    /// In a pid namespace, with whose init the kernel kills all of it.
    pub(super) fn of_sandbox(running: Running) -> Box<Self> {
        Box::new(Self { running, dies_at_once: true })
    }

    /// Among the machine's processes; one in a signal scope is killed in one stroke.
    pub(super) fn of_process(running: Running, is_scoped: bool) -> Box<Self> {
        Box::new(Self { running, dies_at_once: is_scoped })
    }
}

impl Tree for ProgramTree {
    fn running(&self) -> &Running {
        &self.running
    }

    fn running_mut(&mut self) -> &mut Running {
        &mut self.running
    }

    fn dies_at_once(&self) -> bool {
        self.dies_at_once
    }

    fn release(self: Box<Self>, outcome: Outcome, _was_killed: bool) -> Result<Outcome, Failure> {
        Ok(outcome)
    }
}
