//! What happened to a call that ran. A non-zero exit is not our error.

mod failure;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

pub use self::failure::{Failure, FailureKind};
use crate::files::Changes;
use crate::guarantee::Enforced;
use crate::limits::LimitHit;
use crate::output::CapturedOutput;
use crate::tier::Tier;

/// All that is known about a run that took place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How the program ended.
    pub exit: Exit,
    /// The limit that ended it, known from evidence.
    pub limit: Option<LimitHit>,
    /// Standard output.
    pub stdout: CapturedOutput,
    /// Standard error.
    pub stderr: CapturedOutput,
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
    /// Processes that it left running in its session.
    pub left_running: Vec<LeftProcess>,
    /// Whether protected folders of git may still be written by a handle that its sandbox has passed on: they
    /// could not be made read-only when it ended.
    pub is_unsealed: bool,
}

/// A process that a call of a session has left running in its sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftProcess {
    /// Its process id in the sandbox.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// The TCP ports on which it listens; none if they are not known, because the process hides its open files.
    pub ports: Option<Vec<u16>>,
}

/// Something that a sandbox refused to a program, known from the mechanism that refused it or from what the
/// program printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The mechanism; "error message" if the program itself reported it.
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
    /// The working directory of the next call, if a line has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
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
