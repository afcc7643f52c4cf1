//! Signals to this process. Running calls are cancelled before it ends, so that their outcomes are recorded
//! and their reports are printed.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use stockade::Canceller;

use crate::exit_code::Status;

/// What to do at `SIGHUP`.
pub(crate) enum Hangup {
    /// End, as at other signals.
    End,
    /// Call this.
    Call(Box<dyn Fn() + Send>),
}

/// How long a call may take from its start until a signal can cancel it.
const START_MAX: Duration = Duration::from_millis(300);
/// How often it is looked for meanwhile.
const START_PAUSE: Duration = Duration::from_millis(10);

/// Catches signals for as long as this process lives.
#[derive(Clone)]
pub(crate) struct Interrupts(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: BTreeMap<u64, Box<dyn Fn() + Send>>,
    next: u64,
    caught: Option<i32>,
    /// Whether the front end has passed that signal on; it may come to this process, too.
    is_relayed: bool,
}

/// Where a signal comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Direct,
    FrontEnd,
}

/// A call that a signal cancels, until this is dropped.
pub(crate) struct Cancellable {
    interrupts: Interrupts,
    number: u64,
}

impl Interrupts {
    /// Starts to catch signals. A second signal ends this process at once, and one while no call runs soon.
    pub(crate) fn watch(hangup: Hangup) -> io::Result<Self> {
        let interrupts = Self(Arc::default());
        let own = interrupts.clone();
        // Writing beyond the limit on file sizes is an error to report, and no end without a word.
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGXFSZ])?;
        let catch = move || {
            for signal in signals.forever() {
                match (signal, &hangup) {
                    (SIGXFSZ, _) => {}
                    (SIGHUP, Hangup::Call(hangup)) => hangup(),
                    _ => own.end(signal, Sender::Direct),
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(catch)?;
        Ok(interrupts)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels what runs, the first time, and ends this process otherwise. A call whose program has just been
    /// started may not be known here yet.
    fn end(&self, signal: i32, sender: Sender) {
        let mut state = self.lock();
        let was_relayed = std::mem::replace(&mut state.is_relayed, sender == Sender::FrontEnd);
        let is_first = state.caught.replace(signal).is_none() || was_relayed;
        state.running.values().for_each(|cancel| cancel());
        drop(state);
        let patience = if is_first { START_MAX } else { Duration::ZERO };
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if !self.lock().running.is_empty() {
                return;
            }
            thread::sleep(START_PAUSE);
        }
        // It returns only for signals that it does not know.
        let _unknown = emulate_default_handler(signal).is_err();
    }

    /// Does what a signal to the front end asks for. If this process has caught one itself, that is it: a
    /// terminal sends its signals to both.
    pub(crate) fn relay(&self, signal: i32) {
        if !self.is_ending() {
            self.end(signal, Sender::FrontEnd);
        }
    }

    /// Has a signal cancel this call, too.
    pub(crate) fn cancels(&self, canceller: Canceller) -> Cancellable {
        self.cancels_by(move || canceller.cancel())
    }

    /// The same for a call that this cancels.
    pub(crate) fn cancels_by(&self, cancel: impl Fn() + Send + 'static) -> Cancellable {
        let mut state = self.lock();
        if state.caught.is_some() {
            cancel();
        }
        let number = state.next;
        state.next = number.saturating_add(1);
        state.running.insert(number, Box::new(cancel));
        Cancellable { interrupts: self.clone(), number }
    }

    /// Whether a signal has asked this process to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().caught.is_some()
    }

    /// Forgets the signal that has ended a call, for calls that come after it.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        (state.caught, state.is_relayed) = (None, false);
    }

    /// The exit status that a signal asks for, if one came.
    pub(crate) fn status(&self) -> Option<Status> {
        let signal = self.lock().caught?;
        Some(Status::Program(u8::try_from(signal).ok()?.saturating_add(128)))
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        self.interrupts.lock().running.remove(&self.number);
    }
}
