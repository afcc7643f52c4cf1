//! The whole pipeline on one screen.

mod after;
mod builder;
mod running;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use self::builder::{Builder, OpenError, default_journal};
pub use self::running::{Canceller, Running, StdinWriter, TerminalHandle};
use crate::call::ToolCall;
use crate::confine::{Network, Ports};
use crate::gate::HookMessages;
use crate::gate::{Gate, Permit, Retry, Verdict};
use crate::journal::EntryId;
use crate::journal::record::{self, Event};
use crate::launch::{
    self, CallerLink, FinishedRun, Interpreters, SandboxPool, Sessions, WarmState,
};
use crate::limits::LimitHit;
use crate::outcome::{Exit, Failure, Outcome, chain};
use crate::plan::Plan;
use crate::policy::{Policy, Ruling, hooks};
use crate::report::{Body, Questions, Report, RequestView};

/// Runs the calls of one project by one policy, and writes them into one journal.
///
/// A clone is another handle on the same: what waits in it ends with the last one, and with the last
/// call that runs.
#[derive(Debug, Clone)]
pub struct Stockade {
    gate: Arc<Gate>,
    warm: Arc<WarmState>,
}

/// A call that was allowed and is running.
struct BegunCall {
    account: Account,
    attempt: Attempt,
}

/// What a report says besides what became of the call.
struct Account {
    arrived: Instant,
    call: ToolCall,
    said: HookMessages,
    questions: Questions,
    ruling: Option<Ruling>,
    tried: u32,
    /// The working directory of its session, which is gone.
    gone: Option<PathBuf>,
}

/// One permit, spent.
struct Attempt {
    entry: EntryId,
    run: Result<launch::Run, Failure>,
    retry: Option<Retry>,
}

impl Stockade {
    /// Opens the project root and the journal, with everything else as [`Stockade::builder`] has it.
    pub fn open(root: &Path, policy: Policy, journal: &Path) -> Result<Self, OpenError> {
        Self::builder(root, policy).journal(journal).open()
    }

    /// Judges a call, asks if it must, runs it if it may, and reports: [`Self::start`] and then
    /// [`Running::wait`], but that this thread watches the run.
    pub fn run(&self, call: ToolCall) -> Report {
        match self.begin(call) {
            Ok(begun) => self.finish(begun, None),
            Err(report) => *report,
        }
    }

    /// Judges a call, asks if it must, and starts it if it may. A thread watches it from here on. What
    /// does not run has its report at once.
    #[expect(clippy::result_large_err, reason = "one for each call, and callers match on it")]
    pub fn start(&self, call: ToolCall) -> Result<Running, Report> {
        let begun = self.begin(call).map_err(|report| *report)?;
        Running::supervise(self, begun).map_err(|report| *report)
    }

    fn begin(&self, call: ToolCall) -> Result<BegunCall, Box<Report>> {
        let arrived = Instant::now();
        let (call, gone) = self.in_session_folder(call);
        let (verdict, said) = self.gate.judge_with_messages(&call);
        let call = said.rewritten.as_ref().map_or(call, |rewritten| rewritten.call.clone());
        let (questions, ruling) = (Questions::default(), None);
        let mut account = Account { arrived, call, said, questions, ruling, tried: 1, gone };
        let permit = match verdict {
            Verdict::Allowed(permit) => {
                account.questions.spared = u32::from(permit.is_spared());
                Ok(permit)
            }
            Verdict::Ask(question) => {
                let settled = self.gate.settle(*question);
                account.questions = Questions::of(&settled);
                settled.result.map_err(Body::Refused)
            }
            Verdict::Refused(refusal) => Err(Body::Refused(refusal)),
            Verdict::Impossible(failure) => Err(Body::Failed(failure)),
        };
        match permit {
            Err(body) => Err(Box::new(self.report(account, body))),
            Ok(permit) => {
                account.ruling = Some(permit.ruling().clone());
                let begun = BegunCall { account, attempt: self.launch(*permit) };
                let has_failed = begun.attempt.has_failed();
                if has_failed { Err(Box::new(self.finish(begun, None))) } else { Ok(begun) }
            }
        }
    }

    fn launch(&self, mut permit: Permit) -> Attempt {
        let (entry, retry) = (permit.entry(), permit.take_retry());
        let plan = Plan::new(permit, launch::probe());
        Attempt { entry, retry, run: plan.and_then(|plan| launch::start(plan, &self.warm)) }
    }

    /// Waits for the end, records it, and tries again where a tool may be tried again.
    fn finish(&self, begun: BegunCall, caller: Option<&CallerLink>) -> Report {
        let BegunCall { mut account, mut attempt } = begun;
        loop {
            let Attempt { entry, run, retry } = attempt;
            let body = self.record(&account, entry, run.and_then(|run| run.serve(caller)));
            match self.permit_again(retry, &body, caller) {
                Some(permit) => attempt = self.launch(*permit),
                None => return self.report(account, body),
            }
            account.tried = account.tried.saturating_add(1);
        }
    }

    /// Ends a call that was started and cannot go on.
    fn abandon(&self, begun: BegunCall, failure: Failure) -> Report {
        let BegunCall { account, attempt } = begun;
        drop(attempt.run);
        let body = self.record(&account, attempt.entry, Err(failure));
        self.report(account, body)
    }

    /// A permit for another attempt, if this one has failed for now.
    fn permit_again(
        &self,
        retry: Option<Retry>,
        body: &Body,
        caller: Option<&CallerLink>,
    ) -> Option<Box<Permit>> {
        let retry = retry.filter(|_| may_succeed_later(body))?;
        match caller {
            Some(caller) if !caller.pause(retry.pause()) => return None,
            Some(_) => {}
            None => std::thread::sleep(retry.pause()),
        }
        // Without a permit there is no attempt: the gate has recorded why.
        match self.gate.retry(retry) {
            Verdict::Allowed(permit) => Some(permit),
            Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
        }
    }

    fn record(
        &self,
        account: &Account,
        entry: EntryId,
        result: Result<FinishedRun, Failure>,
    ) -> Body {
        let call = account.call.id.to_string();
        let (result, session) = match result {
            Ok(FinishedRun { outcome, session }) => (Ok(outcome), session),
            Err(failure) => (Err(failure), None),
        };
        let event = match &result {
            Ok(outcome) => Event::Outcome(outcome_record(call, entry, outcome)),
            Err(failure) => Event::Failure(record::Failure {
                call,
                entry: entry.seq(),
                step: failure.step().to_owned(),
                guarantee: failure.guarantee().map(|guarantee| guarantee.to_string()),
            }),
        };
        let recorded = self.gate.journal().append(&event);
        match result {
            Ok(mut outcome) => {
                // It ran, but what happened is on no record: the caller has to know.
                let unrecorded = recorded.err().map(|error| chain(&error));
                outcome.notes.extend(
                    unrecorded.map(|why| format!("the outcome is not recorded: could not {why}")),
                );
                outcome.notes.extend(account.gone.as_ref().map(|gone| {
                    format!(
                        "the session's working directory {gone:?} is gone; the call ran in the root"
                    )
                }));
                if outcome.is_unsealed {
                    self.end_sessions(session, &mut outcome);
                } else if let Some(session) = session {
                    self.settle_session((&account.call, entry), session, &mut outcome);
                }
                Body::Ran(Box::new(outcome))
            }
            Err(failure) => Body::Failed(failure),
        }
    }

    /// The report on a call, after its hooks if it ran.
    fn report(&self, account: Account, body: Body) -> Report {
        let Account { arrived, call, said, questions, ruling, tried, gone: _ } = account;
        let is_registered = self.gate.examiner().registered(&call).is_some();
        let for_hooks = self.has_post_hooks().then(|| call.clone());
        let report = Report::new(RequestView::from(call), arrived.elapsed(), ruling, body);
        let report = report.with_questions(questions).with_said(said);
        let report = self.after(for_hooks.as_ref(), report);
        // Last, so that what hooks took out of the output is not in the answer either.
        if is_registered { report.with_answer(tried) } else { report }
    }

    /// Whether hooks are asked after a call, which may change or withhold its output. Output that
    /// [`Running`] hands out while the call runs has not been seen by them.
    pub fn has_post_hooks(&self) -> bool {
        self.gate.hooks().are_there(hooks::Event::Post)
    }

    /// Where its sandboxes wait.
    pub fn pool(&self) -> &SandboxPool {
        self.warm.pool()
    }

    /// Its interpreters that wait for any call.
    pub fn interpreters(&self) -> &Interpreters {
        self.warm.interpreters()
    }

    /// What calls of one session share, and what they have left running.
    pub fn sessions(&self) -> &Sessions {
        self.warm.sessions()
    }

    /// The ports that its calls open in the network of their session; none if they do not share that.
    pub fn session_ports(&self) -> Option<&Ports> {
        let policy = self.gate.examiner().policy();
        (policy.network == Network::Loopback).then_some(&policy.ports)
    }

    /// The real path of the project root.
    pub fn root(&self) -> &Path {
        self.gate.examiner().root().path()
    }

    /// Where the journal is.
    pub fn journal(&self) -> &Path {
        self.gate.journal().path()
    }
}

impl Attempt {
    /// Whether it was not started, and nothing comes of trying again.
    fn has_failed(&self) -> bool {
        let may_retry = |failure: &Failure| self.retry.is_some() && failure.is_transient();
        self.run.as_ref().is_err_and(|failure| !may_retry(failure))
    }
}

/// Whether another attempt may come to something else: it was too late, or says so itself.
fn may_succeed_later(body: &Body) -> bool {
    /// `EX_TEMPFAIL` of sysexits(3).
    const FOR_NOW: i32 = 75;
    match body {
        Body::Ran(outcome) => {
            outcome.limit == Some(LimitHit::Wall) || outcome.exit == Exit::Code(FOR_NOW)
        }
        Body::Failed(failure) => failure.is_transient(),
        Body::Refused(_) => false,
    }
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
