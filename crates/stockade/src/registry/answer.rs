//! The answer of a tool: one JSON value on standard output, or an error.
//!
//! A tool only writes its output; the host writes the report.

use serde_json::Value;

use crate::json;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Outcome};
use crate::tier::Tier;

/// The exit code with which our Python wrapper reports that memory ran out.
pub(super) const OUT_OF_MEMORY: i32 = 71;
/// The most characters of an output or a log that are quoted.
const QUOTED_CHARS_MAX: usize = 200;

/// The answer in the output of a run, or an error that starts with its origin: `sandbox: ` if the
/// sandbox ended it, `tool error: ` if the tool failed.
pub fn answer(outcome: &Outcome) -> Result<Value, String> {
    if outcome.tier == Tier::Inline {
        return in_process(outcome);
    }
    if let Some(limit) = outcome.limit {
        return Err(format!("sandbox: {}", ended_by(limit)));
    }
    match outcome.exit {
        Exit::Code(0) => value_in(outcome),
        Exit::Code(OUT_OF_MEMORY) => Err(format!("sandbox: {}", ended_by(LimitHit::Memory))),
        Exit::Code(code) => Err(with_log(&format!("exit status {code}"), outcome)),
        Exit::Signal(signal) => Err(with_log(&format!("ended by signal {signal}"), outcome)),
        Exit::Unknown => Err("tool error: how it ended is unknown".to_owned()),
    }
}

/// The answer of a closure, which is JSON already.
fn in_process(outcome: &Outcome) -> Result<Value, String> {
    match (outcome.limit, outcome.exit) {
        (Some(limit), _) => Err(format!("in-process: {}", ended_by(limit))),
        (None, Exit::Code(0)) => {
            value_in(outcome).map_err(|why| why.replacen("tool error: ", "in-process: ", 1))
        }
        (None, _) => {
            let why = String::from_utf8_lossy(&outcome.stderr.bytes).into_owned();
            Err(format!("in-process: {why}"))
        }
    }
}

fn ended_by(limit: LimitHit) -> &'static str {
    match limit {
        LimitHit::Wall => "timeout",
        LimitHit::Cpu => "cpu",
        LimitHit::Memory => "memory",
        LimitHit::Processes => "processes",
        LimitHit::FileSize => "file size",
        LimitHit::Disk => "disk",
        LimitHit::Files => "files",
        LimitHit::Output => "output",
        LimitHit::Cancelled => "cancelled",
    }
}

fn value_in(outcome: &Outcome) -> Result<Value, String> {
    let written = &outcome.stdout;
    if written.dropped > 0 {
        let (seen, kept) = (written.seen, written.seen.saturating_sub(written.dropped));
        return Err(format!("tool error: its answer has {seen} bytes, and {kept} are taken"));
    }
    if written.bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(with_log("it answered nothing on standard output", outcome));
    }
    let value: Value = json::from_slice(&written.bytes).map_err(|error| {
        let quoted = quoted(&written.bytes);
        format!("tool error: its answer is not one JSON value: {error}: {quoted}")
    })?;
    if poses_as_report(&value) {
        return Err("tool error: its answer poses as a report of Stockade".to_owned());
    }
    Ok(value)
}

/// A caller that merges the answer into the report must not be fooled.
fn poses_as_report(value: &Value) -> bool {
    ["call", "exit_code", "decision", "enforcement"].iter().all(|field| value.get(field).is_some())
}

/// The error, with the last line of the log.
fn with_log(what: &str, outcome: &Outcome) -> String {
    let log = String::from_utf8_lossy(&outcome.stderr.bytes);
    let last = log.lines().rev().map(str::trim).find(|line| !line.is_empty());
    match last {
        Some(line) => format!("tool error: {what}: {}", quoted(line.as_bytes())),
        None => format!("tool error: {what}"),
    }
}

fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    format!("{text:?}")
}
