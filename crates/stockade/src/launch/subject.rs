//! What is watched: a program of its own, or a call in an interpreter that was there before it.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use stockade_linux::{
    Cgroup, CgroupUsage, Controller, Creations, Creator, Ended, KeeperLost, Mechanism, Running,
    Sample,
};

use super::absent::{Absent, Maker};
use super::warm::Lent;
use crate::outcome::SessionUse;

/// Something that runs under watch. Dropping it ends it.
#[derive(Debug)]
pub(super) enum Subject {
    /// A program and its tree.
    Program(Box<Running>),
    /// A call in an interpreter.
    Lent(Box<Lent>),
}

/// What is known of an interpreter after a call.
#[derive(Debug, Default)]
pub(super) struct Parting {
    /// The session, if it was one.
    pub(super) session: Option<SessionUse>,
    /// What has to be said about it.
    pub(super) notes: Vec<String>,
}

impl From<Running> for Subject {
    fn from(running: Running) -> Self {
        Self::Program(Box::new(running))
    }
}

impl Subject {
    /// The process tree that it is in.
    fn running(&self) -> &Running {
        match self {
            Self::Program(running) => running,
            Self::Lent(lent) => lent.running(),
        }
    }

    pub(super) fn try_ended(&mut self) -> Result<Option<Ended>, KeeperLost> {
        match self {
            Self::Program(running) => running.try_ended(),
            Self::Lent(lent) => lent.try_ended(),
        }
    }

    /// Readable once [`Self::try_ended`] may have an answer.
    pub(super) fn control(&self) -> BorrowedFd<'_> {
        match self {
            Self::Program(running) => running.control(),
            Self::Lent(lent) => lent.control(),
        }
    }

    pub(super) fn stdout(&self) -> BorrowedFd<'_> {
        match self {
            Self::Program(running) => running.stdout(),
            Self::Lent(lent) => lent.stdout(),
        }
    }

    pub(super) fn stderr(&self) -> BorrowedFd<'_> {
        match self {
            Self::Program(running) => running.stderr(),
            Self::Lent(lent) => lent.stderr(),
        }
    }

    pub(super) fn take_stdin(&mut self) -> Option<OwnedFd> {
        match self {
            Self::Program(running) => running.take_stdin(),
            Self::Lent(lent) => lent.take_input(),
        }
    }

    /// Orders the death of the whole tree; the interpreter goes with its call.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        match self {
            Self::Program(running) => running.kill(),
            Self::Lent(lent) => lent.kill(),
        }
    }

    /// Asks it to stop by itself; how long it has for that, if it can be asked, and once only.
    pub(super) fn interrupt(&mut self) -> Option<Duration> {
        match self {
            Self::Program(_) => None,
            Self::Lent(lent) => lent.interrupt(),
        }
    }

    /// Whether it is in a box that was looked at.
    pub(super) fn is_attested(&self) -> bool {
        self.running().attested().is_some()
    }

    /// Whether a cgroup bounds the tree's memory.
    pub(super) fn is_memory_bounded(&self) -> bool {
        let cgroup = self.running().cgroup();
        cgroup.is_some_and(|cgroup| cgroup.kept().contains(&Controller::Memory))
    }

    /// What was used since it began, where a cgroup counts it.
    pub(super) fn usage(&self) -> Option<CgroupUsage> {
        let now = self.running().cgroup().map(Cgroup::usage);
        match self {
            Self::Program(_) => now,
            Self::Lent(lent) => now.map(|now| lent.since(now)),
        }
    }

    /// Processor time since it began, where a cgroup counts it.
    pub(super) fn counted_cpu(&self) -> Option<Duration> {
        let now = self.running().cgroup().and_then(Cgroup::cpu)?;
        Some(match self {
            Self::Program(_) => now,
            Self::Lent(lent) => now.saturating_sub(lent.cpu_before()),
        })
    }

    /// What its living processes use together; processor time since it began.
    pub(super) fn sample(&self) -> Sample {
        let mut sample = self.running().sample();
        if let Self::Lent(lent) = self {
            sample.cpu = sample.cpu.saturating_sub(lent.cpu_before());
        }
        sample
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.running().memory_bytes()
    }

    /// The mechanisms that its box has lost.
    pub(super) fn lost(&self) -> io::Result<Vec<Mechanism>> {
        self.running().lost()
    }

    /// The process that takes in orphans: the keeper, or the first of a box made from a template.
    pub(super) fn adopter(&self) -> Option<u32> {
        let running = self.running();
        running.keeper_pid().or_else(|| u32::try_from(running.pid()).ok())
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

    /// Lets go of it after its end.
    pub(super) fn part(self) -> Parting {
        match self {
            Self::Program(_) => Parting::default(),
            Self::Lent(lent) => lent.part(),
        }
    }
}
