//! What the caller gets: refused, failed, or an outcome, as one JSON object.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use data_encoding::BASE64;
use serde::{Serialize, Serializer};

use crate::call::{CallId, Tool, ToolCall};
use crate::files::Change;
use crate::gate::{Refusal, Said, Settled};
use crate::guarantee::Enforced;
use crate::hooks::Spoken;
use crate::journal::record::Reply;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, Outcome};
use crate::output::Captured;
use crate::policy::{By, Decision, Ruling};

/// The exit code of a call that was refused: nothing was spawned.
pub const REFUSED_EXIT_CODE: i32 = -100;
/// The exit code of a call that the wall-clock deadline ended.
pub const TIMED_OUT_EXIT_CODE: i32 = -101;
/// The exit code of a call for a program that is not there.
pub const MISSING_EXIT_CODE: i32 = 127;

/// The answer to one call. Serialises as the report that the design fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The call's name.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The words that were asked for.
    pub argv: Vec<OsString>,
    /// From the call's arrival to this report.
    pub duration: Duration,
    /// What was decided, where a decision was reached.
    pub ruling: Option<Ruling>,
    /// What people were asked, and what they were not.
    pub questions: Questions,
    /// What became of it.
    pub body: Body,
    /// What hooks said about it.
    pub said: Said,
    /// The hooks that changed the output before anybody got it.
    pub redacted_by: Vec<String>,
}

/// The questions of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Questions {
    /// How many there were.
    pub asked: u32,
    /// How many there would have been without the box.
    pub spared: u32,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Reply>,
    /// By whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Questions {
    /// A question that was put.
    pub fn of(settled: &Settled) -> Self {
        let asked = u32::from(settled.answer != Reply::Nobody);
        Self { asked, spared: 0, answer: Some(settled.answer), by: settled.by.clone() }
    }
}

/// What became of a call. Three things that are never folded into one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// We said no.
    Refused(Refusal),
    /// We could not keep a promise, or there is no such program; it did not run.
    Failed(Failure),
    /// It ran.
    Ran(Box<Outcome>),
}

impl Report {
    /// The report on a call.
    pub fn new(call: Asked, duration: Duration, ruling: Option<Ruling>, body: Body) -> Self {
        let Asked { id, tool, argv } = call;
        let (said, redacted_by) = (Said::default(), Vec::new());
        let questions = Questions::default();
        Self { call: id, tool, argv, duration, ruling, questions, body, said, redacted_by }
    }

    /// The same report, with what people were asked.
    #[must_use]
    pub fn with_questions(mut self, questions: Questions) -> Self {
        self.questions = questions;
        self
    }

    /// The same, with what hooks said before the call.
    #[must_use]
    pub fn with_said(mut self, said: Said) -> Self {
        self.said = said;
        self
    }

    /// Whether the program ran and ended well.
    pub fn ok(&self) -> bool {
        self.exit_code() == Some(0) && !self.timed_out()
    }

    /// The code in the report: the program's own, or one of ours.
    pub fn exit_code(&self) -> Option<i32> {
        match &self.body {
            Body::Refused(_) => Some(REFUSED_EXIT_CODE),
            Body::Failed(failure) => failure.no_such_program.then_some(MISSING_EXIT_CODE),
            Body::Ran(_) if self.timed_out() => Some(TIMED_OUT_EXIT_CODE),
            Body::Ran(outcome) => match outcome.exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(signal) => Some(signal.saturating_add(128)),
                Exit::Unknown => None,
            },
        }
    }

    /// Whether the wall-clock deadline ended it.
    pub fn timed_out(&self) -> bool {
        matches!(&self.body, Body::Ran(outcome) if outcome.limit == Some(LimitHit::Wall))
    }

    /// Whether it was refused.
    pub fn denied(&self) -> bool {
        matches!(self.body, Body::Refused(_))
    }

    /// Whether output is missing.
    pub fn truncated(&self) -> bool {
        self.outcome()
            .is_some_and(|outcome| outcome.stdout.dropped > 0 || outcome.stderr.dropped > 0)
    }

    /// What happened, if it ran.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.body {
            Body::Ran(outcome) => Some(outcome),
            Body::Refused(_) | Body::Failed(_) => None,
        }
    }

    /// Why it did not end well, where that is ours to say.
    pub fn reason(&self) -> Option<String> {
        match &self.body {
            Body::Refused(refusal) => Some(refusal.reason.clone()),
            Body::Failed(failure) => Some(failure.message.clone()),
            Body::Ran(outcome) => outcome.limit.map(|limit| {
                let wall = outcome.usage.wall;
                match limit {
                    LimitHit::Wall => {
                        format!("wall-clock timeout after {:.1}s", wall.as_secs_f64())
                    }
                    LimitHit::Cpu
                    | LimitHit::Memory
                    | LimitHit::Processes
                    | LimitHit::FileSize
                    | LimitHit::Disk
                    | LimitHit::Files
                    | LimitHit::Output => format!("the {} limit was hit", limit.name()),
                }
            }),
        }
    }
}

/// What was asked for, as far as the report shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    id: CallId,
    tool: String,
    argv: Vec<OsString>,
}

impl From<ToolCall> for Asked {
    fn from(call: ToolCall) -> Self {
        let tool = call.tool.name().to_owned();
        let argv = match call.tool {
            Tool::Exec(exec) => exec.argv,
            Tool::Line(line) => vec![line.text],
            Tool::File(file) => {
                let path = file.path().map(|path| path.as_os_str().to_owned());
                file.pattern().map(OsString::from).into_iter().chain(path).collect()
            }
            Tool::Code(_) | Tool::Unknown(_) | Tool::Malformed(_) => Vec::new(),
        };
        Self { id: call.id, tool, argv }
    }
}

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the report's fields are fixed by the design")]
struct Wire<'a> {
    call: &'a str,
    tool: &'a str,
    argv: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argv_base64: Option<Vec<String>>,
    ok: bool,
    exit_code: Option<i32>,
    stdout: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_base64: Option<String>,
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_base64: Option<String>,
    truncated: bool,
    timed_out: bool,
    denied: bool,
    reason: Option<String>,
    instead: Option<&'a str>,
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
    denials: [(); 0],
    changes: Option<&'a [Change]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[Spoken]>::is_empty")]
    context: &'a [Spoken],
    #[serde(skip_serializing_if = "<[Spoken]>::is_empty")]
    messages: &'a [Spoken],
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a Spoken>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten: Option<WireRewritten<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    redacted_by: &'a [String],
}

#[derive(Serialize)]
struct WireRewritten<'a> {
    by: &'a str,
    /// What was asked for.
    argv: Vec<String>,
}

#[derive(Serialize)]
struct WireUsage {
    wall_ms: f64,
    cpu_ms: f64,
    peak_memory_bytes: Option<u64>,
    processes: Option<u32>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nothing = Captured::default();
        let (outcome, allowed) = (self.outcome(), self.ruling.as_ref());
        let (stdout, stderr) =
            outcome.map_or((&nothing, &nothing), |outcome| (&outcome.stdout, &outcome.stderr));
        let (refusal, failure) = match &self.body {
            Body::Refused(refusal) => (Some(refusal), None),
            Body::Failed(failure) => (None, Some(failure)),
            Body::Ran(_) => (None, None),
        };
        Wire {
            call: self.call.as_str(),
            tool: &self.tool,
            argv: self.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            argv_base64: exact_argv(&self.argv),
            ok: self.ok(),
            exit_code: self.exit_code(),
            stdout: lossy(stdout),
            stdout_base64: exact(stdout),
            stderr: lossy(stderr),
            stderr_base64: exact(stderr),
            truncated: self.truncated(),
            timed_out: self.timed_out(),
            denied: self.denied(),
            reason: self.reason(),
            instead: refusal.and_then(|refusal| refusal.instead.as_deref()),
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
            usage: outcome.map(|outcome| WireUsage {
                wall_ms: millis(outcome.usage.wall),
                cpu_ms: millis(outcome.usage.cpu),
                peak_memory_bytes: outcome.usage.peak_memory_bytes,
                processes: outcome.usage.processes,
            }),
            enforcement: outcome.map_or(&[], |outcome| &outcome.enforcement),
            denials: [],
            changes: outcome
                .and_then(|outcome| outcome.changes.as_ref())
                .map(|changes| changes.files.as_slice()),
            notes: outcome.map_or(&[], |outcome| &outcome.notes),
            context: &self.said.context,
            messages: &self.said.messages,
            stop: self.said.stop.as_ref(),
            rewritten: self.said.rewritten.as_ref().map(|one| WireRewritten {
                by: &one.by.name,
                argv: one.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            }),
            redacted_by: &self.redacted_by,
        }
        .serialize(serializer)
    }
}

fn lossy(stream: &Captured) -> String {
    String::from_utf8_lossy(&stream.bytes).into_owned()
}

/// The exact bytes, where the text is not.
fn exact(stream: &Captured) -> Option<String> {
    std::str::from_utf8(&stream.bytes).is_err().then(|| BASE64.encode(&stream.bytes))
}

fn exact_argv(argv: &[OsString]) -> Option<Vec<String>> {
    let is_text = argv.iter().all(|word| word.to_str().is_some());
    (!is_text).then(|| argv.iter().map(|word| BASE64.encode(word.as_bytes())).collect())
}

/// Milliseconds to two places.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}
