//! Runs the hooks that match a call, at the same time, each with its own time limit. A hook that
//! fails denies the call, or withholds the output of a call that has run.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::input::ToolForm;
use super::{CallResult, Event, HookClosure, HookId, HookResult, Hooks, Reply, Runner, wire};
use crate::call::CallId;
use crate::limits::LimitHit;
use crate::policy::hooks::{self, HookCommand};
use crate::policy::rules::Facts;

/// The most hooks that run at once for one call.
const AT_ONCE_MAX: usize = 8;

/// A call, for its hooks.
#[derive(Debug)]
pub struct HookQuery<'a> {
    /// Before or after.
    pub event: hooks::Event,
    /// The forms of the call, its own first.
    pub forms: &'a [ToolForm],
    /// The working directory.
    pub cwd: PathBuf,
    /// The mode, by the name that coding agents use.
    pub permission_mode: &'static str,
    /// The id of the call.
    pub call: &'a CallId,
    /// The result, after the call.
    pub done: Option<CallResult>,
    /// The facts for conditions. Without them, every condition holds.
    pub facts: Option<&'a Facts>,
}

enum HookTask<'h> {
    Command { command: &'h HookCommand, runner: Option<&'h dyn Runner> },
    HookClosure(Arc<HookClosure>),
}

struct HookJob<'h> {
    hook_id: HookId,
    task: HookTask<'h>,
    event: Arc<Event>,
    timeout: Duration,
}

impl Hooks {
    /// Runs all hooks that match this call, except for these.
    pub fn ask(&self, occasion: &HookQuery<'_>, except: &BTreeSet<HookId>) -> Vec<HookResult> {
        let events: Vec<(&str, Arc<Event>)> = occasion
            .forms
            .iter()
            .map(|seen| (seen.tool.as_ref(), Arc::new(self.event(occasion, seen))))
            .collect();
        let mut jobs = self.command_jobs(occasion, &events);
        jobs.extend(self.closure_jobs(occasion, &events));
        // Two hooks with the same identity cannot be told apart, so neither is skipped.
        let alike = |hook_id: &HookId| jobs.iter().filter(|job| job.hook_id == *hook_id).count();
        let except: Vec<&HookId> = except.iter().filter(|hook_id| alike(hook_id) < 2).collect();
        jobs.retain(|job| !except.contains(&&job.hook_id));
        heard(jobs)
    }

    /// The names of the commands that would run for a call of one of these tools.
    pub fn names_for(&self, event: hooks::Event, tools: &[&str]) -> Vec<String> {
        let is_for = |one: &&crate::policy::Hook| {
            one.event == event && tools.iter().any(|tool| one.matcher.is_for(tool))
        };
        self.commands.iter().filter(is_for).map(|one| one.name.clone()).collect()
    }

    fn event(&self, occasion: &HookQuery<'_>, seen: &ToolForm) -> Event {
        Event {
            event: occasion.event,
            session: Arc::clone(&self.session),
            cwd: occasion.cwd.clone(),
            permission_mode: occasion.permission_mode,
            tool_name: seen.tool.clone().into_owned(),
            tool_input: seen.input.clone(),
            tool_use_id: occasion.call.clone(),
            done: occasion.done.clone(),
        }
    }

    /// Runs identical commands once, with the shortest of their time limits, under the first name.
    fn command_jobs<'h>(
        &'h self,
        occasion: &HookQuery<'_>,
        events: &[(&str, Arc<Event>)],
    ) -> Vec<HookJob<'h>> {
        let mut jobs: Vec<(&HookCommand, HookJob<'h>)> = Vec::new();
        let holds = |hook: &crate::policy::Hook| match (&hook.condition, occasion.facts) {
            (Some(condition), Some(facts)) => condition.may_hold(facts),
            (Some(_) | None, _) => true,
        };
        for hook in self.commands.iter().filter(|hook| hook.event == occasion.event) {
            let form = events.iter().find(|(tool, _)| hook.matcher.is_for(tool));
            let Some((_, event)) = form.filter(|_| holds(hook)) else { continue };
            let hook_id = HookId { name: hook.name.clone(), source: hook.source.clone() };
            let same = jobs
                .iter_mut()
                .find(|(command, job)| **command == hook.command && Arc::ptr_eq(&job.event, event));
            if let Some((_, job)) = same {
                job.timeout = job.timeout.min(hook.timeout);
                job.hook_id = job.hook_id.clone().min(hook_id);
                continue;
            }
            let runner = self.runner.as_deref();
            let task = HookTask::Command { command: &hook.command, runner };
            let (event, timeout) = (Arc::clone(event), hook.timeout);
            jobs.push((&hook.command, HookJob { hook_id, task, event, timeout }));
        }
        jobs.into_iter().map(|(_, job)| job).collect()
    }

    fn closure_jobs<'h>(
        &'h self,
        occasion: &HookQuery<'_>,
        events: &[(&str, Arc<Event>)],
    ) -> Vec<HookJob<'h>> {
        let own = events.first().map(|(_, event)| event);
        let inner = self.closures.iter().filter(|inner| inner.event == occasion.event);
        let job = |inner: &super::ClosureHook| {
            Some(HookJob {
                hook_id: inner.hook_id.clone(),
                task: HookTask::HookClosure(Arc::clone(&inner.closure)),
                event: Arc::clone(own?),
                timeout: self.patience,
            })
        };
        inner.filter_map(job).collect()
    }
}

/// Runs all jobs, several at a time. The calling thread works too, so that all jobs run even if no
/// thread can be started.
fn heard(jobs: Vec<HookJob<'_>>) -> Vec<HookResult> {
    let others = jobs.len().min(AT_ONCE_MAX).saturating_sub(1);
    let queue = Mutex::new(jobs.into_iter());
    let answers = Mutex::new(Vec::new());
    let work = || {
        loop {
            let job = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(job) = job else { break };
            let answer = job.done();
            answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..others {
            let named = std::thread::Builder::new().name("hook".to_owned());
            if named.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    answers.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl HookJob<'_> {
    fn done(self) -> HookResult {
        let Self { hook_id, task, event, timeout } = self;
        let result = match task {
            HookTask::HookClosure(closure) => asked(closure, event, timeout),
            HookTask::Command { runner: None, .. } => {
                Err(HookFault::NotStarted("commands are not run by this program".to_owned()))
            }
            HookTask::Command { command, runner: Some(runner) } => {
                let input = event.to_json().to_string().into_bytes();
                let ran = runner.run(command, input, timeout);
                ran.and_then(|ran| wire::read(event.event, &ran))
            }
        };
        HookResult { hook_id, result }
    }
}

/// Runs a closure on a thread of its own. If it hangs, its thread is left behind.
fn asked(
    closure: Arc<HookClosure>,
    event: Arc<Event>,
    timeout: Duration,
) -> Result<Reply, HookFault> {
    let on = event.event;
    let (sender, receiver) = sync_channel(1);
    let ask = move || {
        let reply = catch_unwind(AssertUnwindSafe(|| closure(&event)));
        // The receiver is gone if the reply comes too late.
        drop(sender.send(reply));
    };
    let started = std::thread::Builder::new().name("hook".to_owned()).spawn(ask);
    if let Err(error) = started {
        return Err(HookFault::NotStarted(error.to_string()));
    }
    match receiver.recv_timeout(timeout) {
        Ok(Ok(reply)) => reply.capped().fitting(on).map_err(HookFault::NotAReply),
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(HookFault::Panicked),
        Err(RecvTimeoutError::Timeout) => Err(HookFault::TimedOut(timeout)),
    }
}

/// Why a hook gave no usable reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookFault {
    /// It could not be started: the program or interpreter is missing, or nothing runs commands
    /// here.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// Its files have changed since the policy was read.
    #[error("its file {0} has changed since the policy was read")]
    Changed(String),
    /// It exceeded its time limit and was killed with its process tree.
    #[error("it did not answer within {0:?}")]
    TimedOut(Duration),
    /// A signal ended it.
    #[error("signal {0} ended it")]
    Signal(i32),
    /// A limit ended it.
    #[error("it hit the {} limit", .0.name())]
    Limit(LimitHit),
    /// How it ended is not known.
    #[error("its shim was lost")]
    Lost,
    /// It exited with a code that is neither 0 nor 2.
    #[error("it exited with {code}{}", told(stderr))]
    Code {
        /// The code.
        code: i32,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// It wrote more than the limit.
    #[error("it wrote more than is read of a hook")]
    TooMuch,
    /// Its output starts like a JSON object and is not a valid reply.
    #[error("its answer cannot be understood: {0}")]
    NotAReply(String),
    /// A closure panicked.
    #[error("it panicked")]
    Panicked,
    /// The call cannot be shown as JSON.
    #[error("it cannot be shown this call: {0}")]
    Unseen(String),
}

fn told(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}
