//! The thread that makes boxes in advance and sees to what runs leave behind, so that nobody waits.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::{Kept, Stock};
use crate::jail::Jail;
use crate::remains::Remains;

/// A way to give the thread work.
#[derive(Debug, Clone)]
pub(super) struct Crew {
    work: Sender<Work>,
    thread: Arc<std::sync::Mutex<Option<JoinHandle<()>>>>,
}

/// What the thread does.
#[derive(Debug)]
pub(super) enum Work {
    /// Make a template and the first boxes from it.
    Prepare(Box<Jail>),
    /// Make boxes until enough wait.
    Refill,
    /// Wait for what has ended, and remove it.
    Remove(Remains),
    /// End what is no longer wanted.
    Forget(Box<Kept>),
    /// Nothing more.
    Stop,
}

impl Crew {
    /// Starts the thread; none if there can be none, and then nothing is made in advance.
    pub(super) fn hire(stock: Arc<Stock>) -> Option<Self> {
        let (work, orders) = channel();
        let thread = thread::Builder::new().name("stockade-yard".to_owned());
        let thread = thread.spawn(move || serve(&stock, &orders)).ok()?;
        Some(Self { work, thread: Arc::new(std::sync::Mutex::new(Some(thread))) })
    }

    /// Gives the thread work. If it has stopped, the work is dropped here and now.
    pub(super) fn put(&self, work: Work) {
        let _dropped = self.work.send(work);
    }

    /// The thread's duty towards a box that leaves the yard.
    pub(super) fn duty(&self) -> Duty {
        Duty(self.clone())
    }

    /// Stops the thread once it has done what it was given, and waits for that.
    pub(super) fn dismiss(self) {
        self.put(Work::Stop);
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        // A panic there has ended it, which is what is wanted here.
        let _ended = thread.map(JoinHandle::join);
    }
}

/// What the thread does once a box is no longer used: it makes another one, and not before, for two
/// at once would be in each other's way.
#[derive(Debug)]
pub(crate) struct Duty(Crew);

impl Duty {
    /// Lets the thread wait for what a run leaves behind.
    pub(crate) fn see_to(&self, remains: Remains) {
        self.0.put(Work::Remove(remains));
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        self.0.put(Work::Refill);
    }
}

fn serve(stock: &Stock, orders: &Receiver<Work>) {
    while let Ok(work) = orders.recv() {
        match work {
            Work::Prepare(jail) => {
                stock.prepare(&jail);
                stock.refill();
            }
            Work::Refill => stock.refill(),
            Work::Remove(remains) => drop(remains),
            Work::Forget(old) => drop(old),
            Work::Stop => return,
        }
    }
}
