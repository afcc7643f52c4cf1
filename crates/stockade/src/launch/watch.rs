//! The one loop that watches a run: both streams, stdin, the deadline and the end, together.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use stockade_linux::{Cause, CgroupUsage, Ended, Mechanism};

use super::absent::{Absent, Maker, Sight};
use super::container::Eye;
use super::disk::Disk;
use super::subject::{Parting, Subject};
use super::tree::Tree;
use crate::limits::{LimitHit, Limits};
use crate::output::{Capture, Captured};

/// After the whole tree is dead, its pipes hold what was written; a pipe end that was passed to a
/// stranger must not keep us.
const DRAIN_MAX: Duration = Duration::from_millis(250);
/// How long the keeper has to end the tree once it was told to.
const KILL_MAX: Duration = Duration::from_secs(10);
/// How long a box goes unobserved.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// The same while it is being found out who has filled the disk.
const SURVEY_PAUSE: Duration = Duration::from_millis(10);
/// How many looks may leave open who created a protected path.
const UNDECIDED_MAX: u32 = 20;
const BUFFER_BYTES: usize = 64 << 10;

/// A run under watch.
pub(super) struct Watch<'a> {
    subject: Subject,
    input: Input<'a>,
    stdout: Stream,
    stderr: Stream,
    started: Instant,
    deadline: Option<Instant>,
    flood: u64,
    limit: Option<LimitHit>,
    /// When the tree was told to end.
    killed: Option<Instant>,
    /// When the tree is looked at next, if it is.
    next_look: Option<Instant>,
    /// How many looks in a row could not tell who created a protected path.
    undecided: u32,
    lost: Vec<Mechanism>,
    breach: Option<Breach>,
    /// The protected paths that somebody else created, as they were first seen.
    sights: BTreeMap<usize, Sight>,
    disk: Option<Disk>,
    eye: Option<Eye>,
    tree: Tree,
    buffer: Vec<u8>,
}

/// What was seen.
pub(super) struct Watched {
    pub(super) end: End,
    pub(super) limit: Option<LimitHit>,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) wall: Duration,
    /// What a box has lost while it ran.
    pub(super) lost: Vec<Mechanism>,
    /// Why the tree was ended, if that was not for a limit.
    pub(super) breach: Option<Breach>,
    /// What the whole tree used, where a cgroup counted it.
    pub(super) tree: Option<CgroupUsage>,
    /// The most memory that was seen in samples of the tree.
    pub(super) sampled_bytes: u64,
    /// The eyes on a container, with what they saw.
    pub(super) eye: Option<Eye>,
    /// What an interpreter leaves to be said.
    pub(super) parting: Parting,
    /// Who created the protected paths that have appeared, in the order of those watched.
    pub(super) makers: Vec<Option<Maker>>,
    /// Which of these have changed since they were first seen, by their places in that order.
    pub(super) changed: BTreeSet<usize>,
    /// Who created files that match a pattern.
    pub(super) maker_of_any: Maker,
    /// Protected paths whose creation was refused.
    pub(super) refused: Vec<PathBuf>,
}

/// What a tree is ended for, besides its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breach {
    /// Something that confined it is gone.
    Unconfined,
    /// A protected path has appeared.
    Created,
}

/// How a watch ended.
pub(super) enum End {
    /// With the keeper's report.
    Ended(Ended),
    /// The keeper was lost.
    Lost,
}

struct Input<'a> {
    pipe: Option<OwnedFd>,
    rest: &'a [u8],
}

struct Stream {
    capture: Capture,
    open: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        mut subject: Subject,
        stdin: &'a [u8],
        started: Instant,
        limits: &Limits,
    ) -> Self {
        let stream = || Stream { capture: Capture::new(limits.output.as_len()), open: true };
        let tree = Tree::new(&subject, limits);
        let is_looked_at = subject.is_attested() || tree.is_watched();
        Self {
            input: Input { pipe: subject.take_stdin(), rest: stdin },
            subject,
            stdout: stream(),
            stderr: stream(),
            started,
            deadline: started.checked_add(limits.wall),
            flood: limits.flood.get(),
            limit: None,
            killed: None,
            next_look: is_looked_at.then(|| Instant::now().checked_add(LOOK_PAUSE)).flatten(),
            undecided: 0,
            lost: Vec::new(),
            breach: None,
            sights: BTreeMap::new(),
            disk: None,
            eye: None,
            tree,
            buffer: Vec::with_capacity(BUFFER_BYTES),
        }
    }

    /// Also watches what is added to the disk.
    pub(super) fn with_disk(mut self, disk: Option<Disk>) -> Self {
        if disk.is_some() {
            self.next_look = self.next_look.or_else(|| Instant::now().checked_add(LOOK_PAUSE));
        }
        self.disk = disk;
        self
    }

    /// Also looks at a container, which is no part of the tree.
    pub(super) fn with_eye(mut self, eye: Option<Eye>) -> Self {
        if eye.is_some() {
            self.next_look = self.next_look.or_else(|| Instant::now().checked_add(LOOK_PAUSE));
        }
        self.eye = eye;
        self
    }

    pub(super) fn run(mut self, absent: &[Absent]) -> Watched {
        let end = loop {
            match self.subject.try_ended() {
                Ok(Some(ended)) => break End::Ended(ended),
                Ok(None) => {}
                Err(_keeper_lost) => break End::Lost,
            }
            if self.killed.is_some_and(|since| since.elapsed() > KILL_MAX) {
                break End::Lost;
            }
            let ready = self.wait();
            self.transfer(ready);
            self.hold_to_limits();
            self.look_at_box(absent);
        };
        self.drain();
        let wall = self.started.elapsed();
        if let End::Ended(ended) = &end {
            (self.limit, self.breach) = match ended.cause {
                // It ended by itself before our order came: no limit of ours did it.
                Cause::Exited => (None, None),
                Cause::Killed => (self.limit, self.breach),
                Cause::ProcessLimit => (Some(LimitHit::Processes), None),
            };
        }
        let tree = self.subject.usage();
        let makers = absent.iter().map(|one| self.maker_at_end(one)).collect();
        let now = |at: &usize| absent.get(*at).and_then(Absent::sight);
        let has_changed =
            |(at, first): &(&usize, &Sight)| now(at).is_some_and(|sight| sight.differs(first));
        let changed = self.sights.iter().filter(has_changed).map(|(at, _)| *at).collect();
        Watched {
            makers,
            changed,
            maker_of_any: self.subject.maker_of_any(),
            refused: self.subject.refused(),
            lost: self.lost,
            breach: self.breach,
            tree,
            sampled_bytes: self.tree.peak_bytes(),
            eye: self.eye,
            end,
            limit: self.limit,
            stdout: self.stdout.capture.finish(),
            stderr: self.stderr.capture.finish(),
            wall,
            parting: self.subject.part(),
        }
    }

    /// Sleeps until something is there to do.
    fn wait(&self) -> Ready {
        let now = Instant::now();
        let until = match self.killed {
            Some(since) => since.checked_add(KILL_MAX),
            None => self.next_look.into_iter().chain(self.deadline).min(),
        };
        let rest = until.map(|until| until.saturating_duration_since(now));
        let timeout = rest.and_then(|rest| Timespec::try_from(rest).ok());
        let watched = [
            Some((self.subject.control(), PollFlags::IN)),
            self.stdout.open.then(|| (self.subject.stdout(), PollFlags::IN)),
            self.stderr.open.then(|| (self.subject.stderr(), PollFlags::IN)),
            self.input.pipe.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::OUT)),
        ];
        let mut polled: Vec<PollFd<'_>> = watched
            .iter()
            .flatten()
            .map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
            .collect();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // Out of memory: the streams are read all the same, and the deadline holds.
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
        let mut events = polled.iter().map(PollFd::revents);
        let mut is_ready =
            |one: &Option<_>| one.is_some() && events.next().is_some_and(|seen| !seen.is_empty());
        let [_control, stdout, stderr, stdin] = watched.each_ref().map(&mut is_ready);
        Ready { stdout, stderr, stdin }
    }

    fn transfer(&mut self, ready: Ready) {
        if ready.stdout {
            self.stdout.read(self.subject.stdout(), &mut self.buffer);
        }
        if ready.stderr {
            self.stderr.read(self.subject.stderr(), &mut self.buffer);
        }
        if ready.stdin {
            self.input.write();
        }
    }

    fn hold_to_limits(&mut self) {
        if self.killed.is_some() {
            return;
        }
        let flooded = self.stdout.capture.seen().max(self.stderr.capture.seen()) > self.flood;
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if flooded || late {
            self.limit = Some(if flooded { LimitHit::Output } else { LimitHit::Wall });
            let grace = if flooded { None } else { self.subject.interrupt() };
            match grace {
                Some(grace) => self.deadline = Instant::now().checked_add(grace),
                None => self.end(),
            }
        }
    }

    fn end(&mut self) {
        self.killed = Some(Instant::now());
        if self.subject.kill().is_err() {
            // The keeper is gone; the next look at it says so.
            self.deadline = None;
        }
    }

    /// A mount that the host undid by accident opens a box, and a protected path that appears was
    /// made by it: in both cases the box ends, as it does above a limit of the whole tree.
    fn look_at_box(&mut self, absent: &[Absent]) {
        let now = Instant::now();
        if self.killed.is_some() || self.next_look.is_none_or(|next| now < next) {
            return;
        }
        let adopter = self.subject.adopter().unwrap_or_default();
        let full = self.disk.as_mut().and_then(|disk| disk.look(adopter));
        let seen = self.eye.as_mut().and_then(Eye::look);
        let is_unlocked = self.eye.as_ref().is_some_and(|eye| !eye.lost().is_empty());
        let exceeded = full.or(seen).or_else(|| self.tree.exceeded(&self.subject));
        self.limit = exceeded.or(self.limit);
        let is_surveyed = self.disk.as_ref().is_some_and(Disk::is_being_surveyed);
        // The counts of a container go with it.
        let is_urgent = is_surveyed || self.eye.is_some();
        self.next_look = now.checked_add(if is_urgent { SURVEY_PAUSE } else { LOOK_PAUSE });
        // Mounts that cannot be looked at now are looked at the next time.
        let lost = self.subject.lost().unwrap_or_default();
        let is_lost = is_unlocked || !lost.is_empty();
        let created = self.is_breached(absent).then_some(Breach::Created);
        let breach = is_lost.then_some(Breach::Unconfined).or(created);
        if exceeded.is_some() || breach.is_some() {
            (self.lost, self.breach) = (lost, breach);
            self.end();
        }
    }

    /// Whether the sandbox has created a protected path. While that is not decided, it is asked again
    /// soon, and for long that counts as a yes.
    fn is_breached(&mut self, absent: &[Absent]) -> bool {
        let mut makers = Vec::new();
        for (at, one) in absent.iter().enumerate() {
            let maker = self.subject.maker_of(one);
            if maker == Some(Maker::Other) && !self.sights.contains_key(&at) {
                self.sights.extend(one.sight().map(|sight| (at, sight)));
            }
            makers.extend(maker);
        }
        self.undecided = if makers.contains(&Maker::Undecided) {
            self.next_look = Instant::now().checked_add(SURVEY_PAUSE);
            self.undecided.saturating_add(1)
        } else {
            0
        };
        makers.contains(&Maker::Sandbox) || self.undecided > UNDECIDED_MAX
    }

    /// Who created a protected path, when the run has ended. An interpreter that lives on may take a
    /// moment to show it.
    fn maker_at_end(&self, absent: &Absent) -> Option<Maker> {
        for _ in 0..UNDECIDED_MAX {
            match self.subject.maker_of(absent) {
                Some(Maker::Undecided) => std::thread::sleep(SURVEY_PAUSE),
                decided => return decided,
            }
        }
        Some(Maker::Sandbox)
    }

    /// Takes what the dead tree left in its pipes.
    fn drain(&mut self) {
        let until = Instant::now().checked_add(DRAIN_MAX);
        let in_time = || until.is_some_and(|until| Instant::now() < until);
        for (stream, fd) in
            [(&mut self.stdout, self.subject.stdout()), (&mut self.stderr, self.subject.stderr())]
        {
            while stream.open && in_time() && stream.read(fd, &mut self.buffer) {}
        }
    }
}

/// What poll found.
#[derive(Clone, Copy)]
struct Ready {
    stdout: bool,
    stderr: bool,
    stdin: bool,
}

impl Stream {
    /// Reads once; whether there may be more at once.
    fn read(&mut self, fd: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        match rustix::io::read(fd, spare_capacity(buffer)) {
            Ok(0) => self.open = false,
            Ok(_) => {
                self.capture.push(buffer);
                return true;
            }
            Err(Errno::INTR) => return true,
            Err(Errno::AGAIN) => {}
            Err(_) => self.open = false,
        }
        false
    }
}

impl Input<'_> {
    /// Writes what the pipe takes; closes it at the end, or when nobody reads.
    fn write(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        match rustix::io::write(pipe, self.rest) {
            Ok(count) => self.rest = self.rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR | Errno::AGAIN) => return,
            Err(_) => self.rest = &[],
        }
        if self.rest.is_empty() {
            self.pipe = None;
        }
    }
}
