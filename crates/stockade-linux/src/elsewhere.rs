//! A thread on another processor than that of who begins it.

use std::thread::{self, JoinHandle};

use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Begins it; none if there can be no thread.
pub(crate) fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    let here = sched_getcpu();
    let thread = thread::Builder::new().name("stockade-ahead".to_owned());
    let begin = move || {
        leave(here);
        work()
    };
    let thread = thread.spawn(begin).ok()?;
    // It may have been put behind this one on the same processor, which it leaves at once.
    thread::yield_now();
    Some(thread)
}

/// Moves this thread, and with it the processes that it makes, to another processor than that of the
/// host, if there is one: some schedulers put what is new beside its maker, though another is idle. It
/// may come back.
fn leave(processor: usize) {
    let Ok(all) = sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(processor);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        // What cannot be undone only narrows a choice.
        sched_setaffinity(None, &all).ok();
    }
}
