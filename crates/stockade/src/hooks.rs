//! Hooks: commands and closures that are asked before a call is decided about, and told after it has
//! run.
//!
//! A hook may tighten, answer a question, or rewrite the input, which is then inspected again. It
//! lifts no refusal. One that fails in any way refuses. Of several the strictest wins, and their
//! order does not matter. Commands speak the protocol of coding agents: `docs/hooks.md`.

mod asking;
mod counsel;
mod event;
mod fault;
pub mod input;
mod redact;
mod reply;
pub mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use asking::Occasion;
pub use counsel::{Counsel, Opinion, counsel};
pub use event::{Done, Event, Session};
pub use fault::Fault;
pub use redact::{Aftermath, aftermath, redacted};
pub use reply::{Replacement, Reply, TEXT_CHARS_MAX};

use crate::limits::LimitHit;
use crate::policy::Hook;
use crate::policy::hook::{HookCommand, TIMEOUT};

/// Which hook it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Voice {
    /// Its name.
    pub name: String,
    /// Where it is written, as `file:line`; none for a closure.
    pub source: Option<String>,
}

/// What one hook said, or how it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Which.
    pub voice: Voice,
    /// Its reply.
    pub result: Result<Reply, Fault>,
}

/// Something that a hook says, under its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Spoken {
    /// Who.
    pub hook: String,
    /// What.
    pub text: String,
}

/// Runs the commands of hooks: the launcher, or nothing at all in a program that starts none.
pub trait Runner: fmt::Debug + Send + Sync {
    /// Runs one command to its end, with these bytes on its standard input, and no longer than
    /// this.
    fn run(&self, command: &HookCommand, stdin: Vec<u8>, wall: Duration) -> Result<Ran, Fault>;
}

/// What was seen of a command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Whether either is not all that it wrote.
    pub is_cut: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// After this time, with its whole tree.
    TimedOut(Duration),
    /// By another limit.
    Limit(LimitHit),
    /// That cannot be told.
    Lost,
}

/// A hook in the library.
pub type Closure = dyn Fn(&Event) -> Reply + Send + Sync;

/// The hooks of one gate.
pub struct Hooks {
    commands: Vec<Hook>,
    closures: Vec<Inner>,
    runner: Option<Arc<dyn Runner>>,
    session: Arc<Session>,
    /// How long a closure may take.
    patience: Duration,
}

#[derive(Clone)]
struct Inner {
    voice: Voice,
    event: crate::policy::hook::Event,
    closure: Arc<Closure>,
}

impl Hooks {
    /// The commands of a policy. Without a runner each of them refuses what it is for.
    pub fn new(commands: Vec<Hook>) -> Self {
        Self {
            commands,
            closures: Vec::new(),
            runner: None,
            session: Arc::new(Session::default()),
            patience: TIMEOUT,
        }
    }

    /// The same, with something that runs them.
    #[must_use]
    pub fn with_runner(mut self, runner: Arc<dyn Runner>) -> Self {
        self.runner = Some(runner);
        self
    }

    /// The same, for calls of this session.
    #[must_use]
    pub fn with_session(mut self, session: Session) -> Self {
        self.session = Arc::new(session);
        self
    }

    /// The same, with a closure that is asked about every call.
    #[must_use]
    pub fn with_closure(
        mut self,
        event: crate::policy::hook::Event,
        name: impl Into<String>,
        closure: impl Fn(&Event) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let voice = Voice { name: name.into(), source: None };
        let closure: Arc<Closure> = Arc::new(closure);
        self.closures.push(Inner { voice, event, closure });
        self
    }

    /// The same, with this much time for each closure. One that takes longer has refused, though
    /// its thread goes on: nothing can end it.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Whether there is any hook for this event.
    pub fn are_there(&self, event: crate::policy::hook::Event) -> bool {
        self.commands.iter().any(|hook| hook.event == event)
            || self.closures.iter().any(|inner| inner.event == event)
    }

    /// Whether a hook for this event looks at more than the name of the tool.
    pub fn have_conditions(&self, event: crate::policy::hook::Event) -> bool {
        self.commands.iter().any(|hook| hook.event == event && hook.condition.is_some())
    }

    /// Whose calls they are asked about.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The commands among them.
    pub fn commands(&self) -> &[Hook] {
        &self.commands
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closures: Vec<&Voice> = self.closures.iter().map(|inner| &inner.voice).collect();
        out.debug_struct("Hooks")
            .field("commands", &self.commands)
            .field("closures", &closures)
            .field("runner", &self.runner)
            .field("session", &self.session)
            .field("patience", &self.patience)
            .finish()
    }
}
