//! Rules as people write them: `Tool` or `Tool(pattern)` in a list of what is denied, asked about
//! or allowed.
//!
//! ```
//! use stockade::policy::Decision;
//! use stockade::policy::rule::{CommandFacts, Facts, Rule, Rules};
//!
//! # fn main() -> Result<(), stockade::policy::rule::RuleError> {
//! let rules = Rules::compile(vec![
//!     Rule::parse("Bash(git push *)", Decision::Deny)?,
//!     Rule::parse("Bash(git *)", Decision::Allow)?,
//! ]);
//! let mut facts = Facts::new("Bash", "/project");
//! facts.commands.push(CommandFacts::new(["git", "status"]));
//! assert_eq!(rules.decide(&facts).map(|found| found.decision), Some(Decision::Allow));
//! facts.commands.push(CommandFacts::new(["git", "push", "origin"]));
//! assert_eq!(rules.decide(&facts).map(|found| found.decision), Some(Decision::Deny));
//! # Ok(())
//! # }
//! ```

mod commands;
mod consider;
mod cover;
mod error;
mod example;
mod facts;
mod glob;
mod host;
mod line;
mod list;
mod literal;
mod path;
mod paths;
mod prefixes;
mod rules;
mod shadow;
mod text;
mod tool;
mod tools;
mod trie;

use std::path::{Path, PathBuf};

pub use consider::{Considered, Fit};
pub use error::RuleError;
pub use example::{Example, Examples};
pub use facts::{
    AssignmentFacts, CommandFacts, Facts, HostFacts, PathFacts, Place, Reach, WordFacts,
    WrapperFacts,
};
pub use literal::{Denied, Effect, Unkept};
pub use rules::{Match, Note, Part, Rules};
pub use shadow::Shadow;
pub use tool::Touch;
pub(super) use tool::is_known_tool;

use super::Decision;
use text::{Content, Meaning};

/// One rule of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    list: Decision,
    meaning: Meaning,
    base: Option<PathBuf>,
    source: Option<Source>,
    reason: Option<String>,
    instead: Option<String>,
    examples: Examples,
}

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl std::fmt::Display for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.file.display(), self.line)
    }
}

impl Rule {
    /// Reads a rule of this list. A path that begins with `/` is relative to the session's folder.
    pub fn parse(text: &str, list: Decision) -> Result<Self, RuleError> {
        Self::read(text, list, None)
    }

    /// Reads a rule whose paths that begin with `/` are relative to this folder: the project's,
    /// or the one that its file lies in.
    pub fn parse_in(text: &str, list: Decision, base: &Path) -> Result<Self, RuleError> {
        Self::read(text, list, Some(base))
    }

    fn read(text: &str, list: Decision, base: Option<&Path>) -> Result<Self, RuleError> {
        let start = text.len().saturating_sub(text.trim_start().len());
        let text = text.trim();
        let meaning = Meaning::parse(text, list, base).map_err(|error| error.behind(start))?;
        Ok(Self {
            text: text.to_owned(),
            list,
            meaning,
            base: base.map(Path::to_owned),
            source: None,
            reason: None,
            instead: None,
            examples: Examples::default(),
        })
    }

    /// The same rule, written there.
    #[must_use]
    pub fn written_in(mut self, file: impl Into<PathBuf>, line: usize) -> Self {
        self.source = Some(Source { file: file.into(), line });
        self
    }

    /// The same rule with a reason, which is shown to whoever is refused.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The same rule with what would be accepted.
    #[must_use]
    pub fn instead(mut self, instead: impl Into<String>) -> Self {
        self.instead = Some(instead.into());
        self
    }

    /// The same rule with examples, if each of them holds.
    pub fn with_examples(mut self, examples: Examples) -> Result<Self, RuleError> {
        examples.all().try_for_each(|example| self.check(example))?;
        self.examples = examples;
        Ok(self)
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The list that it is in.
    pub fn list(&self) -> Decision {
        self.list
    }

    /// Where it is written.
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Why it is there.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What would be accepted.
    pub fn alternative(&self) -> Option<&str> {
        self.instead.as_deref()
    }

    /// What it was shown to match and not to match.
    pub fn examples(&self) -> &Examples {
        &self.examples
    }

    /// What a person should know about it: that it never matches, or that it means more than its
    /// words.
    pub fn note(&self) -> Option<&str> {
        self.meaning.note.as_deref()
    }

    /// Whether it can match anything; if not, [`Rule::note`] says why.
    pub fn is_effective(&self) -> bool {
        self.meaning.content != Content::Nothing
    }

    /// Whether it can be held against a path only where there is a home folder.
    pub fn needs_home(&self) -> bool {
        self.meaning.needs_home()
    }
}
