//! The connection between a run and the caller that reads its output, writes its input and may cancel
//! it. One side is the supervising thread, the other belongs to whoever started the call.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use stockade_sandbox::TerminalSize;

use super::session::LogRing;

/// How much output waits for a caller that does not read. Above it the pipes are left alone, so that
/// they fill and the program waits.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// How much input waits for a program that does not read. Above it the caller waits.
const INPUT_BYTES_MAX: usize = 64 << 10;
/// Pieces of one stream are joined up to this size, so that many small ones cost no more than one.
const EVENT_BYTES_MAX: usize = 64 << 10;

/// A piece of output, as the program wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputEvent {
    /// Written to standard output.
    Stdout(Vec<u8>),
    /// Written to standard error.
    Stderr(Vec<u8>),
}

impl OutputEvent {
    /// What was written, whichever stream it was.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Stdout(bytes) | Self::Stderr(bytes) => bytes,
        }
    }

    /// Takes in the next piece of the same stream, if there is room.
    fn join(&mut self, next: &Self) -> bool {
        let (bytes, more) = match (self, next) {
            (Self::Stdout(bytes), Self::Stdout(more))
            | (Self::Stderr(bytes), Self::Stderr(more)) => (bytes, more),
            (Self::Stdout(_), Self::Stderr(_)) | (Self::Stderr(_), Self::Stdout(_)) => {
                return false;
            }
        };
        let fits = bytes.len().saturating_add(more.len()) <= EVENT_BYTES_MAX;
        if fits {
            bytes.extend_from_slice(more);
        }
        fits
    }
}

/// Both ends of the connection.
#[derive(Debug)]
pub(crate) struct CallerLink {
    state: Mutex<State>,
    changed: Condvar,
    /// Wakes the supervisor out of its poll.
    wake: OwnedFd,
}

#[derive(Debug)]
struct State {
    output: OutputReader,
    input: Vec<u8>,
    /// The caller writes no more, or nobody would read it.
    is_input_closed: bool,
    is_cancelled: bool,
    is_over: bool,
    /// The size that the terminal of the program is to have.
    size: Option<TerminalSize>,
}

/// Where the output goes besides the report.
#[derive(Debug)]
enum OutputReader {
    /// To a caller who reads it as it comes.
    Caller(OutputQueue),
    /// Into a log.
    Log(Arc<LogRing>),
    /// Nobody reads any more.
    Gone,
}

#[derive(Debug, Default)]
struct OutputQueue {
    events: VecDeque<OutputEvent>,
    bytes: usize,
}

impl OutputReader {
    fn is_full(&self) -> bool {
        matches!(self, Self::Caller(queue) if queue.is_full())
    }

    fn pop(&mut self) -> Option<OutputEvent> {
        match self {
            Self::Caller(queue) => queue.pop(),
            Self::Log(_) | Self::Gone => None,
        }
    }
}

impl OutputQueue {
    fn is_full(&self) -> bool {
        self.bytes >= OUTPUT_BYTES_MAX
    }

    fn push(&mut self, event: OutputEvent) {
        self.bytes = self.bytes.saturating_add(event.bytes().len());
        let is_joined = self.events.back_mut().is_some_and(|last| last.join(&event));
        if !is_joined {
            self.events.push_back(event);
        }
    }

    fn pop(&mut self) -> Option<OutputEvent> {
        let event = self.events.pop_front()?;
        self.bytes = self.bytes.saturating_sub(event.bytes().len());
        Some(event)
    }
}

/// What the caller has written since.
pub(super) enum CallerInput {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// Nothing, and there will be no more.
    Closed,
}

impl CallerLink {
    /// A connection for one call, `takes_input` if the caller may write to the program.
    pub(crate) fn new(takes_input: bool) -> io::Result<Self> {
        Self::with_reader(OutputReader::Caller(OutputQueue::default()), takes_input)
    }

    /// One whose output goes into a log.
    pub(super) fn into_log(log: Arc<LogRing>) -> io::Result<Self> {
        Self::with_reader(OutputReader::Log(log), false)
    }

    fn with_reader(output: OutputReader, takes_input: bool) -> io::Result<Self> {
        let state = State {
            output,
            input: Vec::new(),
            is_input_closed: !takes_input,
            is_cancelled: false,
            is_over: false,
            size: None,
        };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { state: Mutex::new(state), changed: Condvar::new(), wake })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked while it held the lock has left whole values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and lets the supervisor know.
    fn signal(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
        // Only a full counter refuses, and then the supervisor is awake already.
        let _full = rustix::io::write(&self.wake, &1u64.to_ne_bytes()).is_err();
    }

    /// The next piece of output; `None` if the call is over, or nothing came until then.
    pub(crate) fn next_event(&self, until: Option<Instant>) -> Option<OutputEvent> {
        let mut state = self.lock();
        loop {
            let was_full = state.output.is_full();
            if let Some(event) = state.output.pop() {
                let has_room = was_full && !state.output.is_full();
                drop(state);
                if has_room {
                    self.signal(|_| {});
                }
                return Some(event);
            }
            if state.is_over {
                return None;
            }
            state = match until {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let rest = until.saturating_duration_since(Instant::now());
                    if rest.is_zero() {
                        return None;
                    }
                    let waited = self.changed.wait_timeout(state, rest);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Passes bytes to the program. Waits while too much is on its way.
    pub(crate) fn write_input(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut state = self.lock();
            let room = loop {
                if state.is_over || state.is_input_closed {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                let room = INPUT_BYTES_MAX.saturating_sub(state.input.len());
                if room > 0 {
                    break room;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.signal(|state| state.input.extend_from_slice(now));
            bytes = rest;
        }
        Ok(())
    }

    /// Ends the program's input, after what was written.
    pub(crate) fn close_input(&self) {
        self.signal(|state| state.is_input_closed = true);
    }

    /// Sets the size of the program's terminal.
    pub(crate) fn resize(&self, size: TerminalSize) {
        self.signal(|state| state.size = Some(size));
    }

    /// The size that was set since.
    pub(super) fn take_size(&self) -> Option<TerminalSize> {
        self.lock().size.take()
    }

    /// Ends the call.
    pub(crate) fn cancel(&self) {
        self.signal(|state| state.is_cancelled = true);
    }

    /// Drops the output that waits and all that comes; the report has it nevertheless.
    pub(crate) fn stop_reading(&self) {
        self.signal(|state| state.output = OutputReader::Gone);
    }

    /// Waits so long, unless the call is cancelled; whether it was not.
    pub(crate) fn pause(&self, duration: Duration) -> bool {
        let until = Instant::now().checked_add(duration);
        let mut state = self.lock();
        while !state.is_cancelled {
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            let Some(rest) = rest.filter(|rest| !rest.is_zero()) else { return true };
            let waited = self.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Says that no more comes: the reader gets what waits, and then the end.
    pub(crate) fn finish(&self) {
        self.signal(|state| state.is_over = true);
    }

    /// Gives the caller a piece of output.
    pub(super) fn push(&self, event: OutputEvent) {
        if event.bytes().is_empty() {
            return;
        }
        match &mut self.lock().output {
            OutputReader::Caller(queue) => queue.push(event),
            OutputReader::Log(log) => {
                // Memory that cannot be had loses output of a program that nobody waits for.
                let _lost = log.push(event.bytes()).is_err();
            }
            OutputReader::Gone => {}
        }
        self.changed.notify_all();
    }

    /// Whether enough output waits for the caller.
    pub(super) fn is_full(&self) -> bool {
        self.lock().output.is_full()
    }

    /// Whether the caller has cancelled the call.
    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().is_cancelled
    }

    /// What the caller has written since.
    pub(super) fn take_input(&self) -> CallerInput {
        let mut state = self.lock();
        if state.input.is_empty() {
            return if state.is_input_closed { CallerInput::Closed } else { CallerInput::Nothing };
        }
        let bytes = std::mem::take(&mut state.input);
        drop(state);
        self.changed.notify_all();
        CallerInput::Bytes(bytes)
    }

    /// Says that the program reads no more.
    pub(super) fn refuse_input(&self) {
        let mut state = self.lock();
        state.is_input_closed = true;
        state.input.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Forgets that it was woken.
    pub(super) fn clear_wake(&self) {
        let mut count = [0; 8];
        // Nothing to read is as good.
        let _empty = rustix::io::read(&self.wake, &mut count).is_err();
    }
}

impl AsFd for CallerLink {
    /// Readable when the caller has done something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(bytes: &[u8]) -> OutputEvent {
        OutputEvent::Stdout(bytes.to_vec())
    }

    #[test]
    fn pieces_of_one_stream_are_joined_and_the_order_of_streams_stays() {
        let link = CallerLink::new(false).unwrap();
        for event in [stdout(b"a"), stdout(b"b"), OutputEvent::Stderr(b"c".to_vec()), stdout(b"d")]
        {
            link.push(event);
        }
        link.finish();
        let events: Vec<_> = std::iter::from_fn(|| link.next_event(None)).collect();
        assert_eq!(events, [stdout(b"ab"), OutputEvent::Stderr(b"c".to_vec()), stdout(b"d")]);
    }

    #[test]
    fn a_caller_that_does_not_read_fills_it_and_one_that_reads_makes_room() {
        let link = CallerLink::new(false).unwrap();
        let piece = vec![0; EVENT_BYTES_MAX];
        while !link.is_full() {
            link.push(stdout(&piece));
        }
        assert!(matches!(&link.lock().output, OutputReader::Caller(queue)
            if queue.bytes == OUTPUT_BYTES_MAX));
        assert!(link.next_event(None).is_some());
        assert!(!link.is_full());
        link.stop_reading();
        link.push(stdout(&piece));
        assert!(matches!(link.lock().output, OutputReader::Gone) && !link.is_full());
    }

    #[test]
    fn input_waits_for_room_and_a_closed_one_takes_none() {
        let link = CallerLink::new(true).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| link.write_input(&vec![b'x'; 3 * INPUT_BYTES_MAX]));
            let mut taken = 0;
            while taken < 3 * INPUT_BYTES_MAX {
                if let CallerInput::Bytes(bytes) = link.take_input() {
                    assert!(bytes.len() <= INPUT_BYTES_MAX);
                    taken += bytes.len();
                }
            }
            writer.join().unwrap().unwrap();
        });
        link.refuse_input();
        assert_eq!(link.write_input(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(CallerLink::new(false).unwrap().write_input(b"x").is_err());
    }
}
