//! Rules as people write them: `Tool` or `Tool(pattern)` in a list of what is denied, asked about
//! or allowed.
//!
//! ```
//! use stockade_policy::Decision;
//! use stockade_policy::rules::{CommandFacts, Facts, Rule, Rules};
//!
//! # fn main() -> Result<(), stockade_policy::rules::RuleError> {
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
mod host;
mod line;
mod list;
mod literal;
mod path;
mod paths;
mod matching;
pub(crate) mod propose;
mod shadow;
mod text;
mod tool;
mod tools;

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use consider::{ConsideredRule, Fit};
pub use error::RuleError;
pub use example::{Example, Examples};
pub use facts::{
    AssignmentFacts, CommandFacts, Facts, HostFacts, PathFacts, Place, Reach, WordFacts,
    WrapperFacts,
};
pub use literal::{DeniedPaths, Effect, Unkept};
pub use matching::{Match, Note, Part, Rules};
pub use shadow::Shadow;
pub(crate) use tool::is_known_tool;
pub use tool::{Touch, is_reader, is_shell, overwrites, words};

use super::Decision;
use crate::confine::Origin;
use text::{Content, Meaning};

/// One rule of one list. Copies share what is written in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule(Arc<RuleContent>);

/// What is written in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleContent {
    text: String,
    list: Decision,
    name: Option<String>,
    meaning: Meaning,
    base: Option<PathBuf>,
    source: Option<Source>,
    origin: Origin,
    reason: Option<String>,
    instead: Option<String>,
    examples: Examples,
    lines: Arc<Examples>,
}

/// The meaning follows from these, and the examples change nothing.
impl std::hash::Hash for RuleContent {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Self { text, list, name, base, source, origin, reason, instead, .. } = self;
        (text, list, name, base, source, origin, reason, instead).hash(state);
    }
}

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl Deref for Rule {
    type Target = RuleContent;

    fn deref(&self) -> &RuleContent {
        &self.0
    }
}

impl DerefMut for Rule {
    fn deref_mut(&mut self) -> &mut RuleContent {
        Arc::make_mut(&mut self.0)
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
        Ok(Self(Arc::new(RuleContent {
            text: text.to_owned(),
            list,
            name: None,
            meaning,
            base: base.map(Path::to_owned),
            source: None,
            origin: Origin::Trusted,
            reason: None,
            instead: None,
            examples: Examples::default(),
            lines: Arc::default(),
        })))
    }

    /// The same rule, written there.
    #[must_use]
    pub fn written_in(mut self, file: impl Into<PathBuf>, line: usize) -> Self {
        self.source = Some(Source { file: file.into(), line });
        self
    }

    /// The same rule, written by somebody else than the user.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The same rule with a name, which rules that belong together share.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
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

    /// The same rule with shell lines as examples, which it and those of its name have to match
    /// together. They are not checked here: that takes the gate.
    #[must_use]
    pub fn with_lines(mut self, lines: impl Into<Arc<Examples>>) -> Self {
        self.lines = lines.into();
        self
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The list that it is in.
    pub fn list(&self) -> Decision {
        self.list
    }

    /// The name by which `rules.drop` removes it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where it is written, in words: a file and a line, or the shipped policy.
    pub fn place(&self) -> Option<String> {
        match (self.origin, &self.name) {
            (Origin::Shipped, Some(name)) => Some(format!("shipped policy, rule {name}")),
            (Origin::Shipped | Origin::Trusted | Origin::Project, _) => {
                self.source.as_ref().map(ToString::to_string)
            }
        }
    }

    /// Where it is written.
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Who wrote it.
    pub fn origin(&self) -> Origin {
        self.origin
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

    /// Shell lines that the rules of its name match together, and others that none of them does.
    pub fn lines(&self) -> &Examples {
        &self.lines
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
