//! Examples that a rule carries, so that it is seen at once if it does not mean what was meant.

use std::path::{Path, PathBuf};

use super::facts::{AssignmentFacts, CommandFacts, Facts, HostFacts, PathFacts, Place};
use super::matching::Rules;
use super::text::{Content, Name};
use super::{Rule, RuleError};

/// Texts that a rule has to match, and others that it must not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examples {
    /// What it matches.
    pub matching: Vec<String>,
    /// What it does not.
    pub not_matching: Vec<String>,
}

/// One example with what was said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Example<'e> {
    /// The rule is to match.
    Match(&'e str),
    /// It is not to.
    NotMatch(&'e str),
}

/// Where the paths of examples are, if they say nothing else.
const FOLDER: &str = "/example/project";
const HOME: &str = "/example/home";

impl Examples {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Example<'_>> {
        let matching = self.matching.iter().map(|text| Example::Match(text));
        matching.chain(self.not_matching.iter().map(|text| Example::NotMatch(text)))
    }
}

impl Rule {
    /// Says what is wrong with an example of this rule: a command line, a path, a host, a
    /// `field:value`, a finding's name, or a tool's name, as the rule is about one of them.
    pub fn check(&self, example: Example<'_>) -> Result<(), RuleError> {
        let (text, expected) = match example {
            Example::Match(text) => (text, true),
            Example::NotMatch(text) => (text, false),
        };
        let rules = Rules::compile(vec![self.clone()]);
        let found = rules.decide(&self.example(text)?).is_some();
        match (found, expected) {
            (true, true) | (false, false) => Ok(()),
            (false, true) => Err(wrong(text, "does not match, and should")),
            (true, false) => Err(wrong(text, "matches, and should not")),
        }
    }

    fn example(&self, text: &str) -> Result<Facts, RuleError> {
        let tool = match &self.meaning.tool {
            Name::One(name) => name.as_str(),
            Name::Any(_) => text,
        };
        let mut facts = Facts::new(tool, FOLDER);
        facts.home = Some(Place::new(HOME));
        match &self.meaning.content {
            Content::Whole => text.clone_into(&mut facts.tool),
            Content::Nothing => {}
            Content::Line(_, _, field) => {
                facts.commands.push(command(text)?);
                if let (Some(_), Some((name, value))) = (field, text.split_once(':')) {
                    facts.parameters.insert(name.trim().to_owned(), value.trim().to_owned());
                }
            }
            Content::Read(..) => facts.reads.push(PathFacts::new(self.path(text))),
            Content::Write(..) => facts.writes.push(PathFacts::new(self.path(text))),
            Content::Host(_) => facts.hosts.push(HostFacts::new(text)),
            Content::Finding(_) => facts.findings.push(text.to_owned()),
            Content::Field(field) => {
                let (name, value) = text.split_once(':').unwrap_or((&field.name, text));
                facts.parameters.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        Ok(facts)
    }

    /// A path as a person writes it; a relative one is relative to what the rule is relative to.
    fn path(&self, text: &str) -> PathBuf {
        let anchored = self.text.contains("(/") && !self.text.contains("(//");
        let base = self.base.as_deref().filter(|_| anchored).unwrap_or(Path::new(FOLDER));
        let text = text.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(text);
        match text.strip_prefix("~/") {
            Some(rest) => Path::new(HOME).join(rest),
            None => base.join(text),
        }
    }
}

fn wrong(text: &str, what: &str) -> RuleError {
    RuleError::new(0, format!("the example {text:?} {what}"))
}

/// One simple command.
fn command(text: &str) -> Result<CommandFacts, RuleError> {
    let operators = [";", "|", "&", "<", ">", "$", "`", "(", ")", "\n"];
    let words = shlex::split(text).ok_or_else(|| {
        RuleError::new(0, format!("the example {text:?} has a quote that is not closed"))
    })?;
    let is_operator = |word: &String| operators.iter().any(|mark| word.contains(mark));
    let bare = text.split_whitespace().filter(|word| !word.contains(['\'', '"', '\\']));
    if bare.map(str::to_owned).any(|word| is_operator(&word)) {
        return Err(RuleError::new(0, format!("the example {text:?} is more than one command"))
            .suggest("write one command for each example"));
    }
    let assigned = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let count = words.iter().take_while(assigned).count();
    let assignments = words.iter().take(count).filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        Some(AssignmentFacts { name: name.to_owned(), value: Some(value.into()) })
    });
    let assignments = assignments.collect();
    Ok(CommandFacts { assignments, ..CommandFacts::new(words.into_iter().skip(count)) })
}
