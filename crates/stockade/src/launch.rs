//! Acts on a plan: starts it, waits for it, and cleans up. Decides nothing.

mod absent;
mod client;
mod container;
mod disk;
mod doctor;
mod files;
mod git;
mod gvisor;
mod held;
mod hook;
mod image;
mod inline;
mod jail;
mod machine;
mod own;
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

use std::time::{Duration, Instant};

pub use container::{Containers, engines, reap};
pub use doctor::{Checkup, Diagnosis, Form, KnownFault, Prospect, diagnose};
pub use gvisor::{Gvisor, gvisor};
pub(crate) use hook::HookRunner;
pub use image::{Imported, import};
pub use jail::{Searched, search};
pub use machine::{calls_at_once, hide_supervisor, probe};
pub use reserve::Reserve;
pub use scratch::sweep;
pub use stockade_linux::{Origin, Warmth, Yard, return_large_blocks};
pub use warm::Interpreters;

use crate::confine::{Confinement, Files};
use crate::files::survey::Before;
use crate::guarantee::{Guarantee, Kept};
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, Outcome, Usage};
use crate::output::Captured;
use crate::plan::{self, Plan, ProgramPlan, not_in_this_version};
use crate::tier::{Description, Tier};

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
            let spent = plan.prepared().spent;
            let unstarted = unstarted(&plan);
            match reserve.interpreters.start(*plan, |plan| start_afresh(plan, reserve)) {
                Err(failure) if failure.is_late => Ok(done(unstarted)),
                running => Ok(running?.with_spent(spent)),
            }
        }
        plan::Kind::Files(plan) => files::start(*plan).map(done),
        plan::Kind::Inline(plan) => Ok(done(inline::start(*plan))),
    }
}

/// The outcome of a call whose time is up before its program was started.
fn unstarted(plan: &ProgramPlan) -> Outcome {
    let Description { enforcement, .. } = plan.description();
    Outcome {
        exit: Exit::Unknown,
        limit: Some(LimitHit::Wall),
        stdout: Captured::default(),
        stderr: Captured::default(),
        usage: Usage { wall: plan.confinement().limits.wall, ..Usage::default() },
        tier: plan.tier(),
        enforcement: enforcement.clone(),
        denials: Vec::new(),
        changes: None,
        notes: vec![
            "the program was not started: inspecting the call and looking at the project took all of \
             its time"
                .to_owned(),
        ],
        session: None,
    }
}

/// How the folders are that a run may write: all of the project, where nothing is sure to keep it
/// from the rest.
fn look_before(plan: &ProgramPlan) -> Option<Before> {
    let Confinement { files: Files { root, write, watched, .. }, require, .. } = plan.confinement();
    let kept = require.get(&Guarantee::Writes).copied().unwrap_or(Kept::None);
    let is_kept = plan.tier() != Tier::Process && kept == Kept::Full;
    let mut write = write.clone();
    write.extend((!is_kept).then(|| root.clone()));
    let rest = plan.until().saturating_duration_since(Instant::now());
    Before::look(root, &write, *watched, rest)
}

/// Starts the program itself, in its tier.
fn start_afresh(plan: ProgramPlan, reserve: &Reserve) -> Result<Running, Failure> {
    let begun = Instant::now();
    let before = look_before(&plan);
    let looked = begun.elapsed();
    if Instant::now() >= plan.until() {
        return Err(Failure::late());
    }
    let running = Running(match plan.tier() {
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
    });
    // What a slow project takes of the call's time is the call's. What an engine takes to make a
    // container is not.
    let before_it = match &running.0 {
        Kind::Held(held, _) => held.started.saturating_duration_since(begun),
        Kind::Container(..) | Kind::Gvisor(..) | Kind::Done(_) => looked,
    };
    Ok(running.with_spent(before_it))
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
    /// The same with so much less time, which went by before the program started.
    fn with_spent(mut self, spent: Duration) -> Self {
        match &mut self.0 {
            Kind::Held(held, _) => held.spend(spent),
            Kind::Container(contained, _) => contained.held.spend(spent),
            Kind::Gvisor(sandboxed, _) => sandboxed.held.spend(spent),
            Kind::Done(_) => {}
        }
        self
    }

    /// Waits for the end, keeps to the limits, and removes every trace. It is a failure if what was
    /// to start the program has failed.
    pub fn wait(self) -> Result<Outcome, Failure> {
        let (mut outcome, before) = match self.0 {
            Kind::Held(held, before) => (held.wait(), before),
            Kind::Container(contained, before) => (contained.wait()?, before),
            Kind::Gvisor(sandboxed, before) => (sandboxed.wait()?, before),
            Kind::Done(outcome) => return Ok(*outcome),
        };
        outcome.changes = before.map(Before::compare);
        Ok(outcome)
    }
}
