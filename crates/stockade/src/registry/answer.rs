//! What a tool answered: one JSON value on standard output, or a clean error.
//!
//! A tool writes its output and nothing else; the report is made by the host, from what it saw.

use serde_json::Value;

use crate::json;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Outcome};
use crate::tier::Tier;

/// How the lines of ours that call a Python function end when memory runs out.
pub(super) const OUT_OF_MEMORY: i32 = 71;
/// What is quoted of an output or a log.
const QUOTED_CHARS_MAX: usize = 200;

/// The answer in what a run left, or what went wrong in words that begin with whose fault it is:
/// `sandbox: ` for what the box ended, `tool error: ` for what the tool did.
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
        Exit::Unknown => Err("tool error: nobody knows how it ended".to_owned()),
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

/// A caller that merges an answer with the report must not be fooled by it.
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
