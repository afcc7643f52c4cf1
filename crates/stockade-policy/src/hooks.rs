//! A hook as a policy declares it: before or after which calls, and what is run. As data: nothing
//! here runs anything.

mod matcher;
pub mod script;
mod settings;
mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use matcher::{BadMatcher, Matcher};
pub use settings::{BadSettings, SettingsHooks, from_settings};
pub(super) use table::HookTable;

use super::Variable;
use super::rules::{CommandFacts, Facts, PathFacts, Rule, Rules, WordFacts};

/// How long a hook may take unless its declaration says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest that a declaration can ask for.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// When hooks are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Before a call is decided about.
    Pre,
    /// After a call has run.
    Post,
}

impl Event {
    /// The name on the wire.
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Pre => "PreToolUse",
            Self::Post => "PostToolUse",
        }
    }
}

/// One command hook of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hook {
    /// What reasons and the journal call it.
    pub name: String,
    /// Before or after.
    pub event: Event,
    /// The calls it is for, by the name of the tool.
    pub matcher: Matcher,
    /// Of these, the ones that this rule is about.
    pub condition: Option<Condition>,
    /// What is run.
    pub command: HookCommand,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it is written, as `file:line`.
    pub source: Option<String>,
}

/// What a command hook runs. It comes from a policy that the host trusts, never from a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookCommand {
    /// The program and its arguments, or a line for `sh`.
    pub form: CommandForm,
    /// The folder that relative paths of an argument vector begin at: that of the policy file.
    pub folder: PathBuf,
    /// Variables besides those that every hook has.
    pub environment: Vec<Variable>,
}

/// The two ways to name a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandForm {
    /// A program and its arguments, no shell.
    Argv(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
}

impl HookCommand {
    /// A program with its arguments, whose relative paths begin at this folder.
    pub fn argv<W: Into<String>>(words: impl IntoIterator<Item = W>, folder: &Path) -> Self {
        let words = words.into_iter().map(Into::into).collect();
        Self { form: CommandForm::Argv(words), folder: folder.to_owned(), environment: Vec::new() }
    }

    /// The words that are run. A program that is a relative path is looked for in the folder of the
    /// file that names it, and so is an argument that begins with `./` or `../`: never in the
    /// project, unless the file is the project's.
    pub fn words(&self) -> Vec<OsString> {
        match &self.form {
            CommandForm::Shell(line) => ["/bin/sh", "-c", line].map(OsString::from).to_vec(),
            CommandForm::Argv(words) => words
                .iter()
                .enumerate()
                .map(|(at, word)| self.placed(word, at == 0).unwrap_or_else(|| word.into()))
                .collect(),
        }
    }

    /// The files that it is made of, as far as its words name them, where it runs in this project.
    pub fn files(&self, root: &Path) -> Vec<PathBuf> {
        match &self.form {
            CommandForm::Shell(line) => script::in_line(line, &self.folder, root),
            CommandForm::Argv(written) => {
                let words = self.words().into_iter().map(PathBuf::from);
                let absolute = words.filter(|word| word.is_absolute() && !word.is_dir());
                let script = script::of(written, &[root]).map(|(_, script)| script);
                absolute.chain(script).collect()
            }
        }
    }

    fn placed(&self, word: &str, is_program: bool) -> Option<OsString> {
        let is_relative = word.starts_with("./") || word.starts_with("../");
        if let Some(rest) = word.strip_prefix("~/") {
            return Some(std::env::home_dir()?.join(rest).into_os_string());
        }
        let is_path = is_relative || (is_program && word.contains('/') && !word.starts_with('/'));
        is_path.then(|| {
            let word = word.strip_prefix("./").unwrap_or(word);
            self.folder.join(word).into_os_string()
        })
    }
}

/// `if`: one permission rule. The hook is asked where the rule would deny, and also where it cannot
/// be known whether it would.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition(Rules);

impl Condition {
    /// Only calls that this rule is about.
    pub fn new(rule: Rule) -> Self {
        Self(Rules::compile(vec![rule]))
    }

    /// Whether a call with these facts is one of them, as far as can be told. A rule that can match
    /// nothing was meant to be about something.
    pub fn may_hold(&self, facts: &Facts) -> bool {
        let is_futile = || self.0.all().iter().any(|rule| !rule.is_effective());
        self.0.decide(facts).is_some() || has_unknowns(facts) || is_futile()
    }
}

fn has_unknowns(facts: &Facts) -> bool {
    let unknown_word = |word: &WordFacts| !word.known;
    let unknown_command = |one: &CommandFacts| one.dynamic || one.words.iter().any(unknown_word);
    let unknown_path = |one: &PathFacts| !one.known || one.real.is_none();
    facts.commands.iter().any(unknown_command)
        || facts.reads.iter().chain(&facts.writes).any(unknown_path)
        || facts.hosts.iter().any(|host| !host.known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decision;

    #[test]
    fn relative_words_begin_at_the_folder_of_the_file() {
        let words = |all: &[&str]| {
            let command = HookCommand::argv(all.iter().copied(), Path::new("/etc/stockade"));
            command.words().into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(words(&["./ci/guard.sh", "x"]), ["/etc/stockade/ci/guard.sh", "x"]);
        assert_eq!(words(&["ci/guard.sh", "a/b"]), ["/etc/stockade/ci/guard.sh", "a/b"]);
        assert_eq!(words(&["python3", "./g.py"]), ["python3", "/etc/stockade/g.py"]);
        assert_eq!(words(&["python3", "../g.py"]), ["python3", "/etc/stockade/../g.py"]);
        assert_eq!(words(&["/bin/true"]), ["/bin/true"]);
    }

    #[test]
    fn a_condition_holds_where_its_rule_would_deny_or_nobody_knows() {
        let rule = Rule::parse("Bash(git push *)", Decision::Deny).unwrap();
        let condition = Condition::new(rule);
        let facts = |words: &[WordFacts]| {
            let mut facts = Facts::new("Bash", "/project");
            facts.commands.push(CommandFacts { words: words.to_vec(), ..Default::default() });
            facts
        };
        let known = |words: &[&str]| words.iter().map(WordFacts::known).collect::<Vec<_>>();
        assert!(condition.may_hold(&facts(&known(&["git", "push", "origin"]))));
        assert!(!condition.may_hold(&facts(&known(&["git", "status"]))));
        let hidden = [known(&["git"]), vec![WordFacts::unknown("$what")]].concat();
        assert!(condition.may_hold(&facts(&hidden)));
    }
}
