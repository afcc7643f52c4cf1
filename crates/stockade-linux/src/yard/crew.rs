//! The thread that makes boxes in advance and sees to what runs leave behind, so that nobody waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Warmth;
use super::stock::{Kept, Stock};
use crate::jail::Jail;
use crate::remains::Remains;

/// Where the thread is hired, once there is work for it, and gets it.
#[derive(Debug)]
pub(crate) struct Office {
    stock: Arc<Stock>,
    warmth: Warmth,
    crew: OnceLock<Option<Crew>>,
    deferred: Mutex<Deferred>,
}

/// What the thread gets when a call is over: it would be in the way of one that is about to end.
#[derive(Debug, Default)]
struct Deferred {
    calls: usize,
    work: Vec<Work>,
}

impl Office {
    /// One without a thread yet.
    pub(super) fn new(stock: &Arc<Stock>, warmth: Warmth) -> Self {
        let (crew, deferred) = (OnceLock::new(), Mutex::default());
        Self { stock: Arc::clone(stock), warmth, crew, deferred }
    }

    /// Whether anything is made in advance.
    pub(super) fn is_open(&self) -> bool {
        self.warmth != Warmth::Cold
    }

    /// The thread, if it was hired.
    pub(super) fn crew_so_far(&self) -> Option<&Crew> {
        self.crew.get()?.as_ref()
    }

    fn crew(&self) -> Option<&Crew> {
        let hire = || self.is_open().then(|| Crew::hire(Arc::clone(&self.stock))).flatten();
        self.crew.get_or_init(hire).as_ref()
    }

    /// Gives the thread work. If there is none, it is dropped here and now.
    pub(super) fn put(&self, work: Work) {
        if let Some(crew) = self.crew() {
            crew.put(work);
        }
    }

    /// Gives the thread work, once a call that is under way is over.
    pub(super) fn put_later(&self, work: Work) {
        let mut deferred = self.deferred();
        if deferred.calls > 0 {
            deferred.work.push(work);
        } else {
            drop(deferred);
            self.put(work);
        }
    }

    /// Lets the thread wait for what a run leaves behind; without one, this waits. If it cannot keep
    /// up, who ran it waits too: each holds descriptors, and somebody who runs without a pause would
    /// have all of them soon.
    pub(super) fn see_to(&self, remains: Remains) {
        match self.crew().and_then(Crew::owe) {
            Some(owed) => self.put_later(Work::Remove(remains, owed)),
            None => drop(remains),
        }
    }

    /// How many calls are under way.
    pub(super) fn calls(&self) -> usize {
        self.deferred().calls
    }

    fn deferred(&self) -> MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hires nobody any more, and stops the thread once it has done what it was given.
    pub(super) fn close(&self) {
        if let Some(crew) = self.crew.get_or_init(|| None) {
            crew.dismiss();
        }
    }
}

/// A call that is under way. Dropping it says that it is over.
#[derive(Debug)]
#[must_use = "dropping it says that the call is over"]
pub struct UnderWay<'a>(&'a Office);

impl<'a> UnderWay<'a> {
    pub(super) fn begin(office: &'a Office) -> Self {
        let mut deferred = office.deferred();
        deferred.calls = deferred.calls.saturating_add(1);
        Self(office)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut deferred = self.0.deferred();
        deferred.calls = deferred.calls.saturating_sub(1);
        // That of others too: where calls never cease it would wait for good.
        let work = std::mem::take(&mut deferred.work);
        drop(deferred);
        for work in work {
            self.0.put(work);
        }
    }
}

/// A way to give the thread work.
#[derive(Debug)]
pub(super) struct Crew {
    work: Sender<Work>,
    /// How many runs left something that the thread has not removed yet.
    owed: Arc<AtomicUsize>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How many runs may leave something for the thread at once.
const OWED_MAX: usize = 4;

/// How long a template can wait for the end of the first program.
const CALM: Duration = Duration::from_millis(20);

/// What the thread does.
#[derive(Debug)]
pub(super) enum Work {
    /// Make a template and the first boxes from it.
    Prepare(Box<Jail>),
    /// Make boxes until enough wait.
    Refill,
    /// Wait for what has ended, and remove it.
    Remove(Remains, Owed),
    /// End what is no longer wanted.
    Forget(Box<Kept>),
    /// Nothing more.
    Stop,
}

impl Crew {
    /// Starts the thread; none if there can be none, and then nothing is made in advance.
    fn hire(stock: Arc<Stock>) -> Option<Self> {
        let (work, orders) = channel();
        let owed = Arc::new(AtomicUsize::new(0));
        let thread = thread::Builder::new().name("stockade-yard".to_owned());
        let thread = thread.spawn(move || serve(&stock, &orders)).ok()?;
        Some(Self { work, owed, thread: Mutex::new(Some(thread)) })
    }

    /// Gives the thread work. If it has stopped, the work is dropped here and now.
    pub(super) fn put(&self, work: Work) {
        let _dropped = self.work.send(work);
    }

    /// Leaves the thread one more run to see to; none if it has enough of them.
    fn owe(&self) -> Option<Owed> {
        let has_enough = self.owed.load(Ordering::Relaxed) >= OWED_MAX;
        (!has_enough).then(|| Owed::new(&self.owed))
    }

    /// Stops the thread once it has done what it was given, and waits for that.
    fn dismiss(&self) {
        self.put(Work::Stop);
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        // A panic there has ended it, which is what is wanted here.
        let _ended = thread.map(JoinHandle::join);
    }
}

/// One run that the thread has yet to see to. Dropping it says that it has.
#[derive(Debug)]
pub(super) struct Owed(Arc<AtomicUsize>);

impl Owed {
    fn new(owed: &Arc<AtomicUsize>) -> Self {
        owed.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(owed))
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(stock: &Stock, orders: &Receiver<Work>) {
    let mut next = None;
    while let Some(work) = next.take().or_else(|| orders.recv().ok()) {
        match work {
            Work::Prepare(jail) => {
                // The first program has begun at this moment, and would have to share the machine.
                next = match orders.recv_timeout(CALM) {
                    Ok(Work::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(work) => Some(work),
                    Err(RecvTimeoutError::Timeout) => None,
                };
                stock.prepare(&jail);
                stock.refill();
            }
            Work::Refill => stock.refill(),
            Work::Remove(remains, owed) => {
                drop(remains);
                drop(owed);
            }
            Work::Forget(old) => drop(old),
            Work::Stop => return,
        }
    }
}
