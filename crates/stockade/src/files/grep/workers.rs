//! Threads that search files, so that a walk need not wait for each.
//!
//! A thread records what it finds in a file; the walk takes the records in the order in which it handed
//! the files over, so that the answer is the same as that of one thread.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::Instant;

use super::engine::Engine;
use super::record::MatchRecord;
use crate::files::FileError;
use crate::files::open::regular;

/// The most threads, however many processors there are.
const THREADS_MAX: usize = 8;
/// The most files that are handed over and whose records were not taken: each holds a descriptor.
const OPEN_MAX: u64 = 64;

/// A file to be searched.
struct Task {
    number: u64,
    path: PathBuf,
    handle: OwnedFd,
}

/// A file that was searched.
pub(super) struct FileResult {
    pub(super) path: PathBuf,
    /// The file, opened at its beginning, and what was found in it; or why it was not opened.
    pub(super) result: Result<(File, MatchRecord), FileError>,
}

/// The threads of one search.
pub(super) struct Workers {
    tasks: SyncSender<Task>,
    done: Receiver<(u64, FileResult)>,
    /// Records that came before their turn.
    early: BTreeMap<u64, FileResult>,
    handed: u64,
    taken: u64,
}

impl Workers {
    /// Starts the threads, each with an engine of its own. They end when this is dropped.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        engine: &Engine,
        until: Instant,
    ) -> std::io::Result<Self> {
        let (tasks, queue) = sync_channel(usize::try_from(OPEN_MAX).unwrap_or(1));
        let queue = Arc::new(Mutex::new(queue));
        let (results, done) = channel();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        for _thread in 0..processors.min(THREADS_MAX) {
            let (queue, results, engine) = (Arc::clone(&queue), results.clone(), engine.clone());
            thread::Builder::new()
                .name("grep".to_owned())
                .spawn_scoped(scope, move || serve(&queue, &results, engine, until))?;
        }
        Ok(Self { tasks, done, early: BTreeMap::new(), handed: 0, taken: 0 })
    }

    /// Hands a file over. Files whose turn it is are given back: those that are done, and more if many are open.
    pub(super) fn search(&mut self, path: PathBuf, handle: OwnedFd) -> Vec<FileResult> {
        let task = Task { number: self.handed, path, handle };
        // The threads end after this is dropped, so that somebody takes it.
        if self.tasks.send(task).is_ok() {
            self.handed = self.handed.saturating_add(1);
        }
        self.take(OPEN_MAX)
    }

    /// The files that are left, in their order.
    pub(super) fn finish(&mut self) -> Vec<FileResult> {
        self.take(1)
    }

    /// Takes what is done, and waits until fewer than this many are open.
    fn take(&mut self, open_max: u64) -> Vec<FileResult> {
        let mut all = Vec::new();
        loop {
            while let Some(next) = self.early.remove(&self.taken) {
                self.taken = self.taken.saturating_add(1);
                all.push(next);
            }
            let is_open = self.handed.saturating_sub(self.taken) >= open_max;
            let came = if is_open { self.done.recv().ok() } else { self.done.try_recv().ok() };
            match came {
                Some((number, searched)) => drop(self.early.insert(number, searched)),
                None => return all,
            }
        }
    }
}

fn serve(
    queue: &Mutex<Receiver<Task>>,
    results: &Sender<(u64, FileResult)>,
    mut engine: Engine,
    until: Instant,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { number, path, handle }) = next else { return };
        if results.send((number, search(&mut engine, path, &handle, until))).is_err() {
            return;
        }
    }
}

/// Searches one file, if it is a regular one.
pub(super) fn search(
    engine: &mut Engine,
    path: PathBuf,
    handle: &OwnedFd,
    until: Instant,
) -> FileResult {
    let result = regular(handle.as_fd(), &path).map(|(file, _)| {
        // A record that never comes would be waited for.
        let record = catch_unwind(AssertUnwindSafe(|| engine.record(&file, until)));
        let record = record.unwrap_or_else(|_panic| MatchRecord::partial(until));
        (file, record)
    });
    FileResult { path, result }
}
