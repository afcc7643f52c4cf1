//! The form of `[[program.effect]]` and `[[program.reads]]`: what a command does to files and
//! hosts, and when it changes nothing.

use serde::Deserialize;

use crate::knowledge::EffectKind;

/// One thing that a command does, and to what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::knowledge) struct Effect {
    pub(in crate::knowledge) kind: Kind,
    #[serde(default)]
    pub(in crate::knowledge) subcommands: Vec<String>,
    /// Options whose value is a target.
    #[serde(default)]
    pub(in crate::knowledge) options: Vec<String>,
    /// Which operands are targets.
    #[serde(default)]
    pub(in crate::knowledge) operands: Which,
    /// Operands before those.
    #[serde(default)]
    pub(in crate::knowledge) skip: usize,
    /// With one of these options there are none before.
    #[serde(default)]
    pub(in crate::knowledge) skip_unless: Vec<String>,
    /// Only with so many operands after those, or more.
    #[serde(default)]
    pub(in crate::knowledge) at_least: usize,
    /// Only with so many operands after those, or fewer.
    pub(in crate::knowledge) at_most: Option<usize>,
    /// Which of the words that an option takes is the target; zero is the first.
    #[serde(default)]
    pub(in crate::knowledge) value: usize,
    /// Operands that begin so are targets (`of=`).
    #[serde(default)]
    pub(in crate::knowledge) keys: Vec<String>,
    /// Only with one of these options.
    #[serde(default)]
    pub(in crate::knowledge) with: Vec<String>,
    /// Only if an option of `with` has one of these values.
    #[serde(default)]
    pub(in crate::knowledge) with_value: Vec<String>,
    /// With none of these options.
    #[serde(default)]
    pub(in crate::knowledge) unless: Vec<String>,
    /// Only with one of these words among the operands.
    #[serde(default)]
    pub(in crate::knowledge) among: Vec<String>,
    /// Only if one of these actions of `find` gets files whose names no test narrows.
    #[serde(default)]
    pub(in crate::knowledge) reached: Vec<String>,
    /// Only if the first operand, a regular expression, is missing or fits any name.
    #[serde(default)]
    pub(in crate::knowledge) any_name: bool,
    /// Only words like one of these.
    #[serde(default)]
    pub(in crate::knowledge) like: Vec<String>,
    /// No word like one of these.
    #[serde(default)]
    pub(in crate::knowledge) except: Vec<String>,
    /// The target begins after this text; a word without it names none.
    #[serde(default)]
    pub(in crate::knowledge) after: String,
    /// The target ends before this text.
    #[serde(default)]
    pub(in crate::knowledge) before: String,
    /// What a word is.
    #[serde(default)]
    pub(in crate::knowledge) form: Form,
    /// The target where no word names one.
    pub(in crate::knowledge) implied: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::knowledge) enum Kind {
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

impl From<Kind> for EffectKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Read => Self::Read,
            Kind::List => Self::List,
            Kind::Write => Self::Write,
            Kind::Delete => Self::Delete,
            Kind::Execute => Self::Execute,
            Kind::Enter => Self::Enter,
            Kind::Pass => Self::Pass,
            Kind::ChangeTree => Self::ChangeTree,
            Kind::Forget => Self::Forget,
            Kind::Host => Self::Host,
        }
    }
}

/// Which operands are targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::knowledge) enum Which {
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
pub(in crate::knowledge) enum Form {
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
pub(in crate::knowledge) struct Reads {
    /// Whatever its words are.
    pub(in crate::knowledge) always: bool,
    /// As far as the configuration of the project names no program.
    pub(in crate::knowledge) contained: bool,
    /// Under these, and no deeper.
    pub(in crate::knowledge) subcommands: Vec<String>,
    /// Only with one of these options.
    pub(in crate::knowledge) with: Vec<String>,
    /// With none of these options.
    pub(in crate::knowledge) unless: Vec<String>,
    /// With no operand like one of these.
    pub(in crate::knowledge) except: Vec<String>,
    /// With no more operands than these.
    pub(in crate::knowledge) at_most: Option<usize>,
}
