//! Acts on a plan: starts it, waits for it, and cleans up. Decides nothing.

mod absent;
mod client;
mod container;
mod disk;
mod doctor;
mod files;
mod gvisor;
mod held;
mod hook;
mod image;
mod inline;
mod jail;
mod machine;
mod process;
mod remedy;
mod removal;
mod reserve;
mod scratch;
mod shown;
mod spec;
mod subject;
mod tree;
mod warm;
mod watch;

pub use container::{Containers, engines, reap};
pub use doctor::{Checkup, Diagnosis, Form, KnownFault, Prospect, diagnose};
pub use gvisor::{Gvisor, gvisor};
pub(crate) use hook::HookRunner;
pub use image::{Imported, import};
pub use jail::{Searched, search};
pub use machine::{hide_supervisor, probe};
pub(crate) use reserve::Drafted;
pub use reserve::Reserve;
pub use scratch::sweep;
pub use stockade_linux::{Hastened, Origin, Warmth, Yard, hasten};
pub use warm::Interpreters;

use crate::confine::{Confinement, Files, Network};
use crate::files::survey::Before;
use crate::guarantee::{Guarantee, Kept};
use crate::outcome::{Failure, Outcome};
use crate::plan::{self, Plan, ProgramPlan, not_in_this_version};
use crate::tier::Tier;

/// Says that the first box will most likely have this network: a keeper that was hastened makes its
/// namespaces meanwhile.
pub fn hasten_box(keeper: &Hastened, network: Network) {
    keeper.for_box(jail::network_of_box(network));
}

/// Starts what was planned, with what waits for it in the reserve. A plan is all it takes, and all
/// it accepts:
///
/// ```
/// use stockade::{launch, outcome::Failure, plan::Plan};
/// fn start(plan: Plan, reserve: &launch::Reserve) -> Result<launch::Running, Failure> {
///     launch::start(plan, reserve)
/// }
/// ```
///
/// ```compile_fail,E0308
/// use stockade::{call::ToolCall, launch, outcome::Failure};
/// fn start(plan: ToolCall, reserve: &launch::Reserve) -> Result<launch::Running, Failure> {
///     launch::start(plan, reserve)
/// }
/// ```
pub fn start(plan: Plan, reserve: &Reserve) -> Result<Running, Failure> {
    let done = |outcome| Running(Kind::Done(Box::new(outcome)));
    match plan.kind() {
        plan::Kind::Program(plan) => {
            reserve.interpreters.start(*plan, |plan| start_afresh(plan, reserve))
        }
        plan::Kind::Files(plan) => files::start(*plan).map(done),
        plan::Kind::Inline(plan) => Ok(done(inline::start(*plan))),
    }
}

/// Says that a program may run like this in the jail, if it is allowed: its box is made meanwhile, if
/// it is the first or none waits. What goes wrong is told when it is asked for. Its description is kept
/// as long as what this gives.
pub(crate) fn foresee(
    reserve: &Reserve,
    confinement: impl FnOnce() -> Option<Confinement>,
) -> Option<Drafted<'_>> {
    if reserve.yard.is_expecting() {
        return confinement().map(|confinement| reserve.foresee(&confinement));
    }
    reserve.yard.anticipate();
    None
}

/// How the folders are that a run may write: all of the project, where nothing is sure to keep it
/// from the rest.
fn look_before(plan: &ProgramPlan) -> Option<Before> {
    let Confinement { files: Files { root, write, watched, .. }, require, .. } = plan.confinement();
    let kept = require.get(&Guarantee::Writes).copied().unwrap_or(Kept::None);
    let is_kept = plan.tier() != Tier::Process && kept == Kept::Full;
    let mut write = write.clone();
    write.extend((!is_kept).then(|| root.clone()));
    Before::look(root, &write, *watched)
}

/// Starts the program itself, in its tier.
fn start_afresh(plan: ProgramPlan, reserve: &Reserve) -> Result<Running, Failure> {
    let before = look_before(&plan);
    Ok(Running(match plan.tier() {
        Tier::Jail => Kind::Held(Box::new(jail::start(plan, reserve)?), before),
        Tier::Process => Kind::Held(Box::new(process::start(plan)?), before),
        Tier::Container => {
            let contained = container::start(plan, &reserve.containers)?;
            Kind::Container(Box::new(contained), before)
        }
        Tier::Gvisor => Kind::Gvisor(Box::new(gvisor::start(plan)?), before),
        // No such plan can be made; if one ever is, it must not run in a weaker tier.
        tier @ (Tier::Inline | Tier::Microvm | Tier::Cluster) => {
            return Err(not_in_this_version(tier));
        }
    }))
}

/// A call that is running. Dropping it ends the whole tree, and removes its container.
#[derive(Debug)]
#[must_use = "a run that nobody waits for is ended"]
pub struct Running(Kind);

#[derive(Debug)]
enum Kind {
    /// A program, and how its folders were before.
    Held(Box<held::Held>, Option<Before>),
    /// The same in a container.
    Container(Box<container::Contained>, Option<Before>),
    /// The same on a kernel of its own.
    Gvisor(Box<gvisor::Sandboxed>, Option<Before>),
    /// Files were read or written already, or a closure has run.
    Done(Box<Outcome>),
}

impl Running {
    /// Waits for the end, keeps to the limits, and removes every trace. It is a failure if what was
    /// to start the program has failed.
    pub fn wait(self) -> Result<Outcome, Failure> {
        self.wait_and(&|| ())
    }

    /// The same, and does this meanwhile, once, if it takes so long that there is time.
    pub(crate) fn wait_and(self, at_leisure: &dyn Fn()) -> Result<Outcome, Failure> {
        let (mut outcome, before) = match self.0 {
            Kind::Held(held, before) => (held.wait(at_leisure), before),
            Kind::Container(contained, before) => (contained.wait(at_leisure)?, before),
            Kind::Gvisor(sandboxed, before) => (sandboxed.wait(at_leisure)?, before),
            Kind::Done(outcome) => return Ok(*outcome),
        };
        outcome.changes = before.map(Before::compare);
        Ok(outcome)
    }
}
