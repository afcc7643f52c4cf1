//! What can be typed about policy: where it comes from, its rules, and which files are trusted.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// Where the policy comes from.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Sources {
    /// The project root: paths and programs have to be beneath it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The policy file, in place of all that would be found
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Settings of Claude Code, besides the policy; can be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Vec<PathBuf>,
    /// Prefix rules of Codex, besides the policy; can be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Vec<PathBuf>,
    /// Read the files of this coding agent where it keeps them: `claude` or `codex`
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Vec<Dialect>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Dialect {
    /// Claude Code: `settings.json`.
    Claude,
    /// Codex: `.rules`.
    Codex,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    #[command(subcommand)]
    pub(crate) what: RulesWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesWhat {
    /// Show all rules, where each is written, and which can never decide
    List(RulesList),
    /// Add a rule to a policy file
    Add(RulesAdd),
    /// Take a rule out of a policy file
    Remove(RulesRemove),
    /// Run the examples that rules carry
    Test(RulesTest),
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesList {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Only those that apply to this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesTest {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which list a rule is in.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct List {
    /// Calls that it matches are refused
    #[arg(long)]
    deny: bool,
    /// Calls that it matches need a person's word
    #[arg(long)]
    ask: bool,
    /// Calls that it covers may run
    #[arg(long)]
    allow: bool,
}

impl List {
    /// The list that was named, if one was.
    pub(crate) fn decision(&self) -> Option<stockade::policy::Decision> {
        use stockade::policy::Decision::{Allow, Ask, Deny};
        let all = [(self.deny, Deny), (self.ask, Ask), (self.allow, Allow)];
        all.into_iter().find_map(|(is_set, list)| is_set.then_some(list))
    }
}

/// Which file is edited.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// The project root
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Edit this policy file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["user", "project"])]
    pub(crate) policy: Option<PathBuf>,
    /// Edit your own policy file, which holds in all projects
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Edit the project's `stockade.toml`
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesAdd {
    #[command(flatten)]
    pub(crate) list: List,
    #[command(flatten)]
    pub(crate) target: Target,
    /// Why, for whoever is refused
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// What would be accepted instead
    #[arg(long, value_name = "TEXT")]
    pub(crate) instead: Option<String>,
    /// Something that the rule has to match; can be given more than once
    #[arg(long = "match", value_name = "EXAMPLE")]
    pub(crate) matching: Vec<String>,
    /// Something that it must not match
    #[arg(long = "not-match", value_name = "EXAMPLE")]
    pub(crate) not_matching: Vec<String>,
    /// The rule, such as 'Bash(curl *)'
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesRemove {
    #[command(flatten)]
    pub(crate) list: List,
    #[command(flatten)]
    pub(crate) target: Target,
    /// The rule as it is written
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Trust {
    /// The project root
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Show the files that are trusted, and whether they have changed
    #[arg(long, conflicts_with_all = ["remove", "yes"])]
    pub(crate) list: bool,
    /// Trust these files no more
    #[arg(long, conflicts_with = "yes")]
    pub(crate) remove: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Files of the project; all that there are if none is named
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Where to write it
    #[arg(value_name = "FILE", default_value = "stockade.toml")]
    pub(crate) file: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}
