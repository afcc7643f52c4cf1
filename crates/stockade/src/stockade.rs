//! The whole pipeline on one screen.

mod after;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::ToolCall;
use crate::confine::state_folder;
use crate::gate::{Approver, Examiner, Gate, Permit, Verdict};
use crate::hooks::{Event as HookEvent, Reply, Session};
use crate::inspect::{Root, ViewError};
use crate::journal::record::{self, Event};
use crate::journal::{EntryId, Journal, JournalError};
use crate::launch::{self, Interpreters, Reserve, Warmth, Yard};
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, Outcome, chain};
use crate::plan::Plan;
use crate::policy::Policy;
use crate::policy::hook;
use crate::policy::tool::Attempts;
use crate::registry::{Duplicate, Registered};
use crate::report::{Asked, Body, Questions, Report};
use crate::tier::Tier;

/// How many boxes wait for a call, unless told.
const SPARES: usize = 1;

/// Runs the calls of one project by one policy, and writes them into one journal.
#[derive(Debug)]
pub struct Stockade {
    gate: Gate,
    reserve: Reserve,
}

impl Stockade {
    /// Opens the project root and the journal, and sweeps up after supervisors that were killed.
    ///
    /// A root that is or holds a home folder of the user is refused, because it would make keys and
    /// start-up files part of the project. A host that means it sets
    /// [`Policy::project_home`](Policy#structfield.project_home).
    pub fn open(root: &Path, policy: Policy, journal: &Path) -> Result<Self, OpenError> {
        let reserve = Reserve::new(Warmth::Warm { spares: SPARES }, policy.code_warm);
        let root = policy.open_root(root).map_err(OpenError::Root)?;
        let journal = Journal::open(journal, policy.durability).map_err(OpenError::Journal)?;
        launch::sweep().map_err(OpenError::Scratch)?;
        let tiers = policy.tools.iter().map(|tool| tool.declaration.tier);
        if tiers.chain([policy.tier]).any(|tier| tier == Tier::Container) {
            reserve.containers().reap_once(&policy.oci).map_err(OpenError::Containers)?;
        }
        Ok(Self { gate: gate(root, policy, journal), reserve })
    }

    /// The gate alone, for calls that somebody else runs ([`Gate::advise`]): nothing is made for a
    /// run, so that this is quick.
    pub fn adviser(root: &Path, policy: Policy, journal: &Path) -> Result<Gate, OpenError> {
        let root = policy.open_root(root).map_err(OpenError::Root)?;
        let journal = Journal::open(journal, policy.durability).map_err(OpenError::Journal)?;
        Ok(gate(root, policy, journal))
    }

    /// The same, with a closure that is asked about every call before it is decided about. It may
    /// refuse, ask, answer a question or rewrite the input; it lifts no refusal, and one that
    /// panics or hangs refuses.
    ///
    /// ```
    /// use stockade::hooks::Reply;
    /// use stockade::{Policy, Stockade, ToolCall};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let project = tempfile::tempdir()?;
    /// # let journal = project.path().join("journal.jsonl");
    /// let stockade = Stockade::open(project.path(), Policy::shipped(), &journal)?
    ///     .with_pre_hook("quiet", |event| match event.tool_input["argv"][0].as_str() {
    ///         Some("echo") => Reply::deny("nothing is said here"),
    ///         _ => Reply::silent(),
    ///     });
    /// let report = stockade.run(ToolCall::exec(["echo", "hello"]));
    /// assert_eq!(report.reason().as_deref(), Some("the hook \"quiet\" refuses this: nothing is said here"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_pre_hook(
        self,
        name: impl Into<String>,
        hook: impl Fn(&HookEvent) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.with_closure(hook::Event::Pre, name, hook)
    }

    /// The same, with a closure that is told of every call that ran. It may add context and take
    /// text out of the output that the caller gets.
    #[must_use]
    pub fn with_post_hook(
        self,
        name: impl Into<String>,
        hook: impl Fn(&HookEvent) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.with_closure(hook::Event::Post, name, hook)
    }

    /// The same, with what hooks are told of the session.
    #[must_use]
    pub fn with_session(self, session: Session) -> Self {
        let gate = self.gate.with_hooks(|hooks| hooks.with_session(session));
        Self { gate, ..self }
    }

    /// The same, with this much time for each closure among the hooks.
    #[must_use]
    pub fn with_hook_patience(self, patience: Duration) -> Self {
        let gate = self.gate.with_hooks(|hooks| hooks.with_patience(patience));
        Self { gate, ..self }
    }

    fn with_closure(
        self,
        event: hook::Event,
        name: impl Into<String>,
        hook: impl Fn(&HookEvent) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let gate = self.gate.with_hooks(|hooks| hooks.with_closure(event, name, hook));
        Self { gate, ..self }
    }

    /// The same, with as much made in advance as this says. Unless told, a template and one box
    /// wait after the first call in a box, and an interpreter after the first of its language, so
    /// that later ones are quicker.
    #[must_use]
    pub fn with_warmth(mut self, warmth: Warmth) -> Self {
        self.reserve = self.reserve.with_warmth(warmth);
        self
    }

    /// The same, with one more tool that can be called. A name that is there already is refused.
    pub fn with_tool(mut self, tool: Registered) -> Result<Self, Duplicate> {
        self.gate = self.gate.with_tool(tool)?;
        Ok(self)
    }

    /// The same, with somebody to ask where a call needs a yes. Without, such calls are refused.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.gate = self.gate.with_approver(approver);
        self
    }

    /// Judges a call, asks if it must, and runs it if it may.
    pub fn run(&self, call: ToolCall) -> Report {
        let started = Instant::now();
        let (verdict, said) = self.gate.judge_aloud(&call);
        let call = said.rewritten.as_ref().map_or(call, |rewritten| rewritten.call.clone());
        let mut questions = Questions::default();
        let permit = match verdict {
            Verdict::Allowed(permit) => {
                questions.spared = u32::from(permit.is_spared());
                Ok(permit)
            }
            Verdict::Ask(question) => {
                let settled = self.gate.settle(*question);
                questions = Questions::of(&settled);
                settled.result.map_err(Body::Refused)
            }
            Verdict::Refused(refusal) => Err(Body::Refused(refusal)),
            Verdict::Impossible(failure) => Err(Body::Failed(failure)),
        };
        let registered = self.gate.examiner().registered(&call);
        let attempts = registered.map_or(Attempts::ONE, |tool| tool.declaration.attempts);
        let is_registered = registered.is_some();
        let (ruling, (body, tried)) = match permit {
            Ok(permit) => (Some(permit.ruling().clone()), self.carry_out(*permit, attempts)),
            Err(body) => (None, (body, 1)),
        };
        let told = self.gate.hooks().are_there(hook::Event::Post).then(|| call.clone());
        let report = Report::new(Asked::from(call), started.elapsed(), ruling, body);
        let report = self.after(told.as_ref(), report.with_questions(questions).with_said(said));
        // Last, so that what hooks took out of the output is not in the answer either.
        if is_registered { report.with_answer(tried) } else { report }
    }

    /// Runs what a permit allows, as often as it may be tried.
    fn carry_out(&self, mut permit: Permit, attempts: Attempts) -> (Body, u32) {
        let mut tried = 1;
        loop {
            let another =
                if tried < attempts.most { permit.for_another_attempt() } else { Ok(None) };
            let body = match self.execute(permit) {
                Ok(outcome) => Body::Ran(Box::new(outcome)),
                Err(failure) => Body::Failed(failure),
            };
            match another {
                Ok(Some(another)) if may_go_well(&body) => permit = another,
                Ok(_) | Err(_) => return (body, tried),
            }
            std::thread::sleep(attempts.pause_after(tried));
            tried = tried.saturating_add(1);
        }
    }

    /// Where its boxes wait.
    pub fn yard(&self) -> &Yard {
        self.reserve.yard()
    }

    /// Its interpreters: those that wait, and sessions.
    pub fn interpreters(&self) -> &Interpreters {
        self.reserve.interpreters()
    }

    /// The real path of the project root.
    pub fn root(&self) -> &Path {
        self.gate.examiner().root().path()
    }

    /// Where the journal is.
    pub fn journal(&self) -> &Path {
        self.gate.journal().path()
    }

    fn execute(&self, permit: Permit) -> Result<Outcome, Failure> {
        let entry = permit.entry();
        let call = permit.call().to_string();
        let result = Plan::new(permit, launch::probe())
            .and_then(|plan| launch::start(plan, &self.reserve))
            .and_then(launch::Running::wait);
        let event = match &result {
            Ok(outcome) => Event::Outcome(outcome_record(call, entry, outcome)),
            Err(failure) => Event::Failure(record::Failure {
                call,
                entry: entry.seq(),
                step: failure.step.clone(),
                guarantee: failure.guarantee.clone(),
            }),
        };
        let recorded = self.gate.journal().append(&event);
        result.map(|mut outcome| {
            // It ran, but what happened is on no record: the caller has to know.
            let unrecorded = recorded.err().map(|error| chain(&error));
            outcome.notes.extend(
                unrecorded.map(|why| format!("the outcome is not recorded: could not {why}")),
            );
            outcome
        })
    }
}

/// The gate of a project, with what runs its hooks.
fn gate(root: Root, policy: Policy, journal: Journal) -> Gate {
    let runner = Arc::new(launch::HookRunner::new(root.path(), &policy));
    let gate = Gate::new(Examiner::new(root, policy), journal);
    gate.with_hooks(|hooks| hooks.with_runner(runner))
}

/// Whether another attempt may come to something else: it was too late, or says so itself.
fn may_go_well(body: &Body) -> bool {
    /// `EX_TEMPFAIL` of sysexits(3).
    const FOR_NOW: i32 = 75;
    match body {
        Body::Ran(outcome) => {
            outcome.limit == Some(LimitHit::Wall) || outcome.exit == Exit::Code(FOR_NOW)
        }
        Body::Failed(failure) => failure.transient,
        Body::Refused(_) => false,
    }
}

/// Why a Stockade cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The project root.
    #[error(transparent)]
    Root(ViewError),
    /// The journal.
    #[error(transparent)]
    Journal(JournalError),
    /// The folder for scratch folders.
    #[error("open the folder for scratch folders")]
    Scratch(#[source] std::io::Error),
    /// Containers that a supervisor has left.
    #[error("remove containers that were left: {}", .0.message)]
    Containers(Failure),
}

/// Where the journal is unless a path is given: `$XDG_STATE_HOME/stockade/journal.jsonl`.
pub fn default_journal() -> Option<PathBuf> {
    Some(state_folder()?.join("journal.jsonl"))
}

fn outcome_record(call: String, entry: EntryId, outcome: &Outcome) -> record::Outcome {
    let (exit_code, signal) = match outcome.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    };
    record::Outcome {
        call,
        entry: entry.seq(),
        tier: outcome.tier.to_string(),
        exit_code,
        signal,
        timed_out: outcome.limit == Some(LimitHit::Wall),
        limit: outcome.limit.map(|limit| limit.name().to_owned()),
        wall: outcome.usage.wall,
        cpu: outcome.usage.cpu,
        peak_memory_bytes: outcome.usage.peak_memory_bytes,
        stdout_bytes: outcome.stdout.seen,
        stderr_bytes: outcome.stderr.seen,
        truncated: outcome.stdout.dropped > 0 || outcome.stderr.dropped > 0,
    }
}
