//! What a box that is being made says to the host.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::Pid;

use crate::attest::Tested;
use crate::control::{Heard, Line, Patience};
use crate::keeper::boxed::gate;
use crate::keeper::step::Step;
use crate::keeper::wire::{Failure, Report, kind};
use crate::pidfd::process_of;
use crate::remains::Remains;
use crate::start::{At, StartError};

/// Whether a box still has the host's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum House {
    /// It has its own alone.
    Own,
    /// They are about to go.
    Leaving,
}

/// Waits until there is a first process: its id, unless it is gone already, and its pidfd; or the step
/// that failed.
pub(crate) fn hear_first(
    line: &Line,
    remains: &mut Remains,
) -> Result<(Option<Pid>, OwnedFd, House), StartError> {
    match line.hear(Patience::Generous).at(Step::HearKeeper)? {
        Heard::Message(Report { kind: kind::FORKED, .. }, Some(pidfd)) => {
            Ok((process_of(&pidfd).ok(), pidfd, House::Own))
        }
        Heard::Message(Report { kind: kind::LEAVING, .. }, Some(pidfd)) => {
            Ok((process_of(&pidfd).ok(), pidfd, House::Leaving))
        }
        Heard::Message(report, _) => Err(failed(report.step, report.errno)),
        Heard::Nothing => Err(StartError { step: Step::HearKeeper, errno: Errno::TIMEDOUT }),
        // A keeper that did not get as far as to make one tells so itself.
        Heard::Closed => Err(match remains.control.take() {
            Some(control) => hear_failure(&control, Step::HearFirst),
            None => StartError { step: Step::HearFirst, errno: Errno::PIPE },
        }),
    }
}

/// Waits until the host's folders are gone from a box.
pub(crate) fn hear_left(line: &Line, house: House) -> Result<(), StartError> {
    if house == House::Own {
        return Ok(());
    }
    match line.hear(Patience::Generous).at(Step::HearFirst)? {
        Heard::Message(Report { kind: kind::LEFT, .. }, _) => Ok(()),
        Heard::Message(report, _) => Err(failed(report.step, report.errno)),
        Heard::Nothing => Err(StartError { step: Step::HearFirst, errno: Errno::TIMEDOUT }),
        Heard::Closed => Err(StartError { step: Step::HearFirst, errno: Errno::PIPE }),
    }
}

/// The failed step that comes over a line; if none does, it is the silence of this one.
fn hear_failure(line: &Line, silence: Step) -> StartError {
    match line.hear(Patience::Generous) {
        Ok(Heard::Message(report, _)) if report.kind == kind::FAILED => {
            failed(report.step, report.errno)
        }
        Ok(_) => StartError { step: silence, errno: Errno::PIPE },
        Err(errno) => StartError { step: silence, errno },
    }
}

/// The step that has failed, if the first process has told of one: nothing can be seen of a box that is gone.
pub(crate) fn hear_first_failed(line: &Line) -> Option<StartError> {
    loop {
        match line.hear(Patience::None) {
            Ok(Heard::Message(report, _)) if report.kind == kind::FAILED => {
                return Some(failed(report.step, report.errno));
            }
            Ok(Heard::Message(..)) => {}
            Ok(Heard::Closed | Heard::Nothing) | Err(_) => return None,
        }
    }
}

/// Waits until the program is executed, or for the step that failed.
pub(crate) fn hear_executed(gate: &Line) -> Result<(), StartError> {
    match gate.hear_as(Failure::default(), Patience::Generous).at(Step::HearFirst)? {
        Heard::Message(said, _) => Err(failed(said.step, said.errno)),
        // Executed; or killed in the act, which the first process tells.
        Heard::Closed => Ok(()),
        Heard::Nothing => Err(StartError { step: Step::HearFirst, errno: Errno::TIMEDOUT }),
    }
}

/// Waits until the program's process has all its locks on, and for what it saw of them.
pub(crate) fn hear_ready(gate: &Line, line: &Line) -> Result<Tested, StartError> {
    match gate.hear_as(Failure::default(), Patience::Generous) {
        Ok(Heard::Message(said, _)) => {
            let landlock = match said.step {
                gate::READY => false,
                gate::READY_LANDLOCKED => true,
                _ => return Err(failed(said.step, said.errno)),
            };
            Ok(Tested { landlock, broker: said.errno == gate::BROKER_REFUSES })
        }
        // The first process tells what went wrong before.
        Ok(Heard::Closed) => Err(hear_failure(line, Step::HearFirst)),
        Ok(Heard::Nothing) => Err(StartError { step: Step::HearFirst, errno: Errno::TIMEDOUT }),
        Err(errno) => Err(StartError { step: Step::HearFirst, errno }),
    }
}

pub(crate) fn failed(step: u32, errno: i32) -> StartError {
    match Step::from_number(step) {
        Some(step) if (1..4096).contains(&errno) => {
            StartError { step, errno: Errno::from_raw_os_error(errno) }
        }
        Some(_) | None => StartError { step: Step::HearKeeper, errno: Errno::PROTO },
    }
}
