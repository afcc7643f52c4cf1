//! `stockade run` and `stockade shell`: one call, its streams as they come, its exit status.

use stockade::call::SessionName;
use stockade::{Canceller, Report, Running, Stockade, ToolCall};

use crate::args::{Common, Run, Shell};
use crate::exit_code::Status;
use crate::print::StdoutError;
use crate::session::{self, FrontEnd, Membership, supervised};
use crate::signals::{Hangup, Interrupts};
use crate::streams::InputPump;
use crate::terminal::RawInput;
use crate::{Answer, print, setup, streams, terminal};

/// Runs one program.
pub(crate) fn run(run: &Run) -> Answer {
    let call = ToolCall::exec(run.argv.clone());
    let input = if run.stdin { Input::Passed } else { Input::found() };
    let call = connected(call, run.tty, input);
    in_session(run.session.as_ref(), None, |place| {
        perform(&setup::stockade(&run.common, &[])?, call, &run.common, place.as_ref())
    })
}

/// Runs one shell line.
pub(crate) fn shell(shell: &Shell) -> Answer {
    let mut call = connected(ToolCall::line(shell.line.clone()), shell.tty, Input::found());
    call.background = shell.background;
    in_session(shell.session.as_ref(), shell.folder_fd, |mut place| {
        if let Some(place) = &mut place {
            place.is_optional = shell.answered.is_some();
        }
        let stockade = match shell.answered {
            Some(answered) => setup::hooked_stockade(&shell.common, answered)?,
            None => setup::stockade(&shell.common, &shell.only)?,
        };
        perform(&stockade, call, &shell.common, place.as_ref())
    })
}

/// The session of a call, and the front end that waits for it.
pub(crate) struct InSession<'a> {
    name: &'a SessionName,
    front_end: &'a FrontEnd,
    /// Whether the call runs without it, if it cannot be joined.
    is_optional: bool,
}

/// Makes a call here, or in a supervisor of its own if it has a session.
pub(crate) fn in_session(
    name: Option<&SessionName>,
    folder_fd: Option<u8>,
    work: impl FnOnce(Option<InSession<'_>>) -> Answer,
) -> Answer {
    match name {
        None => work(None),
        Some(name) => supervised(folder_fd, |front_end| {
            work(Some(InSession { name, front_end, is_optional: false }))
        }),
    }
}

/// Whether standard input is for the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    Passed,
    Kept,
}

impl Input {
    pub(crate) fn found() -> Self {
        if streams::has_input() { Self::Passed } else { Self::Kept }
    }
}

/// The call on a terminal of its own, or with standard input if that is for the program.
pub(crate) fn connected(call: ToolCall, tty: bool, input: Input) -> ToolCall {
    match (tty, input) {
        (true, _) => call.with_terminal(terminal::size()),
        (false, Input::Passed) => call.with_open_stdin(),
        (false, Input::Kept) => call,
    }
}

/// Runs a call with the streams of this process, and shows what became of it.
pub(crate) fn perform(
    stockade: &Stockade,
    call: ToolCall,
    common: &Common,
    place: Option<&InSession<'_>>,
) -> Answer {
    let mut call = setup::placed(call, common);
    if !common.json && streams::is_one_output() {
        call = call.with_merged_output();
    }
    let interrupts = Interrupts::watch(Hangup::End)?;
    let membership = match place {
        None => None,
        Some(InSession { name, front_end, .. }) => {
            front_end.interrupts(&interrupts)?;
            match Membership::join(stockade, &call, name) {
                Ok(membership) => {
                    call = call.in_session((*name).clone());
                    Some(membership)
                }
                // The agent has asked for the line and not for a session.
                Err(error) if place.is_some_and(|place| place.is_optional) => {
                    print::note(&format!(
                        "this line shares nothing with others: {}",
                        print::chain(&*error)
                    ));
                    None
                }
                Err(error) => return Err(error),
            }
        }
    };
    let begun = |canceller| interrupts.cancels(canceller);
    let Some(mut report) = make(stockade, call, common, membership.as_ref(), begun)? else {
        return Ok(Status::BROKEN_PIPE);
    };
    if let (Some(membership), Some(place)) = (membership, place) {
        membership.finish(&mut report, &place.front_end.waits);
        place.front_end.tell_folder(report.session_folder());
    }
    session::end_if_unsealed(stockade, &report);
    show(stockade, &report, common)?;
    Ok(interrupts.status().unwrap_or_else(|| Status::of(&report)))
}

/// Makes a call with the streams of this process; nothing if nobody reads the output any more. What cancels
/// it is told to `begun`, whose result is kept until the call is over.
pub(crate) fn make<G>(
    stockade: &Stockade,
    call: ToolCall,
    common: &Common,
    membership: Option<&Membership>,
    begun: impl FnOnce(Canceller) -> G,
) -> Result<Option<Report>, Box<dyn std::error::Error>> {
    let (has_input, has_terminal) = (call.streams.open_stdin, call.streams.terminal.is_some());
    match stockade.start(call) {
        Err(report) => Ok(Some(report)),
        Ok(running) => {
            let _until_the_end = begun(running.canceller());
            if let Some(membership) = membership {
                membership.cancels(running.canceller());
            }
            let is_streamed = is_streamed(stockade, common);
            Streams { has_input, has_terminal, is_streamed }.pass(running)
        }
    }
}

/// Shows what became of a call, besides the output that was shown as it came.
pub(crate) fn show(
    stockade: &Stockade,
    report: &Report,
    common: &Common,
) -> Result<(), StdoutError> {
    if common.json {
        return print::json(report);
    }
    if !is_streamed(stockade, common) {
        print::output(report)?;
    }
    print::ending(report, common.quiet);
    Ok(())
}

/// Whether output is shown as it comes: a report keeps the streams apart, and a hook may have to see all of
/// the output first.
fn is_streamed(stockade: &Stockade, common: &Common) -> bool {
    !common.json && !stockade.has_post_hooks()
}

/// How the streams of a call meet those of this process.
#[derive(Clone, Copy)]
struct Streams {
    has_input: bool,
    has_terminal: bool,
    is_streamed: bool,
}

impl Streams {
    /// Passes them on to the end of the call; nothing if nobody reads the output any more.
    fn pass(self, running: Running) -> Result<Option<Report>, Box<dyn std::error::Error>> {
        let _raw = self.has_terminal.then(RawInput::begin).transpose()?;
        if self.has_terminal {
            terminal::follow_size(running.terminal())?;
        }
        let end = if self.has_terminal { streams::END_OF_TRANSMISSION } else { b"" };
        let pump = self.has_input.then(|| InputPump::start(running.stdin_writer(), end));
        let _pump = pump.transpose()?;
        while let Some(event) = running.next_event() {
            match if self.is_streamed { print::event(&event) } else { Ok(()) } {
                Ok(()) => {}
                // As by SIGPIPE, the call ends.
                Err(error) if StdoutError::is_unwanted(&error) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(running.wait()))
    }
}
