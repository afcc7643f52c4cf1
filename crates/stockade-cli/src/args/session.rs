//! What can be typed to `stockade enter`, `ps`, `logs` and `kill`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use stockade::call::SessionName;
use stockade::policy::agents::AgentProfile;

use super::Common;

#[derive(Debug, clap::Args)]
pub(crate) struct Enter {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The session; what is left running in it stays when the shell ends
    #[arg(long, value_name = "NAME", default_value = "enter")]
    pub(crate) session: SessionName,
    /// What an agent has of your home folder: `claude`, `codex`, `gemini`, or `none`; by the name of the
    /// program if not given
    #[arg(long, value_name = "NAME", value_parser = agent_names())]
    pub(crate) agent: Option<String>,
    /// The program and its arguments; your shell if none is given
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    pub(crate) argv: Vec<OsString>,
}

/// The names of the profiles of agents, and the word for none.
fn agent_names() -> PossibleValuesParser {
    AgentProfile::names().chain([NO_AGENT]).collect::<Vec<_>>().into()
}

/// Chooses no profile of an agent.
pub(crate) const NO_AGENT: &str = "none";

#[derive(Debug, clap::Args)]
pub(crate) struct Ps {
    #[command(flatten)]
    pub(crate) scope: SessionScope,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) scope: SessionScope,
    /// The call, by its name in `stockade ps`, or a port on which it listens
    #[arg(value_name = "CALL|PORT")]
    pub(crate) what: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Kill {
    #[command(flatten)]
    pub(crate) scope: SessionScope,
    /// A call, by its name in `stockade ps`; a port on which one listens; or a session with all its calls
    #[arg(value_name = "CALL|PORT|SESSION")]
    pub(crate) what: String,
}

/// Where to look.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionScope {
    /// Only in this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// The project, whose session is meant where several have one of this name
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}
