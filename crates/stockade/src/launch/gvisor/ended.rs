//! How a run on runsc ended: its own failures are in its log, which the program cannot write.

use std::ffi::OsStr;

use crate::json;
use crate::outcome::{Exit, Failure, FailureKind, Outcome};

/// The status with which runsc tells of its own failures; a program may have it too.
const OWN_FAILURE: i32 = 128;

/// Makes the end of runsc the program's, or tells what went wrong with it.
pub(super) fn settle(outcome: Outcome, log: &[u8], program: &OsStr) -> Result<Outcome, Failure> {
    match (outcome.exit, own_complaint(log)) {
        (Exit::Code(OWN_FAILURE), Some(why)) if is_before_start(&why) => {
            Err(not_started(&why, program))
        }
        (Exit::Code(OWN_FAILURE), Some(why)) => Err(died(&why)),
        (Exit::Code(_), _) => Ok(outcome),
        (Exit::Signal(signal), _) => Err(died(&format!("it was killed by signal {signal}"))),
        (Exit::Unknown, _) => Err(died("it was lost")),
    }
}

/// The last thing that runsc itself complained about: its log has a JSON object in each line.
fn own_complaint(log: &[u8]) -> Option<String> {
    let log = String::from_utf8_lossy(log);
    let error = |line: &str| {
        let entry: serde_json::Value = json::from_str(line).ok()?;
        let is_error = entry.get("level").and_then(serde_json::Value::as_str) == Some("error");
        let why = entry.get("msg").and_then(serde_json::Value::as_str).filter(|_| is_error)?;
        Some(why.chars().take(500).collect())
    };
    log.lines().rev().find_map(error)
}

fn is_before_start(why: &str) -> bool {
    ["creating container", "starting container", "reading spec"].iter().any(|at| why.contains(at))
}

fn not_started(why: &str, program: &OsStr) -> Failure {
    let is_missing =
        ["no such file or directory", "executable file not found", "not found in $PATH"];
    if is_missing.iter().any(|words| why.contains(words)) && why.contains("exec") {
        let message = format!("the box has no program {program:?}: {why}");
        return Failure::new(FailureKind::MissingProgram, message).with_remedy(
            "choose an image that has it (box.image), or none for this machine's programs",
        );
    }
    Failure::new(FailureKind::StartGvisor, format!("runsc could not start it: {why}"))
        .with_remedy("see what `runsc --network=none do true` says")
}

fn died(why: &str) -> Failure {
    Failure::new(
        FailureKind::RunGvisor,
        format!("runsc ended before the program did, which may have run in part: {why}"),
    )
    .with_remedy("see that nothing ends runsc (memory, a service's time limit), and call again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_of_runsc_itself_is_a_complaint() {
        let log = concat!(
            r#"{"msg":"a","level":"warning"}"#,
            "\n",
            r#"{"msg":"running container: starting container: x","level":"error"}"#,
        );
        let why = own_complaint(log.as_bytes()).unwrap();
        assert!(is_before_start(&why), "{why}");
        assert_eq!(own_complaint(br#"{"msg":"a","level":"warning"}"#), None);
        assert_eq!(own_complaint(b"level error, as a program might print it"), None);
    }
}
