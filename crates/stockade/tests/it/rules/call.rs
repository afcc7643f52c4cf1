//! Calls as the tables write them, turned into facts.
//!
//! A command is a line; `$x` in it is a word that is not known. Before it may stand `dynamic:`,
//! `read-only:`, or `N name>` for the command that the wrapper `name` of command N starts. A path
//! may be `name -> where it lands`; before it may stand `unknown:`, `lost:` (where it lands cannot be said), `tree:`, `free:`, or `N:` for the
//! command whose words name it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use stockade::policy::rules::{
    AssignmentFacts, CommandFacts, Facts, HostFacts, PathFacts, Place, Reach, WordFacts,
    WrapperFacts,
};

pub(super) const HOME: &str = "/home/me";
pub(super) const CWD: &str = "/home/me/project";

/// One call of a table.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    tool: Option<String>,
    #[serde(default)]
    bash: Vec<String>,
    #[serde(default)]
    read: Vec<String>,
    #[serde(default)]
    write: Vec<String>,
    #[serde(default)]
    host: Vec<String>,
    #[serde(default)]
    input: BTreeMap<String, String>,
    /// Other words for the first command.
    #[serde(default)]
    also: Vec<String>,
    pub(super) is: String,
    pub(super) by: Option<String>,
}

impl Call {
    /// A call that shows one text of what a rule is about.
    pub(super) fn of(tool: &str, text: &str) -> Self {
        let one = vec![text.to_owned()];
        let mut call = Self { tool: Some(tool.to_owned()), ..Self::default() };
        match tool {
            "Bash" | "Exec" | "PowerShell" => call.bash = one,
            "Read" | "Grep" | "Glob" => call.read = one,
            "Edit" | "Write" | "NotebookEdit" => call.write = one,
            "WebFetch" if !text.contains(": ") => call.host = one,
            _ => {
                let (name, value) = text.split_once(": ").unwrap_or(("none", text));
                call.input.insert(name.to_owned(), value.to_owned());
            }
        }
        call
    }

    pub(super) fn facts(&self) -> Facts {
        let guess = match self {
            Self { bash, .. } if !bash.is_empty() => "Bash",
            Self { read, .. } if !read.is_empty() => "Read",
            Self { write, .. } if !write.is_empty() => "Edit",
            _ => "WebFetch",
        };
        let mut facts = Facts::new(self.tool.as_deref().unwrap_or(guess), CWD);
        facts.home = Some(Place::new(HOME));
        facts.parameters = self.input.clone();
        facts.commands = self.bash.iter().map(|line| command(line)).collect();
        if let Some(first) = facts.commands.first_mut() {
            first.spellings = self.also.iter().map(|line| command(line).words).collect();
        }
        facts.reads = self.read.iter().map(|text| path(text)).collect();
        facts.writes = self.write.iter().map(|text| path(text)).collect();
        facts.hosts = self.host.iter().map(HostFacts::new).collect();
        facts
    }
}

pub(super) fn command(text: &str) -> CommandFacts {
    let mut facts = CommandFacts::default();
    let mut text = text;
    if let Some(rest) = text.strip_prefix("dynamic: ") {
        (facts.dynamic, text) = (true, rest);
    }
    if let Some(rest) = text.strip_prefix("read-only: ") {
        (facts.read_only, text) = (true, rest);
    }
    if let Some((wrapper, rest)) = text.split_once("> ")
        && let Some((number, name)) = wrapper.split_once(' ')
        && let Ok(command) = number.parse()
    {
        facts.wrapper = Some(WrapperFacts { name: name.to_owned(), command });
        text = rest;
    }
    for word in shlex::split(text).unwrap() {
        let name = word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        match name {
            Some((name, value))
                if facts.words.is_empty()
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') =>
            {
                let value = (!value.starts_with('$')).then(|| value.into());
                facts.assignments.push(AssignmentFacts { name, value });
            }
            _ if word.starts_with('$') => facts.words.push(WordFacts::unknown(word)),
            _ => facts.words.push(WordFacts::known(word)),
        }
    }
    facts
}

pub(super) fn path(text: &str) -> PathFacts {
    let mut facts = PathFacts::new("/");
    let mut text = text;
    let mut lost = false;
    while let Some((mark, rest)) = text.split_once(": ") {
        match mark {
            "unknown" => facts.known = false,
            "lost" => lost = true,
            "tree" => facts.reach = Reach::Tree,
            "free" => facts.free = true,
            _ => facts.command = Some(mark.parse().unwrap()),
        }
        text = rest;
    }
    let (named, real) = text.split_once(" -> ").unwrap_or((text, text));
    facts.named = absolute(named);
    facts.real = (!lost).then(|| absolute(real));
    facts
}

fn absolute(text: &str) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => PathBuf::from(HOME).join(rest),
        None => PathBuf::from(CWD).join(text),
    }
}
