//! What can be typed to `stockade code`.

use std::ffi::OsString;
use std::path::PathBuf;

use stockade::call::{Language, SessionName};

use super::Common;

#[derive(Debug, clap::Args)]
pub(crate) struct Code {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) source: SourceText,
    /// Run it in the session of this name, which keeps what calls leave; `python` and `node` have them
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// End the session, with all that its calls have left running
    #[arg(long, requires = "session", conflicts_with_all = ["eval", "file"])]
    pub(crate) end: bool,
}

/// Source, and what it is written in.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceText {
    /// The language: `python`, `node`, `bash`, `sh`, `perl` or `ruby`
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<Language>,
    /// The source itself
    #[arg(long, short = 'e', value_name = "SOURCE", conflicts_with = "file")]
    pub(crate) eval: Option<OsString>,
    /// A file with the source, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,
}
