//! Tools that are closures of the host: run in this process, on a thread of their own.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::{Map, Value};

/// What a tool of the host does: a value, or why there is none.
#[derive(Clone)]
pub struct Closure(Arc<Run>);

type Run = dyn Fn(Map<String, Value>) -> Result<Value, String> + Send + Sync;

impl Closure {
    /// A closure.
    pub fn new(
        run: impl Fn(Map<String, Value>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(run))
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

/// Runs a closure for no longer than this. A panic stays on its thread.
pub fn endure(closure: &Closure, input: Map<String, Value>, wall: Duration) -> Endured {
    let (sender, receiver) = sync_channel(1);
    let run = Arc::clone(&closure.0);
    let started = std::thread::Builder::new().name("tool".to_owned()).spawn(move || {
        let ended = match catch_unwind(AssertUnwindSafe(|| run(input))) {
            Ok(Ok(value)) => Endured::Value(value),
            Ok(Err(why)) => Endured::Failed(why),
            Err(panic) => Endured::Failed(format!("it panicked: {}", said(&*panic))),
        };
        let _unheard = sender.send(ended).is_err();
    });
    if let Err(error) = started {
        return Endured::Failed(format!("it has no thread: {error}"));
    }
    match receiver.recv_timeout(wall) {
        Ok(ended) => ended,
        Err(RecvTimeoutError::Timeout) => Endured::TooLate,
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
