//! What the caller gets: refused, failed, or an outcome, as one JSON object.

mod wire;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::call::{CallId, Tool, ToolCall};
use crate::confine::Ports;
use crate::gate::{HookMessages, Refusal, Settlement};
use crate::journal::record::Reply;
use crate::launch::lower_network;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, Outcome};
use crate::policy::Ruling;
use crate::registry::answer::answer;

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
    /// Whether standard output and standard error were one, all of which is in `stdout`.
    pub merged: bool,
    /// From the call's arrival to this report.
    pub duration: Duration,
    /// What was decided, where a decision was reached.
    pub ruling: Option<Ruling>,
    /// What people were asked, and what they were not.
    pub questions: Questions,
    /// What became of it.
    pub body: Body,
    /// Whether something else than the caller has cancelled it, which a note in the outcome names.
    pub is_cancelled_by_other: bool,
    /// What hooks said about it.
    pub said: HookMessages,
    /// The hooks that changed the output before anybody got it.
    pub redacted_by: Vec<String>,
    /// What a registered tool answered, or what went wrong with that.
    pub answer: Option<Result<Value, String>>,
    /// How often it was tried.
    pub attempts: u32,
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
    pub fn of(settled: &Settlement) -> Self {
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
    pub fn new(call: RequestView, duration: Duration, ruling: Option<Ruling>, body: Body) -> Self {
        let RequestView { id, tool, argv, merged } = call;
        let (said, redacted_by) = (HookMessages::default(), Vec::new());
        let questions = Questions::default();
        Self {
            call: id,
            tool,
            argv,
            merged,
            duration,
            ruling,
            questions,
            body,
            is_cancelled_by_other: false,
            said,
            redacted_by,
            answer: None,
            attempts: 1,
        }
    }

    /// The same report, on a registered tool that was tried this often: what is in its output is its
    /// answer.
    #[must_use]
    pub fn with_answer(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self.answer = self.outcome().map(answer);
        self
    }

    /// The same report, with what people were asked.
    #[must_use]
    pub fn with_questions(mut self, questions: Questions) -> Self {
        self.questions = questions;
        self
    }

    /// The same, with what hooks said before the call.
    #[must_use]
    pub fn with_said(mut self, said: HookMessages) -> Self {
        self.said = said;
        self
    }

    /// Whether the program ran and ended well.
    pub fn ok(&self) -> bool {
        let is_whole = !self.timed_out() && !self.is_cancelled();
        self.exit_code() == Some(0) && is_whole && !matches!(self.answer, Some(Err(_)))
    }

    /// The code in the report: the program's own, or one of ours.
    pub fn exit_code(&self) -> Option<i32> {
        match &self.body {
            Body::Refused(_) => Some(REFUSED_EXIT_CODE),
            Body::Failed(failure) => failure.is_no_such_program().then_some(MISSING_EXIT_CODE),
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

    /// Whether the caller cancelled it while it ran.
    pub fn is_cancelled(&self) -> bool {
        self.outcome().is_some_and(|outcome| outcome.limit == Some(LimitHit::Cancelled))
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

    /// The working directory of the next call of its session, if this one has changed it.
    pub fn session_folder(&self) -> Option<&Path> {
        self.outcome()?.session.as_ref()?.cwd.as_deref()
    }

    /// Takes that directory out: another call has run at the same time.
    pub fn clear_session_folder(&mut self) {
        if let Body::Ran(outcome) = &mut self.body
            && let Some(session) = &mut outcome.session
        {
            session.cwd = None;
        }
    }

    /// The session that the call ran in.
    pub fn session_name(&self) -> Option<&str> {
        match &self.body {
            Body::Ran(outcome) => outcome.session.as_ref().map(|session| session.name.as_str()),
            Body::Refused(_) | Body::Failed(_) => None,
        }
    }

    /// Whether protected folders of git may still be written by a handle that its sandbox has passed on. Then
    /// whatever is left running in the project has to end.
    pub fn is_unsealed(&self) -> bool {
        match &self.body {
            Body::Ran(outcome) => outcome.is_unsealed,
            Body::Refused(_) | Body::Failed(_) => false,
        }
    }

    /// Notes what has cancelled it, if that was not the caller.
    pub fn note_cancelled_by(&mut self, what: &str) {
        if let Body::Ran(outcome) = &mut self.body
            && outcome.limit == Some(LimitHit::Cancelled)
        {
            outcome.notes.push(what.to_owned());
            self.is_cancelled_by_other = true;
        }
    }

    /// Notes ports that other calls of its session had open in its network while it ran.
    pub fn note_ports_of_others(&mut self, ports: &Ports) {
        if let Body::Ran(outcome) = &mut self.body
            && outcome.session.is_some()
        {
            lower_network(&mut outcome.enforcement, ports);
        }
    }

    /// Adds a note to the outcome, if the call ran.
    pub fn note(&mut self, what: &str) {
        if let Body::Ran(outcome) = &mut self.body {
            outcome.notes.push(what.to_owned());
        }
    }

    /// Why it did not end well, where that is ours to say.
    pub fn reason(&self) -> Option<String> {
        match &self.body {
            Body::Refused(refusal) => Some(refusal.reason.clone()),
            Body::Failed(failure) => Some(failure.message().to_owned()),
            Body::Ran(outcome) => outcome.limit.map(|limit| {
                let wall = outcome.usage.wall;
                match limit {
                    LimitHit::Wall => {
                        // From the start of the call, as the deadline counts.
                        let after = self.duration.max(wall).as_secs_f64();
                        format!(
                            "wall-clock timeout after {after:.1}s (limits.wall; a call can ask for \
                             up to limits.wall_max)"
                        )
                    }
                    LimitHit::Cpu
                    | LimitHit::Memory
                    | LimitHit::Processes
                    | LimitHit::FileSize
                    | LimitHit::Disk
                    | LimitHit::Files
                    | LimitHit::Output => format!("the {} limit was hit", limit.name()),
                    LimitHit::Cancelled => {
                        let by = if self.is_cancelled_by_other { "" } else { " by the caller" };
                        format!("cancelled{by} after {:.1}s", wall.as_secs_f64())
                    }
                }
            }),
        }
    }
}

/// What was asked for, as far as the report shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestView {
    id: CallId,
    tool: String,
    argv: Vec<OsString>,
    merged: bool,
}

impl From<ToolCall> for RequestView {
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
        Self { id: call.id, tool, argv, merged: call.streams.merged }
    }
}
