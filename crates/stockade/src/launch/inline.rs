//! Closures of the host, applied: on a thread of their own, for no longer than their deadline.

use std::time::Instant;

use crate::gate::{InlineWork, Prepared};
use crate::limits::LimitHit;
use crate::outcome::{Exit, Outcome, Usage};
use crate::output::Captured;
use crate::plan::InlinePlan;
use crate::registry::{Endured, endure};

/// Runs what was planned. Its value is on standard output, as that of any other tool.
pub(super) fn start(plan: InlinePlan) -> Outcome {
    let (prepared, description) = plan.into_parts();
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let InlineWork { closure, input, .. } = cleared;
    let started = Instant::now();
    let (exit, limit, stdout, stderr) = match endure(&closure, input, confinement.limits.wall) {
        Endured::Value(value) => (Exit::Code(0), None, value.to_string(), String::new()),
        Endured::Failed(why) => (Exit::Code(1), None, String::new(), why),
        Endured::TooLate => (Exit::Unknown, Some(LimitHit::Wall), String::new(), String::new()),
    };
    Outcome {
        exit,
        limit,
        stdout: captured(stdout, confinement.limits.output.as_len()),
        stderr: captured(stderr, confinement.limits.output.as_len()),
        usage: Usage { wall: started.elapsed(), ..Usage::default() },
        tier,
        enforcement: description.enforcement,
        denials: Vec::new(),
        changes: None,
        notes: Vec::new(),
        session: None,
    }
}

fn captured(text: String, most: usize) -> Captured {
    let mut bytes = text.into_bytes();
    let seen = bytes.len();
    bytes.truncate(most);
    let dropped = u64::try_from(seen.saturating_sub(bytes.len())).unwrap_or(u64::MAX);
    Captured { bytes, seen: u64::try_from(seen).unwrap_or(u64::MAX), dropped }
}
