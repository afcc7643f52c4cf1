//! What happened to a call that ran. A non-zero exit is not our error.

use std::time::Duration;

use serde::Serialize;

use crate::files::Changes;
use crate::guarantee::Enforced;
use crate::limits::LimitHit;
use crate::output::Captured;
use crate::tier::Tier;

/// All that is known about a run that took place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How the program ended.
    pub exit: Exit,
    /// The limit that ended it, known from evidence.
    pub limit: Option<LimitHit>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// What it used.
    pub usage: Usage,
    /// The tier it ran in.
    pub tier: Tier,
    /// What kept each guarantee.
    pub enforcement: Vec<Enforced>,
    /// What its sandbox refused it, as far as that is known.
    pub denials: Vec<Denial>,
    /// What it changed, where that was looked at.
    pub changes: Option<Changes>,
    /// What went wrong around the run without touching it.
    pub notes: Vec<String>,
    /// The session that it ran in, if it ran in one.
    pub session: Option<SessionUse>,
}

/// Something that a sandbox refused to a program, known from the mechanism that refused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The mechanism.
    pub source: &'static str,
    /// The path that it was about.
    pub path: String,
    /// Why it was refused.
    pub reason: &'static str,
}

impl Denial {
    /// The creation of a protected path, which a seccomp notification told of.
    pub(crate) fn of_creation(path: &std::path::Path) -> Self {
        Self {
            source: "notification",
            path: path.to_string_lossy().into_owned(),
            reason: "creating it was refused (EPERM): the path is protected, because code runs from \
                     it later, outside of any sandbox",
        }
    }
}

/// What a call has of the session that it ran in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionUse {
    /// The session's name.
    pub name: String,
    /// Whether nothing of earlier calls was there: it is the first, or the session was lost.
    pub new: bool,
    /// How many calls it has had, this one included.
    pub calls: u64,
    /// Whether the next call will find what this one left.
    pub alive: bool,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It cannot be told: the process that watched it was lost.
    Unknown,
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// From start to end on the monotonic clock.
    pub wall: Duration,
    /// User and system time of every process that was waited for.
    pub cpu: Duration,
    /// The peak of the largest process.
    pub peak_memory_bytes: Option<u64>,
    /// The most processes at once, where something counted them.
    pub processes: Option<u32>,
}

/// Why a call that was allowed, or could not be judged, did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What was being done.
    pub step: String,
    /// The guarantee that could not be kept, where it is one.
    pub guarantee: Option<String>,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// There is no such program.
    #[serde(skip)]
    pub no_such_program: bool,
    /// It may go well another time: the machine was short of something.
    #[serde(skip)]
    pub transient: bool,
    /// The time of the call was up before its program was started.
    #[serde(skip)]
    pub is_late: bool,
}

impl Failure {
    /// A failure of a step.
    pub fn new(step: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            guarantee: None,
            message: message.into(),
            remedy: None,
            no_such_program: false,
            transient: false,
            is_late: false,
        }
    }

    /// A call whose time was up before its program was started.
    pub(crate) fn late() -> Self {
        let message = "the time was up before the program was started";
        Self { is_late: true, ..Self::new("look at the project", message) }
    }

    /// The same failure with what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// An error and all its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
