//! The form of `[[program.code]]`: code in the words of a command.

use serde::Deserialize;

/// Where code is, and what runs it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::knowledge) struct Code {
    pub(in crate::knowledge) subcommands: Vec<String>,
    /// Options whose value is code.
    pub(in crate::knowledge) options: Vec<String>,
    pub(in crate::knowledge) operands: CodeOperands,
    /// Operands before those that are code.
    pub(in crate::knowledge) skip: usize,
    /// Only with so many operands after those.
    pub(in crate::knowledge) at_least: usize,
    /// The operands end before a word like one of these (`:::`).
    pub(in crate::knowledge) until: Vec<String>,
    /// Only with one of these options.
    pub(in crate::knowledge) with: Vec<String>,
    /// With none of these options.
    pub(in crate::knowledge) unless: Vec<String>,
    /// Only words like one of these.
    pub(in crate::knowledge) like: Vec<String>,
    /// No word like one of these.
    pub(in crate::knowledge) except: Vec<String>,
    /// The code begins after this text; a word without it holds none.
    pub(in crate::knowledge) after: String,
    pub(in crate::knowledge) runner: Runner,
    /// Whether words are added that are not known before the run.
    pub(in crate::knowledge) open: bool,
}

/// Which operands are code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::knowledge) enum CodeOperands {
    #[default]
    None,
    First,
    /// Each for itself.
    Each,
    /// All of them, with spaces between.
    Joined,
}

/// What runs code, as the data says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::knowledge) enum Runner {
    #[default]
    Shell,
    ThisShell,
    ThisShellLater,
    Remote,
    Other,
}
