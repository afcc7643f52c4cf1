//! The report as JSON: its fields are fixed, and more may follow.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use data_encoding::BASE64;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Body, Questions, Report};
use crate::files::Change;
use crate::gate::RewrittenCall;
use crate::guarantee::Enforced;
use crate::hooks::HookMessage;
use crate::limits::LimitHit;
use crate::outcome::{Denial, Exit, Failure, LeftProcess, SessionUse, Usage};
use crate::output::CapturedOutput;
use crate::policy::{By, Decision};

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the report's fields are fixed by the design")]
struct Wire<'a> {
    call: &'a str,
    tool: &'a str,
    argv: Words<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argv_base64: Option<Vec<String>>,
    ok: bool,
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "is_one")]
    attempts: u32,
    stdout: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_base64: Option<String>,
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_base64: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    merged: bool,
    truncated: bool,
    timed_out: bool,
    denied: bool,
    reason: Option<String>,
    instead: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<u32>,
    duration_ms: f64,
    decision: Option<Decision>,
    by: Option<By>,
    rule: Option<&'a str>,
    source: Option<&'a str>,
    questions: &'a Questions,
    failure: Option<&'a Failure>,
    tier: Option<&'static str>,
    signal: Option<i32>,
    limit: Option<LimitHit>,
    usage: Option<WireUsage>,
    enforcement: &'a [Enforced],
    denials: &'a [Denial],
    changes: Option<&'a [Change]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unseen: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a SessionUse>,
    #[serde(skip_serializing_if = "<[LeftProcess]>::is_empty")]
    left_running: &'a [LeftProcess],
    #[serde(skip_serializing_if = "<[HookMessage]>::is_empty")]
    context: &'a [HookMessage],
    #[serde(skip_serializing_if = "<[HookMessage]>::is_empty")]
    messages: &'a [HookMessage],
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a HookMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten: Option<WireRewrite<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    redacted_by: &'a [String],
}

#[derive(Serialize)]
struct WireRewrite<'a> {
    by: &'a str,
    /// What was asked for.
    argv: Words<'a>,
}

/// Words as text. They are converted one by one, because there may be megabytes of them.
struct Words<'a>(&'a [OsString]);

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|word| word.to_string_lossy()))
    }
}

#[derive(Serialize)]
struct WireUsage {
    wall_ms: f64,
    cpu_ms: f64,
    peak_memory_bytes: Option<u64>,
    processes: Option<u32>,
}

impl<'a> WireRewrite<'a> {
    fn of(one: &'a RewrittenCall) -> Self {
        Self { by: &one.by.name, argv: Words(&one.words) }
    }
}

impl WireUsage {
    fn of(usage: &Usage) -> Self {
        Self {
            wall_ms: millis(usage.wall),
            cpu_ms: millis(usage.cpu),
            peak_memory_bytes: usage.peak_memory_bytes,
            processes: usage.processes,
        }
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nothing = CapturedOutput::default();
        let (outcome, allowed) = (self.outcome(), self.ruling.as_ref());
        let (stdout, stderr) =
            outcome.map_or((&nothing, &nothing), |outcome| (&outcome.stdout, &outcome.stderr));
        let (refusal, failure) = match &self.body {
            Body::Refused(refusal) => (Some(refusal), None),
            Body::Failed(failure) => (None, Some(failure)),
            Body::Ran(_) => (None, None),
        };
        let changes = outcome.and_then(|outcome| outcome.changes.as_ref());
        Wire {
            call: self.call.as_str(),
            tool: &self.tool,
            argv: Words(&self.argv),
            argv_base64: exact_argv(&self.argv),
            ok: self.ok(),
            exit_code: self.exit_code(),
            result: self.answer.as_ref().and_then(|answer| answer.as_ref().ok()),
            error: self
                .answer
                .as_ref()
                .and_then(|answer| answer.as_ref().err())
                .map(String::as_str),
            attempts: self.attempts,
            // What is the answer is not told twice.
            stdout: if matches!(self.answer, Some(Ok(_))) { String::new() } else { lossy(stdout) },
            stdout_base64: exact(stdout),
            stderr: lossy(stderr),
            stderr_base64: exact(stderr),
            merged: self.merged && outcome.is_some(),
            truncated: self.truncated(),
            timed_out: self.timed_out(),
            denied: self.denied(),
            reason: self.reason(),
            instead: refusal.and_then(|refusal| refusal.instead.as_deref()),
            repeated: refusal.and_then(|refusal| refusal.repeated),
            duration_ms: millis(self.duration),
            decision: refusal.map(|_| Decision::Deny).or(allowed.map(|ruling| ruling.decision)),
            by: refusal.map(|refusal| refusal.by).or(allowed.map(|ruling| ruling.by)),
            rule: refusal
                .map(|refusal| refusal.rule.as_str())
                .or(allowed.and_then(|ruling| ruling.rule.as_deref())),
            source: refusal
                .and_then(|refusal| refusal.source.as_deref())
                .or(allowed.and_then(|ruling| ruling.source.as_deref())),
            questions: &self.questions,
            failure,
            tier: outcome.map(|outcome| outcome.tier.name()),
            signal: outcome.and_then(|outcome| match outcome.exit {
                Exit::Signal(signal) => Some(signal),
                Exit::Code(_) | Exit::Unknown => None,
            }),
            limit: outcome.and_then(|outcome| outcome.limit),
            usage: outcome.map(|outcome| WireUsage::of(&outcome.usage)),
            enforcement: outcome.map_or(&[], |outcome| &outcome.enforcement),
            denials: outcome.map_or(&[], |outcome| &outcome.denials),
            changes: changes.map(|changes| changes.files.as_slice()),
            unseen: changes.map_or(&[], |changes| &changes.unseen),
            notes: outcome.map_or(&[], |outcome| &outcome.notes),
            session: outcome.and_then(|outcome| outcome.session.as_ref()),
            left_running: outcome.map_or(&[], |outcome| &outcome.left_running),
            context: &self.said.context,
            messages: &self.said.messages,
            stop: self.said.stop.as_ref(),
            rewritten: self.said.rewritten.as_deref().map(WireRewrite::of),
            redacted_by: &self.redacted_by,
        }
        .serialize(serializer)
    }
}

fn lossy(stream: &CapturedOutput) -> String {
    String::from_utf8_lossy(&stream.bytes).into_owned()
}

/// The exact bytes, where the text is not.
fn exact(stream: &CapturedOutput) -> Option<String> {
    std::str::from_utf8(&stream.bytes).is_err().then(|| BASE64.encode(&stream.bytes))
}

fn exact_argv(argv: &[OsString]) -> Option<Vec<String>> {
    let is_text = argv.iter().all(|word| word.to_str().is_some());
    (!is_text).then(|| argv.iter().map(|word| BASE64.encode(word.as_bytes())).collect())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Milliseconds to two places.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}
