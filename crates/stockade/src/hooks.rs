//! Hooks: commands and closures that run before a call is decided and after it has run.
//!
//! A hook can deny a call, ask a person, answer a question, or rewrite the input, which is then
//! inspected again. It cannot lift a refusal. A hook that fails denies the call. Among several
//! hooks the strictest wins, in any order. Commands speak the protocol of coding agents:
//! `docs/hooks.md`.

mod combine;
mod event;
pub mod input;
mod reply;
mod run;
pub mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use combine::{Opinion, PostResult, PreDecision, post_result, pre_decision, redacted};
pub use event::{CallResult, Event, Session};
pub use reply::{Replacement, Reply, TEXT_CHARS_MAX};
pub use run::{HookFault, HookQuery};

use crate::limits::LimitHit;
use crate::policy::Hook;
use crate::policy::hooks::{HookCommand, TIMEOUT};

/// The identity of a hook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookId {
    /// Its name.
    pub name: String,
    /// The place of its declaration as `file:line`; none for a closure.
    pub source: Option<String>,
}

/// The reply of one hook, or its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookResult {
    /// The hook.
    pub hook_id: HookId,
    /// Its reply.
    pub result: Result<Reply, HookFault>,
}

/// A message of a hook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct HookMessage {
    /// The name of the hook.
    pub hook: String,
    /// The message.
    pub text: String,
}

/// Runs the commands of hooks. A program that starts no processes has no runner.
pub trait Runner: fmt::Debug + Send + Sync {
    /// Runs one command with these bytes on its standard input, and kills it after this time.
    fn run(
        &self,
        command: &HookCommand,
        stdin: Vec<u8>,
        wall: Duration,
    ) -> Result<CommandOutput, HookFault>;
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// How it ended.
    pub ended: CommandExit,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Whether some of the output was dropped.
    pub is_cut: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandExit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed after this time, with its whole process tree.
    TimedOut(Duration),
    /// By another limit.
    Limit(LimitHit),
    /// Not known.
    Lost,
}

/// A hook of the host program.
pub type HookClosure = dyn Fn(&Event) -> Reply + Send + Sync;

/// The hooks of one gate.
pub struct Hooks {
    commands: Vec<Hook>,
    closures: Vec<ClosureHook>,
    runner: Option<Arc<dyn Runner>>,
    session: Arc<Session>,
    /// The time limit of a closure.
    patience: Duration,
}

#[derive(Clone)]
struct ClosureHook {
    hook_id: HookId,
    event: crate::policy::hooks::Event,
    closure: Arc<HookClosure>,
}

impl Hooks {
    /// The hooks of a policy. Without a runner, each command denies the calls that it matches.
    pub fn new(commands: Vec<Hook>) -> Self {
        Self {
            commands,
            closures: Vec::new(),
            runner: None,
            session: Arc::new(Session::default()),
            patience: TIMEOUT,
        }
    }

    /// Sets the runner of commands.
    #[must_use]
    pub fn with_runner(mut self, runner: Arc<dyn Runner>) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Sets the session that hooks are told about.
    #[must_use]
    pub fn with_session(mut self, session: Session) -> Self {
        self.session = Arc::new(session);
        self
    }

    /// Adds a closure for every call.
    #[must_use]
    pub fn with_closure(
        mut self,
        event: crate::policy::hooks::Event,
        name: impl Into<String>,
        closure: impl Fn(&Event) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let hook_id = HookId { name: name.into(), source: None };
        let closure: Arc<HookClosure> = Arc::new(closure);
        self.closures.push(ClosureHook { hook_id, event, closure });
        self
    }

    /// Sets the time limit of closures. A closure that takes longer denies the call; its thread
    /// keeps running, because nothing can end it.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Whether any hook is for this event.
    pub fn are_there(&self, event: crate::policy::hooks::Event) -> bool {
        self.commands.iter().any(|hook| hook.event == event)
            || self.closures.iter().any(|inner| inner.event == event)
    }

    /// Whether any hook for this event has a condition.
    pub fn have_conditions(&self, event: crate::policy::hooks::Event) -> bool {
        self.commands.iter().any(|hook| hook.event == event && hook.condition.is_some())
    }

    /// The session that hooks are told about.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The hooks that are commands.
    pub fn commands(&self) -> &[Hook] {
        &self.commands
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closures: Vec<&HookId> = self.closures.iter().map(|inner| &inner.hook_id).collect();
        out.debug_struct("Hooks")
            .field("commands", &self.commands)
            .field("closures", &closures)
            .field("runner", &self.runner)
            .field("session", &self.session)
            .field("patience", &self.patience)
            .finish()
    }
}
