//! Asks hooks: all that are for a call, at once, each within its own time.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::input::Seen;
use super::{Closure, Done, Event, Fault, Heard, Hooks, Reply, Runner, Voice, wire};
use crate::call::CallId;
use crate::policy::hook::{self, HookCommand};
use crate::policy::rule::Facts;

/// How many hooks run at once for one call.
const AT_ONCE_MAX: usize = 8;

/// A call that hooks are asked about.
#[derive(Debug)]
pub struct Occasion<'a> {
    /// Before or after.
    pub event: hook::Event,
    /// The forms of the call, its own first.
    pub forms: &'a [Seen],
    /// Where it runs.
    pub cwd: PathBuf,
    /// The mode, by the name that coding agents use.
    pub permission_mode: &'static str,
    /// Its name.
    pub call: &'a CallId,
    /// What became of it.
    pub done: Option<Done>,
    /// What it shows to rules, where any hook asks for that. Without, every condition holds.
    pub facts: Option<&'a Facts>,
}

enum Task<'h> {
    Command { command: &'h HookCommand, runner: Option<&'h dyn Runner> },
    Closure(Arc<Closure>),
}

struct Job<'h> {
    voice: Voice,
    task: Task<'h>,
    event: Arc<Event>,
    timeout: Duration,
}

impl Hooks {
    /// Asks all hooks that are for this call, but for these.
    pub fn ask(&self, occasion: &Occasion<'_>, except: &BTreeSet<Voice>) -> Vec<Heard> {
        let events: Vec<(&str, Arc<Event>)> = occasion
            .forms
            .iter()
            .map(|seen| (seen.tool.as_ref(), Arc::new(self.event(occasion, seen))))
            .collect();
        let mut jobs = self.command_jobs(occasion, &events);
        jobs.extend(self.closure_jobs(occasion, &events));
        // Two of one name cannot be told apart, so that neither is passed over.
        let alike = |voice: &Voice| jobs.iter().filter(|job| job.voice == *voice).count();
        let except: Vec<&Voice> = except.iter().filter(|voice| alike(voice) < 2).collect();
        jobs.retain(|job| !except.contains(&&job.voice));
        heard(jobs)
    }

    /// The names of the commands that would be asked about a call of one of these tools.
    pub fn names_for(&self, event: hook::Event, tools: &[&str]) -> Vec<String> {
        let is_for = |one: &&crate::policy::Hook| {
            one.event == event && tools.iter().any(|tool| one.matcher.is_for(tool))
        };
        self.commands.iter().filter(is_for).map(|one| one.name.clone()).collect()
    }

    fn event(&self, occasion: &Occasion<'_>, seen: &Seen) -> Event {
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

    /// The same command is run once, within the shortest of its times, under its first name.
    fn command_jobs<'h>(
        &'h self,
        occasion: &Occasion<'_>,
        events: &[(&str, Arc<Event>)],
    ) -> Vec<Job<'h>> {
        let mut jobs: Vec<(&HookCommand, Job<'h>)> = Vec::new();
        let holds = |hook: &crate::policy::Hook| match (&hook.condition, occasion.facts) {
            (Some(condition), Some(facts)) => condition.may_hold(facts),
            (Some(_) | None, _) => true,
        };
        for hook in self.commands.iter().filter(|hook| hook.event == occasion.event) {
            let form = events.iter().find(|(tool, _)| hook.matcher.is_for(tool));
            let Some((_, event)) = form.filter(|_| holds(hook)) else { continue };
            let voice = Voice { name: hook.name.clone(), source: hook.source.clone() };
            let same = jobs
                .iter_mut()
                .find(|(command, job)| **command == hook.command && Arc::ptr_eq(&job.event, event));
            if let Some((_, job)) = same {
                job.timeout = job.timeout.min(hook.timeout);
                job.voice = job.voice.clone().min(voice);
                continue;
            }
            let runner = self.runner.as_deref();
            let task = Task::Command { command: &hook.command, runner };
            let (event, timeout) = (Arc::clone(event), hook.timeout);
            jobs.push((&hook.command, Job { voice, task, event, timeout }));
        }
        jobs.into_iter().map(|(_, job)| job).collect()
    }

    fn closure_jobs<'h>(
        &'h self,
        occasion: &Occasion<'_>,
        events: &[(&str, Arc<Event>)],
    ) -> Vec<Job<'h>> {
        let own = events.first().map(|(_, event)| event);
        let inner = self.closures.iter().filter(|inner| inner.event == occasion.event);
        let job = |inner: &super::Inner| {
            Some(Job {
                voice: inner.voice.clone(),
                task: Task::Closure(Arc::clone(&inner.closure)),
                event: Arc::clone(own?),
                timeout: self.patience,
            })
        };
        inner.filter_map(job).collect()
    }
}

/// Does all jobs, several at a time. This thread is one of those that do, so that none is left
/// undone where no other can be started.
fn heard(jobs: Vec<Job<'_>>) -> Vec<Heard> {
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

impl Job<'_> {
    fn done(self) -> Heard {
        let Self { voice, task, event, timeout } = self;
        let result = match task {
            Task::Closure(closure) => asked(closure, event, timeout),
            Task::Command { runner: None, .. } => {
                Err(Fault::NotStarted("commands are not run by this program".to_owned()))
            }
            Task::Command { command, runner: Some(runner) } => {
                let input = event.to_json().to_string().into_bytes();
                let ran = runner.run(command, input, timeout);
                ran.and_then(|ran| wire::read(event.event, &ran))
            }
        };
        Heard { voice, result }
    }
}

/// Asks a closure in a thread of its own: one that hangs is left behind, and has said nothing.
fn asked(closure: Arc<Closure>, event: Arc<Event>, timeout: Duration) -> Result<Reply, Fault> {
    let on = event.event;
    let (sender, receiver) = sync_channel(1);
    let ask = move || {
        let reply = catch_unwind(AssertUnwindSafe(|| closure(&event)));
        // Nobody listens any more if it comes too late.
        drop(sender.send(reply));
    };
    let started = std::thread::Builder::new().name("hook".to_owned()).spawn(ask);
    if let Err(error) = started {
        return Err(Fault::NotStarted(error.to_string()));
    }
    match receiver.recv_timeout(timeout) {
        Ok(Ok(reply)) => reply.capped().fitting(on).map_err(Fault::NotAReply),
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(Fault::Panicked),
        Err(RecvTimeoutError::Timeout) => Err(Fault::TimedOut(timeout)),
    }
}
