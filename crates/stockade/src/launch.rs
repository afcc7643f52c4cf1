//! Acts on a plan: starts it, waits for it, and cleans up. Decides nothing.

mod absent;
mod doctor;
mod held;
mod jail;
mod machine;
mod process;
mod scratch;
mod watch;

pub use doctor::{Diagnosis, diagnose};
pub use machine::{hide_supervisor, probe};
pub use scratch::sweep;

use crate::outcome::{Failure, Outcome};
use crate::plan::{Plan, not_in_this_version};
use crate::tier::Tier;

/// Starts what was planned. A plan is all it takes, and all it accepts:
///
/// ```
/// use stockade::{launch, outcome::Failure, plan::Plan};
/// fn start(plan: Plan) -> Result<launch::Running, Failure> {
///     launch::start(plan)
/// }
/// ```
///
/// ```compile_fail,E0308
/// use stockade::{call::ToolCall, launch, outcome::Failure};
/// fn start(plan: ToolCall) -> Result<launch::Running, Failure> {
///     launch::start(plan)
/// }
/// ```
pub fn start(plan: Plan) -> Result<Running, Failure> {
    let held = match plan.tier() {
        Tier::Jail => jail::start(plan),
        Tier::Process => process::start(plan),
        // No such plan can be made; if one ever is, it must not run in a weaker tier.
        tier @ (Tier::Inline | Tier::Container | Tier::Gvisor | Tier::Microvm | Tier::Cluster) => {
            Err(not_in_this_version(tier))
        }
    };
    held.map(Running)
}

/// A call that is running. Dropping it ends the whole tree.
#[derive(Debug)]
#[must_use = "a run that nobody waits for is ended"]
pub struct Running(held::Held);

impl Running {
    /// Waits for the end, keeps to the limits, and removes every trace.
    pub fn wait(self) -> Outcome {
        self.0.wait()
    }
}
