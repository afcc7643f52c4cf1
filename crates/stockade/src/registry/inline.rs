//! Tools that are closures of the host. They run in this process, on a thread of their own.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::{Map, Value};

/// The function of a tool of the host.
#[derive(Clone)]
pub struct Closure {
    run: Arc<Run>,
    /// How many of its runs exceeded their time and still go on.
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

/// The result of a closure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClosureResult {
    /// With a value.
    Value(Value),
    /// With an error, or a panic, as text.
    Failed(String),
    /// Out of time. Its thread keeps running, because nothing can end it, and its result is
    /// ignored.
    TooLate,
}

/// The most runs that may hang; after that no more start, because they could fill the host.
const LATE_MAX: usize = 16;

/// Runs a closure with a time limit. A panic stays on its thread.
pub fn run_closure(closure: &Closure, input: Map<String, Value>, wall: Duration) -> ClosureResult {
    if closure.late.load(Ordering::SeqCst) >= LATE_MAX {
        return ClosureResult::Failed(format!(
            "{LATE_MAX} runs of it came too late and still go on"
        ));
    }
    let (sender, receiver) = sync_channel(1);
    let Closure { run, late } = closure.clone();
    // The one that comes second sees how the other ended.
    let is_over = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&is_over);
    let started = std::thread::Builder::new().name("tool".to_owned()).spawn(move || {
        let ended = match catch_unwind(AssertUnwindSafe(|| run(input))) {
            Ok(Ok(value)) => ClosureResult::Value(value),
            Ok(Err(why)) => ClosureResult::Failed(why),
            Err(panic) => ClosureResult::Failed(format!("it panicked: {}", said(&*panic))),
        };
        let _unheard = sender.send(ended).is_err();
        if ending.swap(true, Ordering::SeqCst) {
            late.fetch_sub(1, Ordering::SeqCst);
        }
    });
    if let Err(error) = started {
        return ClosureResult::Failed(format!("it has no thread: {error}"));
    }
    match receiver.recv_timeout(wall) {
        Ok(ended) => ended,
        Err(RecvTimeoutError::Timeout) => {
            closure.late.fetch_add(1, Ordering::SeqCst);
            if is_over.swap(true, Ordering::SeqCst) {
                closure.late.fetch_sub(1, Ordering::SeqCst);
            }
            ClosureResult::TooLate
        }
        Err(RecvTimeoutError::Disconnected) => {
            ClosureResult::Failed("it ended without a word".to_owned())
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
        let run = || run_closure(&closure, Map::new(), Duration::from_millis(5));
        for _ in 0..LATE_MAX {
            assert_eq!(run(), ClosureResult::TooLate);
        }
        assert!(
            matches!(run(), ClosureResult::Failed(why) if why.contains(message!("inline.runs-came-too-late")))
        );
        drop(held);
        while closure.late.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        let patient = run_closure(&closure, Map::new(), Duration::from_secs(60));
        assert_eq!(patient, ClosureResult::Value(Value::Null));
        assert_eq!(closure.late.load(Ordering::SeqCst), 0);
    }
}
