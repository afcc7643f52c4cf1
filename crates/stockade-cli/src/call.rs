//! `stockade call`: JSON lines in, reports out in the same order, some of them at once.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use stockade::call::Tool;
use stockade::launch::Warmth;
use stockade::{Report, Stockade, ToolCall};

use crate::args::{Calls, Common};
use crate::exit_code::Status;
use crate::{Answer, render, setup, wire};

/// A longer line is no call that anyone means.
pub(crate) const LINE_BYTES_MAX: u64 = 16 << 20;
/// No more boxes wait than this, however many calls run at once.
const SPARES_MAX: usize = 4;
/// How far the calls may run ahead of the oldest that is not yet reported, for each job.
const AHEAD_PER_JOB: usize = 16;
/// The most bytes of lines between their start and their report. A longer line runs alone.
const BYTES_AHEAD_MAX: usize = 16 << 20;

/// Runs every call in a file.
pub(crate) fn calls(calls: &Calls) -> Answer {
    stockade::launch::return_large_blocks();
    // Calls for which there are no descriptors wait; they would fail otherwise.
    let jobs = usize::from(calls.jobs).min(stockade::launch::calls_at_once());
    let spares = jobs.min(SPARES_MAX);
    let stockade = setup::warm_stockade(&calls.common, &[], Warmth::Warm { spares })?;
    let reader = open(&calls.file)?;
    let window = Window::new(jobs.saturating_mul(AHEAD_PER_JOB));
    let (lines, work) = sync_channel::<(usize, Line)>(jobs);
    let (reports, done) = sync_channel::<(usize, Report)>(jobs);
    // The performers alone hold it: when the last of them is gone, nobody waits to send to them.
    let work = Arc::new(Mutex::new(work));
    let (stockade, window) = (&stockade, &window);
    let (read, written) = thread::scope(move |scope| {
        // Whoever is left without work when one cannot be started ends, too: the lines go with this.
        let lines = lines;
        for _ in 0..jobs {
            let (work, reports) = (Arc::clone(&work), reports.clone());
            let performer = move || perform(stockade, &calls.common, &work, &reports);
            begin(scope, performer)?;
        }
        drop((work, reports));
        let writer = move || {
            let result = write(&done, window);
            // Whatever happened, the reader must not wait for a writer that is gone.
            window.close();
            result
        };
        let writer = begin(scope, writer)?;
        let read = feed(reader, &lines, window);
        drop(lines);
        Ok::<_, String>((read, writer.join()))
    })?;
    read?;
    written.map_err(|_panic| "write the reports")??;
    Ok(Status::Ok)
}

/// Starts a thread, or says why not.
fn begin<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, String> {
    thread::Builder::new().spawn_scoped(scope, work).map_err(|error| {
        format!("start a thread for a call: {error}; with fewer --jobs there is less to start")
    })
}

/// One line of input: a text, or why it is none.
type Line = Result<String, String>;

fn open(file: &Path) -> Result<Box<dyn BufRead>, Box<dyn std::error::Error>> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = File::open(file).map_err(|error| format!("open {}: {error}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn feed(
    mut reader: Box<dyn BufRead>,
    lines: &SyncSender<(usize, Line)>,
    window: &Window,
) -> std::io::Result<()> {
    let mut index = 0_usize;
    while let Some(line) = next_line(&mut reader)? {
        if line.as_ref().is_ok_and(|text| text.trim().is_empty()) {
            continue;
        }
        let bytes = line.as_ref().map_or(0, String::len);
        if !window.enter(bytes) || lines.send((index, line)).is_err() {
            break;
        }
        index = index.saturating_add(1);
    }
    Ok(())
}

fn next_line(reader: &mut Box<dyn BufRead>) -> std::io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if !bytes.ends_with(b"\n")
        && u64::try_from(bytes.len()).is_ok_and(|read| read >= LINE_BYTES_MAX)
    {
        skip_line(reader)?;
        return Ok(Some(Err("this is no call: the line is longer than 16 MiB".to_owned())));
    }
    let text = String::from_utf8(bytes);
    Ok(Some(text.map_err(|_invalid| "this is no call: the line is not UTF-8".to_owned())))
}

fn skip_line(reader: &mut Box<dyn BufRead>) -> std::io::Result<()> {
    loop {
        let buffered = reader.fill_buf()?;
        let (used, found) = match buffered.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at.saturating_add(1), true),
            None => (buffered.len(), buffered.is_empty()),
        };
        reader.consume(used);
        if found {
            return Ok(());
        }
    }
}

fn perform(
    stockade: &Stockade,
    common: &Common,
    work: &Mutex<Receiver<(usize, Line)>>,
    reports: &SyncSender<(usize, Report)>,
) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((index, line)) = next else { return };
        let parsed = line.and_then(|text| wire::parse(&text).map_err(|error| error.to_string()));
        let call = match parsed {
            Ok(call) if call.cwd.is_none() => setup::placed(call, common),
            Ok(call) => call,
            Err(why) => ToolCall::of(Tool::Malformed(why)),
        };
        if reports.send((index, stockade.run(call))).is_err() {
            return;
        }
    }
}

fn write(done: &Receiver<(usize, Report)>, window: &Window) -> Result<(), render::Unsaid> {
    let mut early = BTreeMap::new();
    let mut next = 0_usize;
    for (index, report) in done {
        early.insert(index, report);
        while let Some(report) = early.remove(&next) {
            render::say_json(&report)?;
            next = next.saturating_add(1);
            window.leave();
        }
    }
    Ok(())
}

/// Keeps the reader from running far ahead of the writer, in calls and in bytes: a report may be as long
/// as its call.
struct Window {
    width: usize,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    /// The lengths of the lines that are not reported yet, the oldest first.
    pending: VecDeque<usize>,
    bytes: usize,
    /// Whether nobody reports any more.
    is_closed: bool,
}

impl State {
    fn has_room(&self, bytes: usize, width: usize) -> bool {
        let is_short = self.bytes.saturating_add(bytes) <= BYTES_AHEAD_MAX;
        self.pending.is_empty() || (self.pending.len() < width && is_short)
    }
}

impl Window {
    fn new(width: usize) -> Self {
        Self { width, state: Mutex::default(), moved: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a call may start; false if nobody would report it.
    fn enter(&self, bytes: usize) -> bool {
        let is_full = |state: &mut State| !state.is_closed && !state.has_room(bytes, self.width);
        let waited = self.moved.wait_while(self.lock(), is_full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.pending.push_back(bytes);
        state.bytes = state.bytes.saturating_add(bytes);
        !state.is_closed
    }

    /// Notes that the oldest call was reported.
    fn leave(&self) {
        let mut state = self.lock();
        let bytes = state.pending.pop_front().unwrap_or_default();
        state.bytes = state.bytes.saturating_sub(bytes);
        drop(state);
        self.moved.notify_all();
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.moved.notify_all();
    }
}
