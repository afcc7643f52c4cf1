//! The rules of one list, sorted by what they are about, so that a call meets only those that can
//! match it.

use super::Rule;
use super::commands::Commands;
use super::facts::Facts;
use super::host::Hosts;
use super::paths::Paths;
use super::rules::Part;
use super::text::{Content, Name};
use super::tool::{self, Family, Shell};
use super::tools::{Fields, Tools};
use crate::policy::Decision;

/// One list, compiled.
#[derive(Debug, Clone)]
pub(super) struct List {
    pub(super) decision: Decision,
    pub(super) tools: Tools,
    pub(super) fields: Fields,
    pub(super) commands: Commands,
    pub(super) reads: Paths,
    pub(super) writes: Paths,
    pub(super) hosts: Hosts,
}

/// A rule that matched, and what of the call it matched.
pub(super) type Hit = (usize, Part);

impl List {
    /// The rules of this list among all of them.
    pub(super) fn of(decision: Decision, rules: &[Rule]) -> Self {
        let mut list = Self {
            decision,
            tools: Tools::default(),
            fields: Fields::default(),
            commands: Commands::default(),
            reads: Paths::default(),
            writes: Paths::default(),
            hosts: Hosts::default(),
        };
        for (at, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.list == decision) {
            list.insert(at, rule);
        }
        list
    }

    fn insert(&mut self, at: usize, rule: &Rule) {
        let meaning = &rule.meaning;
        let second = match &meaning.content {
            Content::Line(_, _, field) | Content::Read(_, field) | Content::Write(_, field) => {
                field.as_ref()
            }
            Content::Field(field) => Some(field),
            Content::Whole | Content::Host(_) | Content::Nothing => None,
        };
        if let Some(field) = second {
            self.fields.insert(&meaning.tool, field, at);
        }
        match &meaning.content {
            Content::Whole => self.insert_whole(&meaning.tool, at),
            Content::Line(shell, pattern, _) => self.commands.insert(*shell, pattern.clone(), at),
            Content::Read(pattern, _) => {
                self.reads.insert(pattern.clone(), at);
                // What must not be read is not to be replaced or moved to where it can be, either.
                if self.decision == Decision::Deny {
                    self.writes.insert(pattern.clone(), at);
                }
            }
            Content::Write(pattern, _) => self.writes.insert(pattern.clone(), at),
            Content::Host(pattern) => self.hosts.insert(pattern.clone(), at),
            Content::Field(_) | Content::Nothing => {}
        }
    }

    fn insert_whole(&mut self, tool: &Name, at: usize) {
        self.tools.insert(tool, at);
        match tool {
            Name::One(name) if name == "Read" => self.reads.insert_any(at),
            Name::One(name) if name == "Edit" => self.writes.insert_any(at),
            Name::One(_) | Name::Any(_) => {}
        }
    }

    /// The first rule that any part of a call meets.
    pub(super) fn refusing(&self, facts: &Facts) -> Option<Hit> {
        let tool = self.tools.find(&facts.tool, self.decision).map(|rule| (rule, Part::Tool));
        tool.into_iter().chain(self.refusing_part(facts)).min()
    }

    /// The same, but for rules about every call of the tool.
    pub(super) fn refusing_part(&self, facts: &Facts) -> Option<Hit> {
        let shell = shell_of(&facts.tool);
        let field = self.fields.find(&facts.tool, &facts.parameters);
        let field = field.map(|(rule, field)| (rule, Part::Parameter(field)));
        let commands = facts.commands.iter().enumerate().filter_map(|(at, command)| {
            Some((self.commands.refusing(command, shell)?, Part::Command(at)))
        });
        let reads = facts.reads.iter().enumerate();
        let reads = reads
            .filter_map(|(at, path)| Some((self.reads.refusing(path, facts)?, Part::Read(at))));
        let writes = facts.writes.iter().enumerate();
        let writes = writes
            .filter_map(|(at, path)| Some((self.writes.refusing(path, facts)?, Part::Write(at))));
        let hosts = facts.hosts.iter().enumerate();
        let hosts =
            hosts.filter_map(|(at, host)| Some((self.hosts.refusing(host)?, Part::Host(at))));
        let all = field.into_iter().chain(commands).chain(reads).chain(writes);
        all.chain(hosts).min()
    }
}

/// The shell whose rules judge the commands of a tool; those of any other tool are judged, too.
pub(super) fn shell_of(tool: &str) -> Shell {
    match tool::family(tool::canonical(tool)) {
        Family::Shell(shell) => shell,
        Family::Reads | Family::Writes | Family::Hosts | Family::Field(_) | Family::Other => {
            Shell::Bash
        }
    }
}
