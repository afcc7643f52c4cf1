//! The thread that makes boxes in advance and sees to what runs leave behind, so that nobody waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Warmth;
use super::stock::{Kept, Model, Stock};
use crate::remains::Remains;

/// Where the thread is hired, once there is work for it, and gets it.
#[derive(Debug)]
pub(crate) struct Office {
    stock: Arc<Stock>,
    warmth: Warmth,
    crew: OnceLock<Option<Crew>>,
}

impl Office {
    /// One without a thread yet.
    pub(super) fn new(stock: &Arc<Stock>, warmth: Warmth) -> Self {
        Self { stock: Arc::clone(stock), warmth, crew: OnceLock::new() }
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

    /// Lets the thread wait for what a run leaves behind; without one, this waits. If it cannot keep
    /// up, who ran it waits too: each holds descriptors, and somebody who runs without a pause would
    /// have all of them soon.
    pub(super) fn see_to(&self, remains: Remains) {
        match self.crew().and_then(Crew::owe) {
            Some(owed) => self.put(Work::Remove(remains, owed)),
            None => drop(remains),
        }
    }

    /// Hires nobody any more, and stops the thread once it has done what it was given.
    pub(super) fn close(&self) {
        if let Some(crew) = self.crew.get_or_init(|| None) {
            crew.dismiss();
        }
    }
}

/// A way to give the thread work.
#[derive(Debug)]
pub(super) struct Crew {
    work: SyncSender<Work>,
    /// How many runs left something that the thread has not removed yet.
    owed: Arc<AtomicUsize>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How much work may wait for the thread.
const QUEUE_MAX: usize = 16;

/// How many runs may leave something for the thread at once.
const OWED_MAX: usize = 4;

/// How long a template can wait for the end of the first program.
const CALM: Duration = Duration::from_millis(20);

/// What the thread does.
#[derive(Debug)]
pub(super) enum Work {
    /// Make a template and the first boxes from it.
    Prepare(Box<Model>),
    /// Make boxes until enough wait.
    Refill,
    /// Wait for what has ended, and remove it.
    Remove(Remains, Owed),
    /// End what is no longer wanted.
    Forget(Vec<Kept>),
    /// Nothing more.
    Stop,
}

impl Crew {
    /// Starts the thread; none if there can be none, and then nothing is made in advance.
    fn hire(stock: Arc<Stock>) -> Option<Self> {
        let (work, orders) = sync_channel(QUEUE_MAX);
        let owed = Arc::new(AtomicUsize::new(0));
        let thread = thread::Builder::new().name("stockade-yard".to_owned());
        let thread = thread.spawn(move || serve(&stock, &orders)).ok()?;
        Some(Self { work, owed, thread: Mutex::new(Some(thread)) })
    }

    /// Gives the thread work, and waits while it has much to do: work holds descriptors. If the thread
    /// has stopped, the work is dropped here and now.
    pub(super) fn put(&self, work: Work) {
        match work {
            // It asks for nothing that the next call would not ask for again.
            Work::Refill => drop(self.work.try_send(work)),
            Work::Prepare(_) | Work::Remove(..) | Work::Forget(_) | Work::Stop => {
                let _dropped = self.work.send(work);
            }
        }
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
            Work::Prepare(model) => {
                // The first program has begun at this moment, and would have to share the machine.
                next = match orders.recv_timeout(CALM) {
                    Ok(Work::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(work) => Some(work),
                    Err(RecvTimeoutError::Timeout) => None,
                };
                stock.prepare(&model);
                drop(model);
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
