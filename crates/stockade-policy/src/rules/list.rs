//! The rules of one list, sorted by what they are about, so that a call meets only those that can
//! match it.

use super::Rule;
use super::commands::Commands;
use super::facts::{Facts, PathFacts};
use super::host::Hosts;
use super::matching::Part;
use super::paths::{Paths, Trees};
use super::text::{Content, Name};
use super::tool::{self, Family, Shell};
use super::tools::{Fields, Tools};
use crate::Decision;
use crate::confine::Origin;

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
    /// Shipped rules about paths. A folder around what they mean is let through where it is read: the
    /// sandbox hides what they mean.
    shipped_reads: Paths,
    shipped_writes: Paths,
    findings: Vec<(String, usize)>,
    /// Kinds of rules of this list that the user, the machine or the project wrote.
    pub(super) doubts: Doubts,
}

/// What a part of a call that is not known might meet. Shipped rules raise no doubt: the sandbox
/// enforces them where the gate cannot see.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Doubts {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) hosts: bool,
    /// Where the shipped rules begin, which come last.
    pub(super) until: usize,
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
            shipped_reads: Paths::with(Trees::None),
            shipped_writes: Paths::with(Trees::Below),
            findings: Vec::new(),
            doubts: Doubts::default(),
        };
        let is_shipped = |rule: &Rule| rule.origin() == Origin::Shipped;
        list.doubts.until = rules.iter().position(is_shipped).unwrap_or(rules.len());
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
            Content::Whole | Content::Host(_) | Content::Finding(_) | Content::Nothing => None,
        };
        if let Some(field) = second {
            self.fields.insert(&meaning.tool, field, at);
        }
        if rule.origin() != Origin::Shipped {
            self.doubt(&meaning.content);
        }
        match &meaning.content {
            Content::Whole => self.insert_whole(&meaning.tool, at),
            Content::Line(shell, pattern, _) => self.commands.insert(*shell, pattern.clone(), at),
            Content::Read(pattern, _) if rule.origin() == Origin::Shipped => {
                self.shipped_reads.insert(pattern.shipped(), at);
            }
            Content::Write(pattern, _) if rule.origin() == Origin::Shipped => {
                self.shipped_writes.insert(pattern.clone(), at);
            }
            Content::Read(pattern, _) => {
                self.reads.insert(pattern.clone(), at);
                // What must not be read is not to be replaced or moved to where it can be, either.
                if self.decision == Decision::Deny {
                    self.writes.insert(pattern.clone(), at);
                }
            }
            Content::Write(pattern, _) => self.writes.insert(pattern.clone(), at),
            Content::Host(pattern) => self.hosts.insert(pattern.clone(), at),
            Content::Finding(name) => self.findings.push((name.clone(), at)),
            Content::Field(_) | Content::Nothing => {}
        }
    }

    fn doubt(&mut self, content: &Content) {
        match content {
            Content::Read(..) => {
                self.doubts.reads = true;
                self.doubts.writes |= self.decision == Decision::Deny;
            }
            Content::Write(..) => self.doubts.writes = true,
            Content::Host(_) => self.doubts.hosts = true,
            Content::Whole
            | Content::Line(..)
            | Content::Field(_)
            | Content::Finding(_)
            | Content::Nothing => {}
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

    /// The first rule that refuses to read a path.
    pub(super) fn refused_read(&self, path: &PathFacts, facts: &Facts) -> Option<usize> {
        let both = [&self.reads, &self.shipped_reads];
        both.into_iter().filter_map(|rules| rules.refusing(path, facts)).min()
    }

    fn refused_write(&self, path: &PathFacts, facts: &Facts) -> Option<usize> {
        // `cp .env.example .env` and `rm .env` read no secret; an edit shows what is there.
        let hides = self.decision == Decision::Deny && !path.unread;
        let hidden = Some(&self.shipped_reads).filter(|_| hides);
        let all = [&self.writes, &self.shipped_writes].into_iter().chain(hidden);
        all.filter_map(|rules| rules.refusing(path, facts)).min()
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
        let reads =
            reads.filter_map(|(at, path)| Some((self.refused_read(path, facts)?, Part::Read(at))));
        let writes = facts.writes.iter().enumerate();
        let writes = writes
            .filter_map(|(at, path)| Some((self.refused_write(path, facts)?, Part::Write(at))));
        let hosts = facts.hosts.iter().enumerate();
        let hosts =
            hosts.filter_map(|(at, host)| Some((self.hosts.refusing(host)?, Part::Host(at))));
        let findings = facts.findings.iter().enumerate().flat_map(|(at, found)| {
            let about = self.findings.iter().filter(move |(name, _)| name == found);
            about.map(move |(_, rule)| (*rule, Part::Finding(at)))
        });
        let all = field.into_iter().chain(commands).chain(reads).chain(writes);
        all.chain(hosts).chain(findings).min()
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
