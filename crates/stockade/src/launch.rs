//! Acts on a plan: starts it, waits for it, and cleans up. Decides nothing.

mod absent;
mod agent_home;
mod caller;
mod client;
mod container;
mod disk;
mod doctor;
mod explain;
mod files;
mod git;
mod gvisor;
mod hook;
mod image;
mod inline;
mod interpreters;
mod jail;
mod machine;
mod own;
mod ports;
mod process;
mod remedy;
mod removal;
mod run;
mod sampler;
mod scratch;
mod session;
mod setup;
mod shown;
mod spec;
mod tree;
mod warm;
mod watch;

use std::time::Instant;

pub use agent_home::{AgentHome, AgentHomeError, installed_program};
pub(crate) use caller::CallerLink;
pub use caller::OutputEvent;
pub use container::{Containers, engines, reap};
pub use doctor::{Checkup, Diagnosis, Form, KnownFault, Prospect, diagnose};
pub use gvisor::{Gvisor, gvisor};
pub(crate) use hook::HookRunner;
pub use image::{ImportResult, import};
pub use interpreters::Interpreters;
pub use jail::{SearchResult, search};
pub use machine::{calls_at_once, hide_supervisor, probe};
pub use scratch::sweep;
pub use session::{
    FOLDER_LIMITS, FileIdentity, LeftCall, LeftEnd, LogRing, Session, Sessions, over_budget,
};
pub use stockade_sandbox::{
    FolderLimits, ForkSide, Origin, PeerDifference, PoolSize, SandboxPool, SessionSpace,
    SignalQueue, fork_supervisor, peer_difference, peer_uid, return_large_blocks, take_inherited,
};
pub use warm::WarmState;

use self::run::SupervisedRun;
pub(crate) use self::run::{FinishedRun, SessionResult};
pub(crate) use self::session::lower_network;
use crate::files::changes::Snapshot;
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, FailureKind, Outcome, Usage};
use crate::output::CapturedOutput;
use crate::plan::{self, FilesPlan, InlinePlan, Plan, ProgramPlan, not_in_this_version};
use crate::tier::Tier;

/// Starts what was planned, in what is warm if it can. A plan is all it takes, and all it accepts:
///
/// ```
/// use stockade::{launch, outcome::Failure, plan::Plan};
/// fn start(plan: Plan, warm: &launch::WarmState) -> Result<launch::Run, Failure> {
///     launch::start(plan, warm)
/// }
/// ```
///
/// ```compile_fail,E0308
/// use stockade::{call::ToolCall, launch, outcome::Failure};
/// fn start(plan: ToolCall, warm: &launch::WarmState) -> Result<launch::Run, Failure> {
///     launch::start(plan, warm)
/// }
/// ```
pub fn start(plan: Plan, warm: &WarmState) -> Result<Run, Failure> {
    Ok(Run(match plan.kind() {
        plan::Kind::Program(plan) => {
            let spent = plan.spent();
            let unstarted = unstarted(&plan);
            match warm.interpreters.start(*plan, &warm.sessions, |plan| start_afresh(plan, warm)) {
                Err(failure) if failure.is_late() => RunWork::Unstarted(Box::new(unstarted)),
                run => RunWork::Program(Box::new(run?.with_spent(spent))),
            }
        }
        plan::Kind::Files(plan) => RunWork::Files(plan),
        plan::Kind::Inline(plan) => RunWork::Inline(plan),
    }))
}

/// A call that was started. Dropping it ends the whole tree, and removes its container.
#[derive(Debug)]
#[must_use = "a run that nobody waits for is ended"]
pub struct Run(RunWork);

#[derive(Debug)]
enum RunWork {
    /// A program runs.
    Program(Box<SupervisedRun>),
    /// The call's time was up before its program was started.
    Unstarted(Box<Outcome>),
    /// Files are read or written by this process, while it is waited for.
    Files(Box<FilesPlan>),
    /// A closure of the host runs, while it is waited for.
    Inline(Box<InlinePlan>),
}

impl Run {
    /// Waits for the end, enforces the limits, and removes every trace. It is a failure if what was
    /// to start the program has failed.
    ///
    /// What a call of a session leaves running ends here, too.
    pub fn wait(self) -> Result<Outcome, Failure> {
        Ok(self.serve(None)?.outcome)
    }

    /// The same, serving a caller meanwhile, with what the session gets of the run.
    pub(crate) fn serve(self, caller: Option<&CallerLink>) -> Result<FinishedRun, Failure> {
        let outcome = match self.0 {
            RunWork::Program(run) => return run.wait(caller),
            RunWork::Unstarted(outcome) => *outcome,
            RunWork::Files(plan) => files::start(*plan)?,
            RunWork::Inline(plan) => inline::start(*plan)?,
        };
        if let Some(caller) = caller {
            caller.push(OutputEvent::Stdout(outcome.stdout.bytes.clone()));
            caller.push(OutputEvent::Stderr(outcome.stderr.bytes.clone()));
        }
        Ok(outcome.into())
    }
}

/// The outcome of a call whose time is up before its program was started.
fn unstarted(plan: &ProgramPlan) -> Outcome {
    let description = plan.description();
    let wall = description.deadline().unwrap_or_default();
    Outcome {
        exit: Exit::Unknown,
        limit: Some(LimitHit::Wall),
        stdout: CapturedOutput::default(),
        stderr: CapturedOutput::default(),
        usage: Usage { wall, ..Usage::default() },
        tier: plan.tier(),
        enforcement: description.enforcement.clone(),
        denials: Vec::new(),
        changes: None,
        notes: vec![
            "the program was not started: inspecting the call and looking at the project took all of \
             its time"
                .to_owned(),
        ],
        session: None,
        left_running: Vec::new(),
        is_unsealed: false,
    }
}

/// Records the folders that a run may write, if changes are to be reported.
fn snapshot(plan: &ProgramPlan) -> Option<Snapshot> {
    let survey = plan.description().survey()?;
    let rest = plan.until().saturating_duration_since(Instant::now());
    Snapshot::take(&survey.root, &survey.folders, survey.watched, rest)
}

/// Starts the program itself, in its tier.
fn start_afresh(plan: ProgramPlan, warm: &WarmState) -> Result<SupervisedRun, Failure> {
    let begun = Instant::now();
    let before = snapshot(&plan);
    let looked = begun.elapsed();
    if Instant::now() >= plan.until() {
        return Err(Failure::late());
    }
    let tier = plan.tier();
    if tier != Tier::Jail && plan.cleared().terminal.is_some() {
        let message = format!("the tier {tier} has no terminals");
        return Err(Failure::new(FailureKind::OpenTerminal, message)
            .with_remedy("leave --tty out, or use --tier jail"));
    }
    if tier != Tier::Jail && plan.cleared().session.is_some() {
        let message = format!("calls of a session share nothing in the tier {tier}");
        return Err(Failure::new(FailureKind::UseSession, message)
            .with_remedy("leave the session out, or use --tier jail"));
    }
    let mut run = match tier {
        Tier::Jail => jail::start(plan, warm)?,
        Tier::Process => process::start(plan)?,
        Tier::Container => container::start(plan, &warm.containers)?,
        Tier::Gvisor => gvisor::start(plan)?,
        // No such plan can be made; if one ever is, it must not run in a weaker tier.
        Tier::Inline | Tier::Microvm | Tier::Cluster => return Err(not_in_this_version(tier)),
    };
    run.before = before;
    // What a slow project takes of the call's time is the call's. What an engine takes to make a
    // container is not.
    let has_engine = matches!(tier, Tier::Container | Tier::Gvisor);
    let spent = if has_engine { looked } else { run.started.saturating_duration_since(begun) };
    Ok(run.with_spent(spent))
}

#[cfg(test)]
mod tests;
