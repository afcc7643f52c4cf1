//! How a Stockade is put together. Nothing is opened before the end, and each part is made once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Stockade;
use crate::confine::state_folder;
use crate::gate::{Approver, Examiner, Gate};
use crate::hooks::{Event as HookEvent, Hooks, Reply, Session};
use crate::inspect::{ResolverError, Root};
use crate::journal::{Journal, JournalError};
use crate::launch::{self, PoolSize, WarmState};
use crate::outcome::Failure;
use crate::policy::Policy;
use crate::policy::hooks::Event;
use crate::registry::{Duplicate, RegisteredTool};
use crate::tier::Tier;

/// How many sandboxes wait for a call, unless told.
const SPARES: usize = 1;

/// A Stockade that is not open yet.
pub struct Builder {
    root: PathBuf,
    policy: Policy,
    journal: Option<PathBuf>,
    pool: PoolSize,
    approver: Option<Arc<dyn Approver>>,
    tools: Vec<RegisteredTool>,
    hooks: Vec<HookChange>,
}

type HookChange = Box<dyn FnOnce(Hooks) -> Hooks + Send>;

impl Stockade {
    /// The parts of a Stockade for this project root and this policy.
    ///
    /// ```
    /// use stockade::hooks::Reply;
    /// use stockade::{Policy, Stockade, ToolCall};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let project = tempfile::tempdir()?;
    /// # let journal = project.path().join("journal.jsonl");
    /// let stockade = Stockade::builder(project.path(), Policy::shipped())
    ///     .journal(&journal)
    ///     .pre_hook("quiet", |event| match event.tool_input["argv"][0].as_str() {
    ///         Some("echo") => Reply::deny("nothing is said here"),
    ///         _ => Reply::silent(),
    ///     })
    ///     .open()?;
    /// let report = stockade.run(ToolCall::exec(["echo", "hello"]));
    /// assert!(report.denied());
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(root: &Path, policy: Policy) -> Builder {
        Builder {
            root: root.to_owned(),
            policy,
            journal: None,
            pool: PoolSize::Templates { spares: SPARES },
            approver: None,
            tools: Vec::new(),
            hooks: Vec::new(),
        }
    }

    /// The gate alone, for calls that somebody else runs ([`Gate::advise`]): nothing is made for a
    /// run, so that this is quick.
    pub fn adviser(root: &Path, policy: Policy, journal: &Path) -> Result<Gate, OpenError> {
        Self::builder(root, policy).journal(journal).gate()
    }
}

impl Builder {
    /// The file of the journal; [`default_journal`] if it is not given.
    #[must_use]
    pub fn journal(mut self, path: &Path) -> Self {
        self.journal = Some(path.to_owned());
        self
    }

    /// How many sandboxes wait for a call. Unless given, a template and one sandbox wait after the
    /// first call in one, and an interpreter after the first of its language, so that later calls are
    /// quicker. With [`PoolSize::NoTemplates`] neither waits.
    #[must_use]
    pub fn pool(mut self, size: PoolSize) -> Self {
        self.pool = size;
        self
    }

    /// Somebody to ask where a call needs a yes. Without, such calls are refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// One more tool that can be called. A name that is there already is an error of [`Self::open`].
    #[must_use]
    pub fn tool(mut self, tool: RegisteredTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// A closure that is asked about every call before it is decided about. It may refuse, ask, answer
    /// a question or rewrite the input; it lifts no refusal, and one that panics or hangs refuses.
    #[must_use]
    pub fn pre_hook(
        self,
        name: impl Into<String>,
        hook: impl Fn(&HookEvent) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.hooks(move |hooks| hooks.with_closure(Event::Pre, name, hook))
    }

    /// A closure that is told of every call that ran. It may add context, and take text out of the
    /// output in the report; what a caller reads while the call runs is not redacted.
    #[must_use]
    pub fn post_hook(
        self,
        name: impl Into<String>,
        hook: impl Fn(&HookEvent) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.hooks(move |hooks| hooks.with_closure(Event::Post, name, hook))
    }

    /// What hooks are told of the session.
    #[must_use]
    pub fn session(self, session: Session) -> Self {
        self.hooks(move |hooks| hooks.with_session(session))
    }

    /// How much time each closure among the hooks has.
    #[must_use]
    pub fn hook_patience(self, patience: Duration) -> Self {
        self.hooks(move |hooks| hooks.with_patience(patience))
    }

    fn hooks(mut self, change: impl FnOnce(Hooks) -> Hooks + Send + 'static) -> Self {
        self.hooks.push(Box::new(change));
        self
    }

    /// Opens the project root and the journal, and removes what supervisors that were killed have
    /// left. No process and no thread is started before a call needs one.
    ///
    /// A root that is or holds a home folder of the user is refused, because it would make keys and
    /// start-up files part of the project. A host that means it sets
    /// [`Policy::project_home`](Policy#structfield.project_home).
    pub fn open(self) -> Result<Stockade, OpenError> {
        let has_pool = self.pool != PoolSize::NoTemplates;
        let interpreters = if has_pool { self.policy.code_warm } else { 0 };
        let warm = WarmState::new(self.pool, interpreters, self.policy.session);
        let tiers = self.policy.tools.iter().map(|tool| tool.declaration.tier);
        let has_containers = tiers.chain([self.policy.tier]).any(|tier| tier == Tier::Container);
        let oci = has_containers.then(|| self.policy.oci.clone());
        let gate = self.gate()?;
        launch::sweep().map_err(OpenError::Scratch)?;
        if let Some(oci) = oci {
            warm.containers().reap_once(&oci).map_err(OpenError::Containers)?;
        }
        Ok(Stockade { gate: Arc::new(gate), warm: Arc::new(warm) })
    }

    /// The gate, with what runs its hooks.
    fn gate(self) -> Result<Gate, OpenError> {
        let Self { root, policy, journal, approver, tools, hooks, .. } = self;
        let root = Root::open_for(&root, &policy).map_err(OpenError::Root)?;
        let journal = journal.or_else(default_journal).ok_or(OpenError::NoJournal)?;
        let journal = Journal::open(&journal, policy.durability).map_err(OpenError::Journal)?;
        let runner = Arc::new(launch::HookRunner::new(root.path(), &policy));
        let gate = Gate::new(Examiner::new(root, policy), journal);
        let mut gate = gate.with_hooks(|own| {
            hooks.into_iter().fold(own.with_runner(runner), |hooks, change| change(hooks))
        });
        if let Some(approver) = approver {
            gate = gate.with_approver(approver);
        }
        for tool in tools {
            gate = gate.with_tool(tool).map_err(OpenError::Tool)?;
        }
        Ok(gate)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, policy, journal, pool, approver, tools, hooks } = self;
        f.debug_struct("Builder")
            .field("root", root)
            .field("policy", policy)
            .field("journal", journal)
            .field("pool", pool)
            .field("approver", approver)
            .field("tools", tools)
            .field("hooks", &hooks.len())
            .finish()
    }
}

/// Why a Stockade cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The project root.
    #[error(transparent)]
    Root(ResolverError),
    /// The journal.
    #[error(transparent)]
    Journal(JournalError),
    /// No journal is named, and there is no home folder to keep one in.
    #[error(
        "find a place for the journal: none is given, and neither XDG_STATE_HOME nor HOME is set"
    )]
    NoJournal,
    /// The folder for scratch folders.
    #[error("open the folder for scratch folders")]
    Scratch(#[source] std::io::Error),
    /// Containers that a supervisor has left.
    #[error("remove containers that were left: {}", .0.message())]
    Containers(Failure),
    /// A tool has the name of another.
    #[error(transparent)]
    Tool(Duplicate),
}

/// Where the journal is unless a path is given: `$XDG_STATE_HOME/stockade/journal.jsonl`.
pub fn default_journal() -> Option<PathBuf> {
    Some(state_folder()?.join("journal.jsonl"))
}
