//! `stockade call`: JSON lines in, reports out in the same order, some of them at once.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use stockade::call::{SessionName, Tool};
use stockade::launch::PoolSize;
use stockade::{Report, Stockade, ToolCall};

use crate::args::{Calls, Common};
use crate::exit_code::Status;
use crate::session::{self, FrontEnd, Membership, Waits, supervised};
use crate::signals::{Hangup, Interrupts};
use crate::wire::{SentCall, StreamEvent};
use crate::{Answer, print, setup, wire};

/// A longer line is no call that anyone means.
pub(crate) const LINE_BYTES_MAX: u64 = 16 << 20;
/// No more boxes wait than this, however many calls run at once.
const SPARES_MAX: usize = 4;
/// How far the calls may run ahead of the oldest that is not yet reported, for each job.
const AHEAD_PER_JOB: usize = 16;
/// The most bytes of lines between their start and their report. A longer line runs alone.
const BYTES_AHEAD_MAX: usize = 16 << 20;

/// How long a performer without work takes to notice that a signal asks to end.
const SIGNAL_PAUSE: Duration = Duration::from_millis(50);

/// Runs every call in a file. With a session, what the calls have left running stays when they are done.
pub(crate) fn calls(calls: &Calls) -> Answer {
    match &calls.session {
        None => perform_all(calls, None, &Waits::default()),
        Some(_) => {
            supervised(None, |front_end| perform_all(calls, Some(front_end), &front_end.waits))
        }
    }
}

fn perform_all(calls: &Calls, front_end: Option<&FrontEnd>, waits: &Waits) -> Answer {
    stockade::launch::return_large_blocks();
    // Calls for which there are no descriptors wait; they would fail otherwise.
    let jobs = usize::from(calls.jobs).min(stockade::launch::calls_at_once());
    let spares = jobs.min(SPARES_MAX);
    let stockade = setup::warm_stockade(&calls.common, &[], PoolSize::Templates { spares })?;
    let stockade = Arc::new(Mutex::new(stockade));
    let interrupts = Interrupts::watch(reload(calls.common.clone(), spares, &stockade))?;
    if let Some(front_end) = front_end {
        front_end.interrupts(&interrupts)?;
    }
    let reader = open(&calls.file)?;
    let window = Arc::new(Window::new(jobs.saturating_mul(AHEAD_PER_JOB)));
    let (lines, work) = sync_channel::<(usize, Line)>(jobs);
    let (reports, done) = sync_channel::<(usize, Report)>(jobs);
    // The performers alone hold it: when the last of them is gone, nobody waits to send to them.
    let work = Arc::new(Mutex::new(work));
    let (common, session) = (&calls.common, calls.session.as_ref());
    let (stockade, interrupts_of_calls) = (&stockade, &interrupts);
    let performer = Performer { stockade, interrupts: interrupts_of_calls, common, session, waits };
    let (performer, writers_window) = (&performer, &window);
    let (read, written) = thread::scope(|scope| {
        for _ in 0..jobs {
            let (work, reports) = (Arc::clone(&work), reports.clone());
            begin(scope, move || performer.perform(&work, &reports))?;
        }
        drop((work, reports));
        let writer = move || {
            let result = write(&done, writers_window);
            // Whatever happened, the reader must not wait for a writer that is gone.
            writers_window.close();
            result
        };
        let writer = begin(scope, writer)?;
        // A signal ends the performers and so the writer, while the reader may wait for a line for ever.
        let read = begin_reader(reader, lines, Arc::clone(&window))?;
        let written = writer.join();
        let read = if interrupts.is_ending() { Ok(()) } else { joined(read) };
        Ok::<_, String>((read, written))
    })?;
    read?;
    written.map_err(|_panic| "write the reports")??;
    Ok(interrupts.status().unwrap_or(Status::Ok))
}

/// Reads the policy again at `SIGHUP`, for the calls that come after it. One that cannot be read changes
/// nothing.
fn reload(common: Common, spares: usize, stockade: &Arc<Mutex<Stockade>>) -> Hangup {
    // The thread that hears signals lives as long as this process: it must not keep the sandboxes that
    // wait, which go with the last owner.
    let stockade = Arc::downgrade(stockade);
    Hangup::Call(Box::new(move || {
        let Some(stockade) = stockade.upgrade() else { return };
        match setup::warm_stockade(&common, &[], PoolSize::Templates { spares }) {
            Ok(new) => {
                *stockade.lock().unwrap_or_else(PoisonError::into_inner) = new;
                print::note("the policy was read again");
            }
            Err(error) => {
                print::error(&print::chain(&error));
                print::note("the policy stays as it was");
            }
        }
    }))
}

/// Starts the reader in a thread that this process does not wait for when it ends.
fn begin_reader(
    reader: Box<dyn BufRead + Send>,
    lines: SyncSender<(usize, Line)>,
    window: Arc<Window>,
) -> Result<JoinHandle<std::io::Result<()>>, String> {
    let read = move || feed(reader, &lines, &window);
    thread::Builder::new().name("lines".to_owned()).spawn(read).map_err(|error| unstarted(&error))
}

fn joined(read: JoinHandle<std::io::Result<()>>) -> std::io::Result<()> {
    read.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Starts a thread, or says why not.
fn begin<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, String> {
    thread::Builder::new().spawn_scoped(scope, work).map_err(|error| unstarted(&error))
}

fn unstarted(error: &std::io::Error) -> String {
    format!("start a thread for a call: {error}; with fewer --jobs there is less to start")
}

/// One line of input: a text, or why it is none.
type Line = Result<String, String>;

fn open(file: &Path) -> Result<Box<dyn BufRead + Send>, Box<dyn std::error::Error>> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = File::open(file).map_err(|error| format!("open {}: {error}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn feed(
    mut reader: Box<dyn BufRead + Send>,
    lines: &SyncSender<(usize, Line)>,
    window: &Window,
) -> std::io::Result<()> {
    let mut index = 0_usize;
    while let Some(line) = next_line(&mut *reader)? {
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

fn next_line(reader: &mut (dyn BufRead + Send)) -> std::io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    reader.take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
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

fn skip_line(reader: &mut (dyn BufRead + Send)) -> std::io::Result<()> {
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

/// Runs calls by the policy as it was read last.
struct Performer<'a> {
    stockade: &'a Mutex<Stockade>,
    interrupts: &'a Interrupts,
    common: &'a Common,
    /// The session of calls that name none.
    session: Option<&'a SessionName>,
    waits: &'a Waits,
}

impl Performer<'_> {
    /// Takes lines and sends reports, until there are no more or a signal asks to end.
    fn perform(
        &self,
        work: &Mutex<Receiver<(usize, Line)>>,
        reports: &SyncSender<(usize, Report)>,
    ) {
        while !self.interrupts.is_ending() {
            let next = {
                let work = work.lock().unwrap_or_else(PoisonError::into_inner);
                work.recv_timeout(SIGNAL_PAUSE)
            };
            let (index, line) = match next {
                Ok(next) => next,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if reports.send((index, self.report(line))).is_err() {
                return;
            }
        }
    }

    fn report(&self, line: Line) -> Report {
        let parsed = line.and_then(|text| wire::parse(&text).map_err(|error| error.to_string()));
        let malformed =
            |why| SentCall { call: ToolCall::of(Tool::Malformed(why)), is_streamed: false };
        let SentCall { mut call, is_streamed } = parsed.unwrap_or_else(malformed);
        if call.cwd.is_none() && !matches!(call.tool, Tool::Malformed(_)) {
            call = setup::placed(call, self.common);
        }
        if let (Some(name), None) = (self.session, &call.session) {
            call = call.in_session(name.clone());
        }
        let stockade = self.stockade.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let joined = call.session.as_ref().map(|name| Membership::join(&stockade, &call, name));
        let membership = match joined.transpose() {
            Ok(membership) => membership,
            Err(error) => return stockade.unjoined(call, &print::chain(&*error)),
        };
        // A hook may have to see all of the output first.
        let is_streamed = is_streamed && !stockade.has_post_hooks();
        let running = match stockade.start(call) {
            Ok(running) => running,
            Err(report) => return report,
        };
        let _cancellable = self.interrupts.cancels(running.canceller());
        if let Some(membership) = &membership {
            membership.cancels(running.canceller());
        }
        while let Some(event) = running.next_event().filter(|_| is_streamed) {
            let id = running.call().to_string();
            if print::json(&StreamEvent::of(&id, &event)).is_err() {
                // The writer of reports finds that out, too.
                break;
            }
        }
        let mut report = running.wait();
        if let Some(membership) = membership {
            membership.finish(&mut report, self.waits);
        }
        session::end_if_unsealed(&stockade, &report);
        report
    }
}

fn write(done: &Receiver<(usize, Report)>, window: &Window) -> Result<(), print::StdoutError> {
    let mut early = BTreeMap::new();
    let mut next = 0_usize;
    for (index, report) in done {
        early.insert(index, report);
        while let Some(report) = early.remove(&next) {
            print::json(&report)?;
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
