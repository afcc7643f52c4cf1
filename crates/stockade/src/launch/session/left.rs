//! What a call of a session has left running: watched until it has ended too.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use stockade_sandbox::Running;

use super::new_repository::RepositoryWatch;
use super::processes;
use super::ring::LogRing;
use crate::call::CallId;
use crate::guarantee::Guarantee;
use crate::launch::absent::Absent;
use crate::launch::caller::CallerLink;
use crate::launch::jail::lose_replaced;
use crate::launch::ports::OpenPorts;
use crate::launch::run::{Guards, settle, why_ended};
use crate::launch::tree::{Loss, Tree};
use crate::launch::watch::{End, Input, Observation, WatchLoop};
use crate::limits::{ByteCount, LimitHit, Limits, SessionLimits};
use crate::outcome::{Failure, LeftProcess, Outcome};

/// How often it is looked at which processes there are, by how long they are left already: what a line has
/// just started changes soon, and a server that is up stays as it is.
const LOOK_PAUSES: [(Duration, Duration); 2] = [
    (Duration::from_secs(10), Duration::from_millis(500)),
    (Duration::from_secs(60), Duration::from_secs(2)),
];
/// The same later.
const LATE_LOOK_PAUSE: Duration = Duration::from_secs(5);
/// How often it is looked for an order to end, where nothing else is checked.
const ORDER_PAUSE: Duration = Duration::from_millis(500);

/// Above this, pages that processes share are counted once, which takes the kernel far longer.
const EXACT_ABOVE_BYTES: u64 = 128 << 20;

/// Processes that a program has left running in its sandbox. Dropping it kills them.
#[derive(Debug)]
pub(crate) struct LeftRun {
    pub(in crate::launch) tree: Box<dyn Tree>,
    pub(in crate::launch) guards: Guards,
    pub(in crate::launch) limits: Limits,
    pub(in crate::launch) started: Instant,
    pub(in crate::launch) ports: Option<OpenPorts>,
}

/// A call that has ended and left processes running in its sandbox.
#[derive(Debug)]
pub struct LeftCall {
    id: CallId,
    since: SystemTime,
    begun: Instant,
    link: CallerLink,
    log: Arc<LogRing>,
    latest: Mutex<LatestUsage>,
    is_over: Mutex<bool>,
    ended: Condvar,
    /// Whether it is an interpreter that waits for calls.
    is_interpreter: bool,
}

/// What was seen of its processes when they were last looked at.
#[derive(Debug, Default)]
struct LatestUsage {
    looked: Option<Instant>,
    processes: Vec<LeftProcess>,
    tasks: u32,
    memory_bytes: u64,
    /// The limit for which it has to end.
    exceeded: Option<LimitHit>,
}

/// How what a call had left running has ended.
#[derive(Debug, Default)]
pub struct LeftEnd {
    /// The limit that ended it; [`LimitHit::Cancelled`] if it was told to end. None if it ended by itself.
    pub limit: Option<LimitHit>,
    /// Whether it was ended because what confined it was undone from outside, or it has created a protected
    /// path.
    pub is_breach: bool,
    /// From the start of the call.
    pub wall: Duration,
    /// Processor time of the whole tree, from the start of the call.
    pub cpu: Duration,
    /// The most memory it held at once, where that is known.
    pub peak_memory_bytes: Option<u64>,
    /// What went wrong, in sentences.
    pub notes: Vec<String>,
}

/// The calls of one session that have left processes running, and what all of these may use together.
#[derive(Debug)]
pub(in crate::launch) struct LeftCalls {
    limits: SessionLimits,
    calls: Mutex<Vec<Arc<LeftCall>>>,
}

impl LeftCall {
    pub(super) fn new(id: CallId, log: LogRing) -> std::io::Result<Self> {
        let log = Arc::new(log);
        let link = CallerLink::into_log(Arc::clone(&log))?;
        Ok(Self {
            id,
            since: SystemTime::now(),
            begun: Instant::now(),
            link,
            log,
            latest: Mutex::default(),
            is_over: Mutex::new(false),
            ended: Condvar::new(),
            is_interpreter: false,
        })
    }

    /// An interpreter of the session.
    pub(super) fn of_interpreter(id: CallId, log: LogRing) -> std::io::Result<Self> {
        Ok(Self { is_interpreter: true, ..Self::new(id, log)? })
    }

    /// Whether it is an interpreter that waits for calls of the session, which does not keep the session.
    pub fn is_interpreter(&self) -> bool {
        self.is_interpreter
    }

    /// The call, as in its report and in the journal.
    pub fn call(&self) -> &CallId {
        &self.id
    }

    /// When the program of the call had ended.
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// What was running when it was last looked at, [`LeftCall::look_pause`] ago at most.
    pub fn processes(&self) -> Vec<LeftProcess> {
        self.latest().processes.clone()
    }

    /// How many processes and threads there were then, and how much memory they held.
    pub fn usage(&self) -> (u32, ByteCount) {
        let latest = self.latest();
        (latest.tasks, ByteCount::bytes(latest.memory_bytes))
    }

    /// What was printed since the report on the call.
    pub fn log(&self) -> &Arc<LogRing> {
        &self.log
    }

    /// Ends all of it. It may still be there for a moment.
    pub fn kill(&self) {
        self.link.cancel();
    }

    /// The same for a limit, which the journal then names.
    pub fn end_for(&self, limit: LimitHit) {
        self.latest().exceeded = Some(limit);
    }

    /// The limit for which it was told to end, if it was.
    pub(in crate::launch) fn ordered(&self) -> Option<LimitHit> {
        let cancelled = self.link.is_cancelled().then_some(LimitHit::Cancelled);
        self.latest().exceeded.or(cancelled)
    }

    /// How often it is looked at which processes there are.
    pub fn look_pause(&self) -> Duration {
        look_pause(self.begun.elapsed())
    }

    /// Waits until none is left, or so long; whether none is.
    pub fn wait_end(&self, timeout: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.wait_timeout_while(is_over, timeout, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes those who wait for the end.
    pub(super) fn set_over(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.notify_all();
    }

    fn latest(&self) -> MutexGuard<'_, LatestUsage> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what runs.
    pub(in crate::launch) fn look(&self, running: &Running) {
        let sample = running.sample();
        let processes = processes::in_sandbox(running);
        let memory_bytes = if sample.resident_bytes > EXACT_ABOVE_BYTES {
            running.memory_bytes()
        } else {
            sample.resident_bytes
        };
        let mut latest = self.latest();
        latest.looked = Some(Instant::now());
        latest.processes = processes;
        (latest.tasks, latest.memory_bytes) = (sample.processes, memory_bytes);
    }

    /// The same, unless that was done not long ago.
    pub(in crate::launch) fn look_if_due(&self, running: &Running) {
        let looked = self.latest().looked;
        if looked.is_none_or(|looked| looked.elapsed() >= self.look_pause()) {
            self.look(running);
        }
    }
}

impl LeftCalls {
    pub(super) fn new(limits: SessionLimits) -> Self {
        Self { limits, calls: Mutex::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<LeftCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limit that all of them together exceed, if this one has to end for that: it is the one that uses
    /// the most.
    pub(in crate::launch) fn exceeded_by(&self, one: &LeftCall) -> Option<LimitHit> {
        let calls = self.lock();
        let used: Vec<(u32, ByteCount)> = calls.iter().map(|call| call.usage()).collect();
        let (largest, limit) = over_budget(self.limits, &used)?;
        let is_this = calls.get(largest).is_some_and(|call| std::ptr::eq(call.as_ref(), one));
        is_this.then_some(limit)
    }
}

/// The call that has to end because all calls together are above a limit of their session: the one that
/// uses the most. Each is given by its processes and its memory.
pub fn over_budget(limits: SessionLimits, used: &[(u32, ByteCount)]) -> Option<(usize, LimitHit)> {
    let tasks = used.iter().fold(0_u32, |sum, (tasks, _)| sum.saturating_add(*tasks));
    let memory = used.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(bytes.get()));
    let calls = used.iter().enumerate();
    if tasks > limits.processes {
        let (largest, _) = calls.max_by_key(|(_, (tasks, _))| *tasks)?;
        Some((largest, LimitHit::Processes))
    } else if memory > limits.memory.get() {
        let (largest, _) = calls.max_by_key(|(_, (_, memory))| *memory)?;
        Some((largest, LimitHit::Memory))
    } else {
        None
    }
}

impl LeftRun {
    /// Which processes there are now.
    pub(super) fn look(&self, call: &LeftCall) {
        call.look(self.tree.running());
    }

    /// The folders in which no repository and no other protected path may appear, watched from now on.
    pub(super) fn repositories(&self) -> RepositoryWatch {
        let names = self.guards.absent.iter().filter_map(Absent::first_name);
        RepositoryWatch::begin(
            self.guards.repositories.clone(),
            names.map(OsStr::to_owned).collect(),
        )
    }

    /// Watches until none is left.
    pub(super) fn watch(
        self,
        call: &LeftCall,
        all: &LeftCalls,
        repositories: RepositoryWatch,
    ) -> LeftEnd {
        // The ports stay open until none is left.
        let Self { tree, mut guards, limits, started, ports: _open } = self;
        let limits = Limits {
            wall: Limits::NO_DEADLINE,
            // Its output is kept in the log, which has its own bound.
            output: ByteCount::bytes(0),
            flood: ByteCount::bytes(u64::MAX),
            ..limits
        };
        let mut tree = LeftTree { tree, call, all, repositories };
        tree.running_mut().keep_left();
        let seen = WatchLoop::new(&mut tree, Input::default(), started, &limits)
            .with_disk(guards.disk.as_mut())
            .with_caller(Some(&call.link))
            .ending_for_others()
            .run(&guards.absent);
        ended(&seen, &guards)
    }
}

fn ended(seen: &Observation, guards: &Guards) -> LeftEnd {
    let mut enforcement = Vec::new();
    let replaced = lose_replaced(&mut enforcement, &guards.covered);
    let mut notes: Vec<String> = why_ended(seen, &replaced).into_iter().collect();
    notes.extend(settle(&guards.absent, guards.since.as_ref(), seen, &mut enforcement));
    let counted = seen.usage.unwrap_or_default();
    let (cpu, peak) = match &seen.end {
        End::Ended(ended) => (ended.cpu, ended.peak_rss_bytes),
        End::Lost => {
            notes.push("the shim of the tree was killed".to_owned());
            (Duration::ZERO, 0)
        }
    };
    let peak = peak.max(seen.sampled_bytes);
    LeftEnd {
        limit: seen.limit,
        is_breach: seen.breach.is_some(),
        wall: seen.wall,
        cpu: counted.cpu.unwrap_or(cpu).max(cpu),
        peak_memory_bytes: counted.memory_peak_bytes.or((peak > 0).then_some(peak)),
        notes,
    }
}

/// A tree that is also held to what a session may use.
#[derive(Debug)]
struct LeftTree<'a> {
    tree: Box<dyn Tree>,
    call: &'a LeftCall,
    all: &'a LeftCalls,
    repositories: RepositoryWatch,
}

impl Tree for LeftTree<'_> {
    fn running(&self) -> &Running {
        self.tree.running()
    }

    fn running_mut(&mut self) -> &mut Running {
        self.tree.running_mut()
    }

    fn dies_at_once(&self) -> bool {
        self.tree.dies_at_once()
    }

    fn release(self: Box<Self>, outcome: Outcome, was_killed: bool) -> Result<Outcome, Failure> {
        self.tree.release(outcome, was_killed)
    }

    fn stdout(&self) -> BorrowedFd<'_> {
        self.tree.stdout()
    }

    fn stderr(&self) -> BorrowedFd<'_> {
        self.tree.stderr()
    }

    fn check(&mut self) -> Option<LimitHit> {
        if let Some(limit) = self.tree.check().or(self.call.latest().exceeded) {
            return Some(limit);
        }
        self.call.look_if_due(self.tree.running());
        self.all.exceeded_by(self.call)
    }

    fn losses(&self) -> Vec<Loss> {
        let repository = self.repositories.appeared().map(|path| {
            let why =
                format!("a repository has appeared at {path:?}, which is not protected from it");
            Loss::Guarantee(Guarantee::Protected, why)
        });
        self.tree.losses().into_iter().chain(repository).collect()
    }

    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        self.repositories.notices()
    }

    fn heed_alarm(&mut self) -> bool {
        self.repositories.take_notices()
    }

    fn check_pause(&self) -> Option<Duration> {
        // Even where nothing of the sandbox is checked, its use is.
        Some(self.tree.check_pause().unwrap_or(ORDER_PAUSE))
    }
}

fn look_pause(age: Duration) -> Duration {
    let known = LOOK_PAUSES.iter().find(|(until, _)| age < *until);
    known.map_or(LATE_LOOK_PAUSE, |(_, pause)| *pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_long_is_looked_at_less_often() {
        let millis = |secs: u64| look_pause(Duration::from_secs(secs)).as_millis();
        assert_eq!([0, 9, 10, 59, 60, 9000].map(millis), [500, 500, 2000, 2000, 5000, 5000]);
    }

    #[test]
    fn whoever_waits_for_the_end_is_woken_by_it() {
        let call = LeftCall::new(CallId::new(), LogRing::create().unwrap()).unwrap();
        assert!(!call.wait_end(Duration::ZERO));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| call.wait_end(Duration::from_secs(60)));
            call.set_over();
            assert!(waiting.join().unwrap());
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
