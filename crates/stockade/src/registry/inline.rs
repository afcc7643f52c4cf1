//! Tools that are closures of the host: run in this process, on a thread of their own.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::{Map, Value};

/// What a tool of the host does: a value, or why there is none.
#[derive(Clone)]
pub struct Closure {
    run: Arc<Run>,
    /// How many of its runs came too late and still go on.
    late: Arc<AtomicUsize>,
}

type Run = dyn Fn(Map<String, Value>) -> Result<Value, String> + Send + Sync;

impl Closure {
    /// A closure.
    pub fn new(
        run: impl Fn(Map<String, Value>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        Self { run: Arc::new(run), late: Arc::default() }
    }
}

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure")
    }
}

/// How a closure ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endured {
    /// With a value.
    Value(Value),
    /// With an error of its own, or a panic: in words.
    Failed(String),
    /// Not in time. Its thread goes on, for nothing can end it; what it says is heard by nobody.
    TooLate,
}

/// With this many runs that nothing ends, there are no more: a caller could fill the host with them.
const LATE_MAX: usize = 16;

/// Runs a closure for no longer than this. A panic stays on its thread.
pub fn endure(closure: &Closure, input: Map<String, Value>, wall: Duration) -> Endured {
    if closure.late.load(Ordering::SeqCst) >= LATE_MAX {
        return Endured::Failed(format!("{LATE_MAX} runs of it came too late and still go on"));
    }
    let (sender, receiver) = sync_channel(1);
    let Closure { run, late } = closure.clone();
    // Whoever is second knows how the other ended.
    let is_over = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&is_over);
    let started = std::thread::Builder::new().name("tool".to_owned()).spawn(move || {
        let ended = match catch_unwind(AssertUnwindSafe(|| run(input))) {
            Ok(Ok(value)) => Endured::Value(value),
            Ok(Err(why)) => Endured::Failed(why),
            Err(panic) => Endured::Failed(format!("it panicked: {}", said(&*panic))),
        };
        let _unheard = sender.send(ended).is_err();
        if ending.swap(true, Ordering::SeqCst) {
            late.fetch_sub(1, Ordering::SeqCst);
        }
    });
    if let Err(error) = started {
        return Endured::Failed(format!("it has no thread: {error}"));
    }
    match receiver.recv_timeout(wall) {
        Ok(ended) => ended,
        Err(RecvTimeoutError::Timeout) => {
            closure.late.fetch_add(1, Ordering::SeqCst);
            if is_over.swap(true, Ordering::SeqCst) {
                closure.late.fetch_sub(1, Ordering::SeqCst);
            }
            Endured::TooLate
        }
        Err(RecvTimeoutError::Disconnected) => {
            Endured::Failed("it ended without a word".to_owned())
        }
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no words".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn runs_that_nothing_ends_do_not_pile_up() {
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let inside = Arc::clone(&gate);
        let closure = Closure::new(move |_| {
            drop(inside.lock());
            Ok(Value::Null)
        });
        let run = || endure(&closure, Map::new(), Duration::from_millis(5));
        for _ in 0..LATE_MAX {
            assert_eq!(run(), Endured::TooLate);
        }
        assert!(matches!(run(), Endured::Failed(why) if why.contains("still go on")));
        drop(held);
        while closure.late.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        let patient = endure(&closure, Map::new(), Duration::from_secs(60));
        assert_eq!(patient, Endured::Value(Value::Null));
        assert_eq!(closure.late.load(Ordering::SeqCst), 0);
    }
}
