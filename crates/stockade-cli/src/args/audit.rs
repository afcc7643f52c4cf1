//! What can be typed about the journal.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) what: AuditWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditWhat {
    /// Print entries
    Show(AuditShow),
    /// Count entries
    Stats(AuditStats),
    /// Check the chain, and name the first bad line
    Verify(AuditVerify),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditShow {
    /// The journal; by default `$XDG_STATE_HOME/stockade/journal.jsonl`
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Only refusals
    #[arg(long)]
    pub(crate) denied: bool,
    /// Only verdicts on this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only entries since then: a time as in the journal, or how long ago (2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditStats {
    /// The journal; by default `$XDG_STATE_HOME/stockade/journal.jsonl`
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditVerify {
    /// The journal; by default `$XDG_STATE_HOME/stockade/journal.jsonl`
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// The hash that the last entry must have, noted down earlier
    #[arg(long, value_name = "HASH")]
    pub(crate) expect_head: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
