//! The one loop that watches a run: both streams, stdin, the deadline and the end, together.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::fcntl_getpipe_size;
use stockade_sandbox::{Cause, CgroupUsage, Ended};

use super::absent::{Absent, Maker, Sight};
use super::caller::{CallerInput, CallerLink, OutputEvent};
use super::disk::Disk;
use super::sampler::Sampler;
use super::tree::{Loss, Tree};
use crate::limits::{LimitHit, Limits};
use crate::output::{Capture, CapturedOutput};

/// After the whole tree is dead, its pipes hold what was written; a stranger that was passed a pipe end
/// must not keep us.
const DRAIN_MAX: Duration = Duration::from_millis(250);
/// The size of a pipe that does not tell its size.
const PIPE_BYTES: usize = 1 << 20;
/// How long the shim has to end the tree after the order to kill.
const KILL_MAX: Duration = Duration::from_secs(10);
/// How long a tree goes unchecked, where it does not say so itself.
const CHECK_PAUSE: Duration = Duration::from_millis(100);
/// The same while the disk is searched for what filled it.
const SURVEY_PAUSE: Duration = Duration::from_millis(10);
/// How many checks may leave open who created a protected path.
const UNDECIDED_MAX: u32 = 20;
const BUFFER_BYTES: usize = 64 << 10;

/// The one loop over a run.
pub(super) struct WatchLoop<'a> {
    tree: &'a mut dyn Tree,
    caller: Option<&'a CallerLink>,
    input: InputPipe,
    stdout: OutputPipe,
    stderr: OutputPipe,
    started: Instant,
    deadline: Option<Instant>,
    flood: u64,
    limit: Option<LimitHit>,
    /// When the tree was told to end.
    killed: Option<Instant>,
    /// When the tree is checked next, if it is.
    next_check: Option<Instant>,
    /// How many checks in a row could not tell who created a protected path.
    undecided: u32,
    losses: Vec<Loss>,
    breach: Option<Breach>,
    /// The protected paths that somebody else created, as they were first seen.
    sights: BTreeMap<usize, Sight>,
    disk: Option<&'a mut Disk>,
    sampler: Sampler,
    /// Whether it ends for protected paths that others create, too.
    ends_for_others: bool,
    buffer: Vec<u8>,
}

/// What was seen of a run.
pub(super) struct Observation {
    pub(super) end: End,
    pub(super) limit: Option<LimitHit>,
    pub(super) stdout: CapturedOutput,
    pub(super) stderr: CapturedOutput,
    pub(super) wall: Duration,
    /// What no longer confined it while it ran.
    pub(super) losses: Vec<Loss>,
    /// Why the tree was ended, if that was not for a limit.
    pub(super) breach: Option<Breach>,
    /// Whether it was told to end, whatever came first.
    pub(super) was_told_to_end: bool,
    /// What the whole tree used, where a cgroup counted it.
    pub(super) usage: Option<CgroupUsage>,
    /// The most memory that was seen in samples of the tree.
    pub(super) sampled_bytes: u64,
    /// Who created the protected paths that have appeared, in the order of those watched.
    pub(super) makers: Vec<Option<Maker>>,
    /// Which of these have changed since they were first seen, by their positions in that order.
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
    /// With the shim's report.
    Ended(Ended),
    /// The shim was lost.
    Lost,
}

/// What is written to standard input.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Before all else.
    pub(super) bytes: Vec<u8>,
    /// The caller may write more.
    pub(super) is_open: bool,
}

struct InputPipe {
    pipe: Option<OwnedFd>,
    pending: Vec<u8>,
    written: usize,
    is_open: bool,
}

struct OutputPipe {
    capture: Capture,
    is_open: bool,
    event: fn(Vec<u8>) -> OutputEvent,
}

impl<'a> WatchLoop<'a> {
    pub(super) fn new(
        tree: &'a mut dyn Tree,
        input: Input,
        started: Instant,
        limits: &Limits,
    ) -> Self {
        let pipe = |event: fn(Vec<u8>) -> OutputEvent| {
            let capture = Capture::new(limits.output.as_len());
            OutputPipe { capture, is_open: true, event }
        };
        let sampler = Sampler::new(tree, limits);
        let pause = tree.check_pause().or_else(|| sampler.is_watched().then_some(CHECK_PAUSE));
        Self {
            input: InputPipe {
                pipe: tree.take_stdin(),
                pending: input.bytes,
                written: 0,
                is_open: input.is_open,
            },
            tree,
            caller: None,
            stdout: pipe(OutputEvent::Stdout),
            stderr: pipe(OutputEvent::Stderr),
            started,
            deadline: started.checked_add(limits.wall),
            flood: limits.flood.get(),
            limit: None,
            killed: None,
            next_check: pause.and_then(|pause| Instant::now().checked_add(pause)),
            undecided: 0,
            losses: Vec::new(),
            breach: None,
            sights: BTreeMap::new(),
            disk: None,
            sampler,
            ends_for_others: false,
            buffer: Vec::with_capacity(BUFFER_BYTES),
        }
    }

    /// Also watches what is added to the disk.
    pub(super) fn with_disk(mut self, disk: Option<&'a mut Disk>) -> Self {
        if disk.is_some() {
            let next = || Instant::now().checked_add(CHECK_PAUSE);
            self.next_check = self.next_check.or_else(next);
        }
        self.disk = disk;
        self
    }

    /// Also ends when somebody outside of the sandbox creates a protected path: nothing protects that from what
    /// lives long. A folder of git that was there is read-only by then.
    pub(super) fn ending_for_others(mut self) -> Self {
        self.ends_for_others = true;
        self
    }

    /// Also serves a caller, who reads the output as it comes, writes input and may cancel.
    pub(super) fn with_caller(mut self, caller: Option<&'a CallerLink>) -> Self {
        self.caller = caller;
        self
    }

    pub(super) fn run(mut self, absent: &[Absent]) -> Observation {
        let end = loop {
            match self.tree.try_ended() {
                Ok(Some(ended)) => break End::Ended(ended),
                Ok(None) => {}
                Err(_shim_lost) => break End::Lost,
            }
            if self.killed.is_some_and(|since| since.elapsed() > KILL_MAX) {
                break End::Lost;
            }
            self.input.refill(self.caller);
            let ready = self.wait();
            self.transfer(ready);
            self.enforce_limits();
            self.check_sandbox(absent);
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
        let makers = absent.iter().map(|one| self.maker_at_end(one)).collect();
        let now = |at: &usize| absent.get(*at).and_then(Absent::sight);
        let has_changed =
            |(at, first): &(&usize, &Sight)| now(at).is_some_and(|sight| sight.differs(first));
        let changed = self.sights.iter().filter(has_changed).map(|(at, _)| *at).collect();
        Observation {
            makers,
            changed,
            maker_of_any: self.tree.maker_of_any(),
            refused: self.tree.refused(),
            losses: self.losses,
            breach: self.breach,
            was_told_to_end: self.killed.is_some(),
            usage: self.tree.usage(),
            sampled_bytes: self.sampler.peak_bytes(),
            end,
            limit: self.limit,
            stdout: self.stdout.capture.finish(),
            stderr: self.stderr.capture.finish(),
            wall,
        }
    }

    /// Sleeps until there is something to do.
    fn wait(&self) -> Ready {
        let now = Instant::now();
        let until = match self.killed {
            Some(since) => since.checked_add(KILL_MAX),
            None => self.deadline.into_iter().chain(self.next_check).min(),
        };
        let rest = until.map(|until| until.saturating_duration_since(now));
        let timeout = rest.and_then(|rest| Timespec::try_from(rest).ok());
        // What a caller does not read stays in the pipes, and the program waits.
        let has_room = self.caller.is_none_or(|caller| !caller.is_full());
        let input = self.input.pipe.as_ref().filter(|_| self.input.has_pending());
        let watched = [
            Some((self.tree.control(), PollFlags::IN)),
            (self.stdout.is_open && has_room).then(|| (self.tree.stdout(), PollFlags::IN)),
            (self.stderr.is_open && has_room).then(|| (self.tree.stderr(), PollFlags::IN)),
            input.map(|pipe| (pipe.as_fd(), PollFlags::OUT)),
            self.caller.map(|caller| (caller.as_fd(), PollFlags::IN)),
            self.tree.alarm().map(|alarm| (alarm, PollFlags::IN)),
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
        let [_control, stdout, stderr, stdin, caller, alarm] =
            watched.each_ref().map(&mut is_ready);
        Ready { stdout, stderr, stdin, caller, alarm }
    }

    fn transfer(&mut self, ready: Ready) {
        if ready.caller
            && let Some(caller) = self.caller
        {
            caller.clear_wake();
            if let Some(size) = caller.take_size() {
                // A program whose terminal is gone has no use for its size.
                let _gone = self.tree.running().resize(size).is_err();
            }
        }
        if ready.stdout {
            self.stdout.read(self.tree.stdout(), &mut self.buffer, self.caller);
        }
        if ready.stderr {
            self.stderr.read(self.tree.stderr(), &mut self.buffer, self.caller);
        }
        if ready.stdin {
            self.input.write(self.caller);
        }
        if ready.alarm && self.tree.heed_alarm() {
            self.next_check = Some(Instant::now());
        }
    }

    fn enforce_limits(&mut self) {
        if self.killed.is_some() {
            return;
        }
        let flooded = self.stdout.capture.seen().max(self.stderr.capture.seen()) > self.flood;
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let is_cancelled = self.caller.is_some_and(CallerLink::is_cancelled);
        let limit = match (self.limit, flooded, is_cancelled, is_late) {
            (_, true, _, _) => LimitHit::Output,
            // It was interrupted for this reason, and has not stopped in time.
            (Some(limit), false, _, true) => limit,
            (None, false, true, _) => LimitHit::Cancelled,
            (None, false, false, true) => LimitHit::Wall,
            (_, false, _, false) => return,
        };
        let is_first = self.limit.replace(limit).is_none();
        let grace = if is_first && !flooded { self.tree.interrupt() } else { None };
        match grace {
            Some(grace) => self.deadline = Instant::now().checked_add(grace),
            None => self.end(),
        }
    }

    fn end(&mut self) {
        self.killed = Some(Instant::now());
        if self.tree.kill().is_err() {
            // The shim is gone; the next check of it says so.
            self.deadline = None;
        }
    }

    /// A mount that the host undid by accident opens a sandbox, and a protected path that appears was
    /// created by it: in both cases the sandbox ends, as it does above a limit of the whole tree.
    fn check_sandbox(&mut self, absent: &[Absent]) {
        let now = Instant::now();
        if self.killed.is_some() || self.next_check.is_none_or(|next| now < next) {
            return;
        }
        let adopter = self.tree.adopter().unwrap_or_default();
        let full = self.disk.as_mut().and_then(|disk| disk.look(adopter));
        let beside = self.tree.check();
        let exceeded = full.or(beside).or_else(|| self.sampler.exceeded(&*self.tree));
        self.limit = exceeded.or(self.limit);
        let is_surveyed = self.disk.as_ref().is_some_and(|disk| disk.is_being_surveyed());
        let pause = self.tree.check_pause().unwrap_or(CHECK_PAUSE);
        self.next_check = now.checked_add(if is_surveyed { SURVEY_PAUSE } else { pause });
        let losses = self.tree.losses();
        let created = self.is_breached(absent).then_some(Breach::Created);
        let breach = (!losses.is_empty()).then_some(Breach::Unconfined).or(created);
        if exceeded.is_some() || breach.is_some() {
            (self.losses, self.breach) = (losses, breach);
            self.end();
        }
    }

    /// Whether the sandbox has created a protected path. While that is not decided, it is asked again
    /// soon, and for long that counts as a yes.
    fn is_breached(&mut self, absent: &[Absent]) -> bool {
        let mut makers = Vec::new();
        for (at, one) in absent.iter().enumerate() {
            let maker = self.tree.maker_of(one);
            if maker == Some(Maker::Other) && !self.sights.contains_key(&at) {
                self.sights.extend(one.sight().map(|sight| (at, sight)));
            }
            let is_open = one.first_name().is_some_and(|name| name != ".git");
            if self.ends_for_others && is_open && maker == Some(Maker::Other) {
                return true;
            }
            makers.extend(maker);
        }
        self.undecided = if makers.contains(&Maker::Undecided) {
            self.next_check = Instant::now().checked_add(SURVEY_PAUSE);
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
            match self.tree.maker_of(absent) {
                Some(Maker::Undecided) => std::thread::sleep(SURVEY_PAUSE),
                decided => return decided,
            }
        }
        Some(Maker::Sandbox)
    }

    /// Takes what the dead tree left in its pipes: at most what fits into them.
    fn drain(&mut self) {
        let until = Instant::now().checked_add(DRAIN_MAX);
        let in_time = || until.is_some_and(|until| Instant::now() < until);
        for (stream, fd) in
            [(&mut self.stdout, self.tree.stdout()), (&mut self.stderr, self.tree.stderr())]
        {
            let mut rest = fcntl_getpipe_size(fd).unwrap_or(PIPE_BYTES);
            while stream.is_open && rest > 0 && in_time() {
                match stream.read(fd, &mut self.buffer, self.caller) {
                    0 => break,
                    count => rest = rest.saturating_sub(count),
                }
            }
        }
    }
}

/// What poll found.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "one for each descriptor that is polled")]
struct Ready {
    stdout: bool,
    stderr: bool,
    stdin: bool,
    caller: bool,
    alarm: bool,
}

impl OutputPipe {
    /// Reads once; how much there was.
    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        buffer: &mut Vec<u8>,
        caller: Option<&CallerLink>,
    ) -> usize {
        buffer.clear();
        loop {
            match rustix::io::read(fd, spare_capacity(buffer)) {
                Ok(0) => self.is_open = false,
                Ok(count) => {
                    self.capture.push(buffer);
                    if let Some(caller) = caller {
                        caller.push((self.event)(buffer.clone()));
                    }
                    return count;
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(_) => self.is_open = false,
            }
            return 0;
        }
    }
}

impl InputPipe {
    fn has_pending(&self) -> bool {
        self.written < self.pending.len()
    }

    /// Takes what the caller has written, once all before it is gone; closes the pipe at the end.
    fn refill(&mut self, caller: Option<&CallerLink>) {
        if self.pipe.is_none() || self.has_pending() {
            return;
        }
        let more = match caller.filter(|_| self.is_open) {
            Some(caller) => caller.take_input(),
            None => CallerInput::Closed,
        };
        match more {
            CallerInput::Bytes(bytes) => (self.pending, self.written) = (bytes, 0),
            CallerInput::Nothing => {}
            CallerInput::Closed => self.pipe = None,
        }
    }

    /// Writes what the pipe takes; closes it when nobody reads.
    fn write(&mut self, caller: Option<&CallerLink>) {
        let Some(pipe) = &self.pipe else { return };
        match rustix::io::write(pipe, self.pending.get(self.written..).unwrap_or_default()) {
            Ok(count) => self.written = self.written.saturating_add(count),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                self.pipe = None;
                if let Some(caller) = caller {
                    caller.refuse_input();
                }
            }
        }
    }
}
