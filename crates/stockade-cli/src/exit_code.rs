//! The exit status of `stockade` itself, as a type.

use std::process::ExitCode;

use stockade::Report;
use stockade::report::Body;

/// What the shell sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// All went as asked.
    Ok,
    /// Something was looked for and found wanting: a bad journal, a demo that came out otherwise.
    Unexpected,
    /// `hook`: the call must not be made.
    Blocked,
    /// `check`: a person must say.
    Ask,
    /// The deadline ended the run.
    TimedOut,
    /// Stockade failed.
    Failed,
    /// Refused.
    Refused,
    /// No such program.
    Missing,
    /// The program's own code, or 128 and its signal.
    Program(u8),
}

impl Status {
    /// Nobody reads the output any more: 128 and `SIGPIPE`.
    pub(crate) const BROKEN_PIPE: Self = Self::Program(141);

    /// The status for a report.
    pub(crate) fn of(report: &Report) -> Self {
        match &report.body {
            Body::Refused(_) => Self::Refused,
            Body::Failed(failure) if failure.is_no_such_program() => Self::Missing,
            Body::Failed(_) => Self::Failed,
            Body::Ran(_) if report.timed_out() => Self::TimedOut,
            Body::Ran(_) => match report.exit_code().and_then(|code| u8::try_from(code).ok()) {
                Some(code) => Self::Program(code),
                None => Self::Failed,
            },
        }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unexpected => 1,
            Self::Blocked => 2,
            Self::Ask => 3,
            Self::TimedOut => 124,
            Self::Failed => 125,
            Self::Refused => 126,
            Self::Missing => 127,
            Self::Program(code) => code,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}
