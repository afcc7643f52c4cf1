//! How a hook fails. Every fault refuses, or withholds the output if the call has run.

use std::time::Duration;

use crate::limits::LimitHit;

/// Why a hook gave no answer that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It was not started: there is no such program or interpreter, or nothing runs commands here.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// Its files are not those that were there when the policy was read.
    #[error("its file {0} has changed since the policy was read")]
    Changed(String),
    /// It took too long, and was ended with all that it had started.
    #[error("it did not answer within {0:?}")]
    TimedOut(Duration),
    /// A signal ended it.
    #[error("signal {0} ended it")]
    Signal(i32),
    /// A limit ended it.
    #[error("it hit the {} limit", .0.name())]
    Limit(LimitHit),
    /// How it ended is not known.
    #[error("its keeper was lost")]
    Lost,
    /// It ended with a code that is neither 0 nor 2.
    #[error("it exited with {code}{}", told(stderr))]
    Code {
        /// The code.
        code: i32,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// It wrote more than is read.
    #[error("it wrote more than is read of a hook")]
    TooMuch,
    /// It began a JSON object that is none, or that says what no hook can say.
    #[error("its answer cannot be understood: {0}")]
    NotAReply(String),
    /// A closure panicked.
    #[error("it panicked")]
    Panicked,
    /// The call cannot be put into JSON as it is.
    #[error("it cannot be shown this call: {0}")]
    Unseen(String),
}

fn told(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}
