//! Acts on a plan: starts it, waits for it, and cleans up. Decides nothing.

mod absent;
mod disk;
mod doctor;
mod files;
mod held;
mod inline;
mod hook;
mod jail;
mod machine;
mod process;
mod remedy;
mod scratch;
mod spec;
mod tree;
mod watch;

pub use doctor::{Checkup, Diagnosis, Form, KnownFault, Prospect, diagnose};
pub(crate) use hook::HookRunner;
pub use jail::{Searched, search};
pub use machine::{hide_supervisor, probe};
pub use scratch::sweep;
pub use stockade_linux::{Origin, Warmth, Yard};

use crate::confine::Files;
use crate::files::survey::Before;
use crate::outcome::{Failure, Outcome};
use crate::plan::{self, Plan, not_in_this_version};
use crate::tier::Tier;

/// Starts what was planned, in a box of the yard if it is one. A plan is all it takes, and all it
/// accepts:
///
/// ```
/// use stockade::{launch, outcome::Failure, plan::Plan};
/// fn start(plan: Plan, yard: &launch::Yard) -> Result<launch::Running, Failure> {
///     launch::start(plan, yard)
/// }
/// ```
///
/// ```compile_fail,E0308
/// use stockade::{call::ToolCall, launch, outcome::Failure};
/// fn start(plan: ToolCall, yard: &launch::Yard) -> Result<launch::Running, Failure> {
///     launch::start(plan, yard)
/// }
/// ```
pub fn start(plan: Plan, yard: &Yard) -> Result<Running, Failure> {
    let plan = match plan.kind() {
        plan::Kind::Program(plan) => *plan,
        plan::Kind::Files(plan) => {
            return files::start(*plan).map(|outcome| Running(Kind::Done(Box::new(outcome))));
        }
        plan::Kind::Inline(plan) => {
            return Ok(Running(Kind::Done(Box::new(inline::start(*plan)))));
        }
    };
    let Files { root, write, watched, .. } = &plan.confinement().files;
    let before = Before::look(root, write, *watched);
    let held = match plan.tier() {
        Tier::Jail => jail::start(plan, yard),
        Tier::Process => process::start(plan),
        // No such plan can be made; if one ever is, it must not run in a weaker tier.
        tier @ (Tier::Inline | Tier::Container | Tier::Gvisor | Tier::Microvm | Tier::Cluster) => {
            Err(not_in_this_version(tier))
        }
    };
    held.map(|held| Running(Kind::Held(Box::new(held), before)))
}

/// A call that is running. Dropping it ends the whole tree.
#[derive(Debug)]
#[must_use = "a run that nobody waits for is ended"]
pub struct Running(Kind);

#[derive(Debug)]
enum Kind {
    /// A program, and how its folders were before.
    Held(Box<held::Held>, Option<Before>),
    /// Files were read or written already, or a closure has run.
    Done(Box<Outcome>),
}

impl Running {
    /// Waits for the end, keeps to the limits, and removes every trace.
    pub fn wait(self) -> Outcome {
        match self.0 {
            Kind::Held(held, before) => {
                let mut outcome = held.wait();
                outcome.changes = before.map(Before::compare);
                let unseen = outcome.changes.as_ref().and_then(|changes| changes.unseen.clone());
                outcome.notes.extend(unseen);
                outcome
            }
            Kind::Done(outcome) => *outcome,
        }
    }
}
