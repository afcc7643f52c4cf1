//! A call that runs, in the hands of the caller: to read, to write to, to cancel, to wait for.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{self, SendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{BegunCall, Stockade};
use crate::call::{CallId, TerminalSize};
use crate::launch::{CallerLink, OutputEvent};
use crate::outcome::{Failure, FailureKind};
use crate::report::Report;

/// A call that runs under a thread of its own, which enforces its limits and records its end whether
/// or not the caller does anything. Dropping it cancels the call and waits until nothing of it runs.
///
/// Output comes as the program writes it. Of what nobody reads, 256 KiB wait; then the program's pipe
/// fills and the program waits, while its deadline goes on. The report has head and tail of both
/// streams as always.
///
/// ```
/// use stockade::{OutputEvent, Policy, Stockade, ToolCall};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let project = tempfile::tempdir()?;
/// # let journal = project.path().join("journal.jsonl");
/// let stockade = Stockade::open(project.path(), Policy::shipped(), &journal)?;
/// let call = ToolCall::exec(["cat"]).with_open_stdin();
/// let running = stockade.start(call).map_err(|report| format!("{report:?}"))?;
///
/// running.write_stdin(b"hello\n")?;
/// assert_eq!(running.next_event(), Some(OutputEvent::Stdout(b"hello\n".to_vec())));
/// running.close_stdin();
/// assert_eq!(running.next_event(), None);
/// assert!(running.wait().ok());
/// # Ok(())
/// # }
/// ```
///
/// A call that was cancelled is reported as what it is:
///
/// ```
/// # use stockade::{Policy, Stockade, ToolCall};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let project = tempfile::tempdir()?;
/// # let journal = project.path().join("journal.jsonl");
/// # let stockade = Stockade::open(project.path(), Policy::shipped(), &journal)?;
/// let running = stockade.start(ToolCall::exec(["sleep", "60"])).map_err(|report| format!("{report:?}"))?;
/// running.cancel();
/// let report = running.wait();
/// assert!(report.is_cancelled() && !report.ok());
/// assert!(report.reason().is_some_and(|reason| reason.starts_with("cancelled by the caller")));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a call that is dropped is cancelled"]
pub struct Running {
    call: CallId,
    link: Arc<CallerLink>,
    supervisor: Option<JoinHandle<Option<Report>>>,
}

/// Cancels a call from elsewhere, such as a handler of signals.
#[derive(Debug, Clone)]
pub struct Canceller(Arc<CallerLink>);

impl Canceller {
    /// Ends the call, if it still runs.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// Writes to the standard input of a call from another thread. Dropping it ends the input.
#[derive(Debug)]
pub struct StdinWriter(Arc<CallerLink>);

impl io::Write for StdinWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_input(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for StdinWriter {
    fn drop(&mut self) {
        self.0.close_input();
    }
}

/// The terminal of a call, for another thread.
#[derive(Debug, Clone)]
pub struct TerminalHandle(Arc<CallerLink>);

impl TerminalHandle {
    /// Sets its size.
    pub fn resize(&self, size: TerminalSize) {
        self.0.resize(size);
    }
}

impl Running {
    /// Starts the thread that watches a call.
    pub(super) fn supervise(stockade: &Stockade, begun: BegunCall) -> Result<Self, Box<Report>> {
        let call = begun.account.call.id.clone();
        let link = match CallerLink::new(begun.account.call.has_open_stdin()) {
            Ok(link) => Arc::new(link),
            Err(error) => return Err(Box::new(stockade.abandon(begun, unsupervised(&error)))),
        };
        let (send, receive) = mpsc::channel();
        let (own, watcher) = (Arc::clone(&link), stockade.clone());
        let spawned = thread::Builder::new().name("stockade-call".to_owned()).spawn(move || {
            let _end = EndOfOutput(&own);
            receive.recv().ok().map(|begun| watcher.finish(begun, Some(&own)))
        });
        let supervisor = match spawned {
            Ok(supervisor) => supervisor,
            Err(error) => return Err(Box::new(stockade.abandon(begun, unsupervised(&error)))),
        };
        match send.send(begun) {
            Ok(()) => Ok(Self { call, link, supervisor: Some(supervisor) }),
            Err(SendError(begun)) => {
                let gone = io::Error::other("its thread has ended");
                Err(Box::new(stockade.abandon(begun, unsupervised(&gone))))
            }
        }
    }

    /// The call's id, as in the report and the journal.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Waits for the next piece of output. `None` is the end: the call is over.
    pub fn next_event(&self) -> Option<OutputEvent> {
        self.link.next_event(None)
    }

    /// The same, but waits no longer than this; [`Self::is_over`] tells the end from a silence.
    pub fn next_event_within(&self, patience: Duration) -> Option<OutputEvent> {
        self.link.next_event(Instant::now().checked_add(patience))
    }

    /// All pieces of output from here on.
    pub fn events(&self) -> impl Iterator<Item = OutputEvent> + '_ {
        std::iter::from_fn(|| self.next_event())
    }

    /// Whether the call is over, so that [`Self::wait`] waits no more.
    pub fn is_over(&self) -> bool {
        self.supervisor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Writes to the program's standard input, which has to be open:
    /// [`ToolCall::with_open_stdin`](crate::ToolCall::with_open_stdin). Waits while the program leaves
    /// more than 64 KiB unread; fails once it reads no more.
    pub fn write_stdin(&self, bytes: &[u8]) -> io::Result<()> {
        self.link.write_input(bytes)
    }

    /// The program's terminal: [`ToolCall::with_terminal`](crate::ToolCall::with_terminal).
    pub fn terminal(&self) -> TerminalHandle {
        TerminalHandle(Arc::clone(&self.link))
    }

    /// Ends the program's standard input, after what was written.
    pub fn close_stdin(&self) {
        self.link.close_input();
    }

    /// The same for another thread, until it drops the writer.
    pub fn stdin_writer(&self) -> StdinWriter {
        StdinWriter(Arc::clone(&self.link))
    }

    /// Ends the call: its whole tree is killed, and its report says that it was cancelled. One that has
    /// ended by itself stays as it is, and so does a file tool, which is not interrupted.
    pub fn cancel(&self) {
        self.link.cancel();
    }

    /// The same for other threads.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.link))
    }

    /// Ends standard input, drops output that was not read, and waits for the report.
    ///
    /// # Panics
    ///
    /// If the thread that watches the call has panicked.
    pub fn wait(mut self) -> Report {
        self.link.close_input();
        self.link.stop_reading();
        match self.supervisor.take().map(JoinHandle::join) {
            Some(Ok(Some(report))) => report,
            Some(Err(panic)) => resume_unwind(panic),
            Some(Ok(None)) | None => resume_unwind(Box::new("a call without a supervisor")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            self.link.cancel();
            self.link.stop_reading();
            // A panic there has been printed, and nothing of the call is left either way.
            let _panicked = supervisor.join().is_err();
        }
    }
}

/// Tells the reader that no more comes, also after a panic.
struct EndOfOutput<'a>(&'a CallerLink);

impl Drop for EndOfOutput<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

fn unsupervised(error: &io::Error) -> Failure {
    Failure::new(FailureKind::Supervise, format!("no thread can watch it: {error}"))
}
