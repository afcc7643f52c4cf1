//! What can be typed about coding agents: their hooks, and how these come into their settings.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use stockade::policy::Mode;
use stockade::tier::Tier;

use super::Dialect;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads one event as JSON on standard input, and answers in the agent's protocol on standard \
output. Exit status: 0, or 2 where no answer could be given, which refuses the call; never another."
)]
pub(crate) struct Hook {
    #[command(subcommand)]
    pub(crate) when: When,
}

#[derive(Debug, Subcommand)]
pub(crate) enum When {
    /// Before a tool is used: decide, and put shell lines into the box
    Pre(HookOptions),
    /// After it was used: nothing is decided any more
    Post(HookOptions),
}

/// Options of a hook.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct HookOptions {
    /// Whose protocol is spoken: `claude` or `codex`
    #[arg(long, value_name = "NAME", default_value = "claude")]
    pub(crate) format: Agent,
    /// The project root; found from the event where it is not given
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The policy file, in place of all that would be found
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Settings of Claude Code, besides the policy; can be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Vec<PathBuf>,
    /// Prefix rules of Codex, besides the policy; can be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Vec<PathBuf>,
    /// Read the files of this coding agent too: `claude` or `codex`; those of --format always are
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Vec<Dialect>,
    /// How much is done without a question; `default` where neither this nor a file says
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// How strong the box is: `jail`, or `process`, which is none, so that lines stay as they are
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<Tier>,
    /// Decide only: shell lines stay as they are, and no box is counted on
    #[arg(long, conflicts_with = "tier")]
    pub(crate) no_box: bool,
    /// The journal; by default `$XDG_STATE_HOME/stockade/journal.jsonl`
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
}

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Agent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

/// What a person said in the agent, for a line that `stockade hook` has put into the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PersonAnswer {
    /// They were asked, and said yes.
    Yes,
    /// Nobody was asked.
    None,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Install {
    /// The agent: `claude` or `codex`
    #[arg(value_name = "AGENT")]
    pub(crate) agent: Agent,
    /// Whose settings: `user`, `project`, or `local`, which is the project's file for you alone
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: Scope,
    /// The project root, for the other scopes
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The policy file that the hook is to use, in place of all that would be found
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The mode that the hook is to use; `auto` for Codex unless told, whose hooks cannot ask
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let the hook decide only, and put nothing into the box
    #[arg(long)]
    pub(crate) no_box: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the hook out again
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Your own settings, which hold in all projects.
    User,
    /// The project's.
    Project,
    /// The project's, for you alone.
    Local,
}
