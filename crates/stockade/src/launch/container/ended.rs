//! How a container ended: told from the engine's record of it, never guessed from a number.

use std::ffi::OsStr;

use serde_json::Value;

use crate::confine::EngineName;
use crate::launch::client::complaint;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, FailureKind, Outcome};

/// What an engine knows of the end of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// Its program was never started.
    NeverStarted,
    /// Its program ended.
    Ended {
        code: i32,
        /// The kernel killed something in it for want of memory.
        is_out_of_memory: bool,
    },
    /// It is still running, or nothing is known.
    Unknown,
}

impl Record {
    /// Reads the state of a container.
    pub(super) fn of(seen: Option<&Value>) -> Self {
        let Some(state) = seen.and_then(|seen| seen.get("State")) else { return Self::Unknown };
        let text = |key: &str| state.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("StartedAt").starts_with("0001-") {
            return Self::NeverStarted;
        }
        let is_over = ["exited", "stopped", "dead"].contains(&text("Status"));
        let code = state.get("ExitCode").and_then(Value::as_i64);
        match code.and_then(|code| i32::try_from(code).ok()).filter(|_| is_over) {
            Some(code) => {
                let is_out_of_memory =
                    state.get("OOMKilled").and_then(Value::as_bool).unwrap_or_default();
                Self::Ended { code, is_out_of_memory }
            }
            None => Self::Unknown,
        }
    }
}

/// Makes the client's end the program's, or tells what went wrong with the engine.
pub(super) fn settle(
    mut outcome: Outcome,
    record: Record,
    engine: EngineName,
    program: &OsStr,
) -> Result<Outcome, Failure> {
    if outcome.limit.is_some() {
        return Ok(outcome);
    }
    match (outcome.exit, record) {
        (Exit::Code(told), Record::Ended { code, is_out_of_memory }) if told == code => {
            if is_out_of_memory {
                const KILLED: i32 = 128 + 9;
                if code == KILLED {
                    outcome.exit = Exit::Signal(9);
                    outcome.limit = Some(LimitHit::Memory);
                } else {
                    let note = "the kernel killed one of its processes for want of memory";
                    outcome.notes.push(note.to_owned());
                }
            }
            Ok(outcome)
        }
        (_, Record::NeverStarted) => Err(not_started(&outcome, engine, program)),
        (exit, _) => Err(died(exit, &outcome, engine)),
    }
}

/// The program was not started: the image lacks it, or the engine could not.
fn not_started(outcome: &Outcome, engine: EngineName, program: &OsStr) -> Failure {
    const NOT_FOUND: Exit = Exit::Code(127);
    const NOT_EXECUTABLE: Exit = Exit::Code(126);
    // Nothing of the program has run, so that these are the engine's own words.
    let why = complaint(&outcome.stderr.bytes);
    let is_said = why.contains("executable file not found") || why.contains("no such file");
    if outcome.exit == NOT_FOUND || (is_said && why.contains("exec")) {
        let message = format!("the image has no program {program:?}: {why}");
        return Failure::new(FailureKind::MissingProgram, message)
            .with_remedy("choose an image that has it (box.image), or name its path in the image");
    }
    let name = engine.name();
    let message = if outcome.exit == NOT_EXECUTABLE {
        format!("{program:?} of the image cannot be executed: {why}")
    } else {
        format!("{name} could not start the container: {why}")
    };
    Failure::new(FailureKind::StartContainer, message).with_remedy(format!(
        "see what `{name} info` says, and whether `{name} run` works by itself"
    ))
}

/// The engine, or what it watches containers with, ended before the program.
pub(super) fn died(exit: Exit, outcome: &Outcome, engine: EngineName) -> Failure {
    let name = engine.name();
    let how = match exit {
        Exit::Code(code) => format!("ended with status {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::Unknown => "was lost".to_owned(),
    };
    let said = if outcome.stderr.bytes.is_empty() {
        String::new()
    } else {
        format!(": {}", complaint(&outcome.stderr.bytes))
    };
    Failure::new(
        FailureKind::RunContainer,
        format!(
            "{name} {how} before the program did, which may have run in part; the container was \
             killed and removed{said}"
        ),
    )
    .with_remedy(format!(
        "see that nothing ends {name} (memory, a service's time limit), and call again"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_from_the_state_alone() {
        let state = |text: &str| {
            let seen: Value = serde_json::from_str(&format!("{{\"State\":{text}}}")).unwrap();
            Record::of(Some(&seen))
        };
        let created = r#"{"Status":"created","StartedAt":"0001-01-01T00:00:00Z","ExitCode":127}"#;
        assert_eq!(state(created), Record::NeverStarted);
        let ended = r#"{"Status":"exited","StartedAt":"2026-01-01T00:00:00Z","ExitCode":127}"#;
        assert_eq!(state(ended), Record::Ended { code: 127, is_out_of_memory: false });
        let running = r#"{"Status":"running","StartedAt":"2026-01-01T00:00:00Z","ExitCode":0}"#;
        assert_eq!((state(running), Record::of(None)), (Record::Unknown, Record::Unknown));
    }
}
