//! The whole pipeline on one screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::call::ToolCall;
use crate::gate::{Approver, Examiner, Gate, Permit, Verdict};
use crate::inspect::{Root, ViewError};
use crate::journal::record::{self, Event};
use crate::journal::{EntryId, Journal, JournalError};
use crate::launch::{self, Warmth, Yard};
use crate::outcome::{Exit, Failure, Outcome, chain};
use crate::plan::Plan;
use crate::policy::Policy;
use crate::report::{Asked, Body, Questions, Report};
use crate::tier::Tier;

/// How many boxes wait for a call, unless told.
const SPARES: usize = 1;

/// Runs the calls of one project by one policy, and writes them into one journal.
#[derive(Debug)]
pub struct Stockade {
    gate: Gate,
    yard: Yard,
}

impl Stockade {
    /// Opens the project root and the journal, and sweeps up after supervisors that were killed.
    pub fn open(root: &Path, policy: Policy, journal: &Path) -> Result<Self, OpenError> {
        let yard = Yard::new(Warmth::Warm { spares: SPARES });
        if policy.tier == Tier::Jail {
            yard.expect();
        }
        let root = Root::open(root).map_err(OpenError::Root)?;
        let journal = Journal::open(journal, policy.durability).map_err(OpenError::Journal)?;
        launch::sweep().map_err(OpenError::Scratch)?;
        let gate = Gate::new(Examiner::new(root, policy), journal);
        Ok(Self { gate, yard })
    }

    /// The same, with as much made in advance as this says. Unless told, a template and one box
    /// wait after the first call in a box, so that later ones are quicker.
    #[must_use]
    pub fn with_warmth(mut self, warmth: Warmth) -> Self {
        self.yard = self.yard.with_warmth(warmth);
        self
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
        let mut questions = Questions::default();
        let permit = match self.gate.judge(&call) {
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
        let (ruling, body) = match permit {
            Ok(permit) => (Some(permit.ruling().clone()), self.carry_out(*permit)),
            Err(body) => (None, body),
        };
        Report::new(Asked::from(call), started.elapsed(), ruling, body).with_questions(questions)
    }

    fn carry_out(&self, permit: Permit) -> Body {
        match self.execute(permit) {
            Ok(outcome) => Body::Ran(Box::new(outcome)),
            Err(failure) => Body::Failed(failure),
        }
    }

    /// Where its boxes wait.
    pub fn yard(&self) -> &Yard {
        &self.yard
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
        let result =
            Plan::new(permit, launch::probe()).and_then(|plan| launch::start(plan, &self.yard));
        let result = result.map(launch::Running::wait);
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
}

/// Where the journal is unless a path is given: `$XDG_STATE_HOME/stockade/journal.jsonl`.
pub fn default_journal() -> Option<PathBuf> {
    let state =
        std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(std::env::home_dir()?.join(".local/state")))?;
    Some(state.join("stockade/journal.jsonl"))
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
        timed_out: outcome.limit == Some(crate::limits::LimitHit::Wall),
        limit: outcome.limit.map(|limit| limit.name().to_owned()),
        wall: outcome.usage.wall,
        cpu: outcome.usage.cpu,
        peak_memory_bytes: outcome.usage.peak_memory_bytes,
        stdout_bytes: outcome.stdout.seen,
        stderr_bytes: outcome.stderr.seen,
        truncated: outcome.stdout.dropped > 0 || outcome.stderr.dropped > 0,
    }
}
