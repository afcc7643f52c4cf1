//! The form of `[[program.effect]]` and `[[program.reads]]`: what a command does to files and
//! hosts, and when it changes nothing.

use serde::Deserialize;

use crate::catalog::EffectKind;

/// One thing that a command does, and to what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::catalog) struct Effect {
    pub(in crate::catalog) kind: EffectName,
    #[serde(default)]
    pub(in crate::catalog) subcommands: Vec<String>,
    /// Options whose value is a target.
    #[serde(default)]
    pub(in crate::catalog) options: Vec<String>,
    /// Which operands are targets.
    #[serde(default)]
    pub(in crate::catalog) operands: Which,
    /// Operands before those.
    #[serde(default)]
    pub(in crate::catalog) skip: usize,
    /// With one of these options there are none before.
    #[serde(default)]
    pub(in crate::catalog) skip_unless: Vec<String>,
    /// Only with so many operands after those, or more.
    #[serde(default)]
    pub(in crate::catalog) at_least: usize,
    /// Only with so many operands after those, or fewer.
    pub(in crate::catalog) at_most: Option<usize>,
    /// Which of the words that an option takes is the target; zero is the first.
    #[serde(default)]
    pub(in crate::catalog) value: usize,
    /// Operands that begin so are targets (`of=`).
    #[serde(default)]
    pub(in crate::catalog) keys: Vec<String>,
    /// Only with one of these options.
    #[serde(default)]
    pub(in crate::catalog) with: Vec<String>,
    /// Only if an option of `with` has one of these values.
    #[serde(default)]
    pub(in crate::catalog) with_value: Vec<String>,
    /// With none of these options.
    #[serde(default)]
    pub(in crate::catalog) unless: Vec<String>,
    /// Only with one of these words among the operands.
    #[serde(default)]
    pub(in crate::catalog) among: Vec<String>,
    /// Only if one of these actions of `find` gets files whose names no test narrows.
    #[serde(default)]
    pub(in crate::catalog) reached: Vec<String>,
    /// Only if the first operand, a regular expression, is missing or fits any name.
    #[serde(default)]
    pub(in crate::catalog) any_name: bool,
    /// Only words like one of these.
    #[serde(default)]
    pub(in crate::catalog) like: Vec<String>,
    /// No word like one of these.
    #[serde(default)]
    pub(in crate::catalog) except: Vec<String>,
    /// The target begins after this text; a word without it names none.
    #[serde(default)]
    pub(in crate::catalog) after: String,
    /// The target ends before this text.
    #[serde(default)]
    pub(in crate::catalog) before: String,
    /// What a word is.
    #[serde(default)]
    pub(in crate::catalog) form: TargetForm,
    /// The target where no word names one.
    pub(in crate::catalog) implied: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::catalog) enum EffectName {
    Read,
    List,
    Write,
    Delete,
    Execute,
    Enter,
    Pass,
    ChangeTree,
    Forget,
    Host,
}

impl From<EffectName> for EffectKind {
    fn from(kind: EffectName) -> Self {
        match kind {
            EffectName::Read => Self::Read,
            EffectName::List => Self::List,
            EffectName::Write => Self::Write,
            EffectName::Delete => Self::Delete,
            EffectName::Execute => Self::Execute,
            EffectName::Enter => Self::Enter,
            EffectName::Pass => Self::Pass,
            EffectName::ChangeTree => Self::ChangeTree,
            EffectName::Forget => Self::Forget,
            EffectName::Host => Self::Host,
        }
    }
}

/// Which operands are targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::catalog) enum Which {
    #[default]
    None,
    All,
    First,
    Last,
    ButLast,
}

/// What a word with a target is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::catalog) enum TargetForm {
    /// A path; `-` is standard input or output, or for `cd` a folder.
    #[default]
    Path,
    /// An address with or without a scheme: `https://host/x`, `user@host`, `host:80`.
    Address,
    /// A URL or `host:path`; anything else is a path.
    Remote,
}

/// When a command changes nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::catalog) struct Reads {
    /// Whatever its words are.
    pub(in crate::catalog) always: bool,
    /// As far as the configuration of the project names no program.
    pub(in crate::catalog) contained: bool,
    /// Under these, and no deeper.
    pub(in crate::catalog) subcommands: Vec<String>,
    /// Only with one of these options.
    pub(in crate::catalog) with: Vec<String>,
    /// With none of these options.
    pub(in crate::catalog) unless: Vec<String>,
    /// With no operand like one of these.
    pub(in crate::catalog) except: Vec<String>,
    /// With no more operands than these.
    pub(in crate::catalog) at_most: Option<usize>,
}
