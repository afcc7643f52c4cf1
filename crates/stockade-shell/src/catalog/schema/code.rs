//! The form of `[[program.code]]`: code in the words of a command.

use serde::Deserialize;

/// Where code is, and what runs it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::catalog) struct Code {
    pub(in crate::catalog) subcommands: Vec<String>,
    /// Options whose value is code.
    pub(in crate::catalog) options: Vec<String>,
    pub(in crate::catalog) operands: CodeOperands,
    /// Operands before those that are code.
    pub(in crate::catalog) skip: usize,
    /// Only with so many operands after those.
    pub(in crate::catalog) at_least: usize,
    /// The operands end before a word like one of these (`:::`).
    pub(in crate::catalog) until: Vec<String>,
    /// Only with one of these options.
    pub(in crate::catalog) with: Vec<String>,
    /// With none of these options.
    pub(in crate::catalog) unless: Vec<String>,
    /// Only words like one of these.
    pub(in crate::catalog) like: Vec<String>,
    /// No word like one of these.
    pub(in crate::catalog) except: Vec<String>,
    /// The code begins after this text; a word without it holds none.
    pub(in crate::catalog) after: String,
    pub(in crate::catalog) runner: Runner,
    /// Whether words are added that are not known before the run.
    pub(in crate::catalog) open: bool,
}

/// Which operands are code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::catalog) enum CodeOperands {
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
pub(in crate::catalog) enum Runner {
    #[default]
    Shell,
    ThisShell,
    ThisShellLater,
    Remote,
    Other,
}
