//! How each rule stands to one call, in the order in which the lists are asked.

use super::Rule;
use super::facts::Facts;
use super::list::{List, shell_of};
use super::matching::{Part, Rules};
use crate::Decision;

/// A rule that was held against a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsideredRule<'r> {
    /// The rule.
    pub rule: &'r Rule,
    /// How it stands to the call.
    pub fit: Fit,
}

/// How a rule stands to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It decides.
    Decides(Part),
    /// It matches; another of its list was named, because it stands before it.
    Matches(Part),
    /// It allows some parts of the call, and others need more rules.
    Partly(Vec<Part>),
    /// It does not match.
    No,
    /// A stricter list has decided before.
    NotReached,
}

impl Rules {
    /// The rules that are about such a call, each with how it stands to it: those that deny, then
    /// those that ask, then those that allow.
    pub fn consider(&self, facts: &Facts) -> Vec<ConsideredRule<'_>> {
        let decided = self.deciding(facts);
        let lists = [Decision::Deny, Decision::Ask, Decision::Allow];
        let rules = lists.into_iter().flat_map(|list| {
            self.all().iter().enumerate().filter(move |(_, rule)| rule.list == list)
        });
        let about = rules.filter(|(_, rule)| rule.judges(&facts.tool));
        let consider = |(at, rule): (usize, &'_ Rule)| match &decided {
            Some((by, part)) if *by == at => Fit::Decides(part.clone()),
            Some((by, _)) if self.all().get(*by).is_some_and(|by| by.list > rule.list) => {
                Fit::NotReached
            }
            _ => fit(rule, facts),
        };
        about.map(|(at, rule)| ConsideredRule { rule, fit: consider((at, rule)) }).collect()
    }
}

/// How a rule by itself stands to a call.
fn fit(rule: &Rule, facts: &Facts) -> Fit {
    let alone = Rules::compile(vec![rule.clone()]);
    if let Some((_, part)) = alone.deciding(facts) {
        return Fit::Matches(part);
    }
    if rule.list != Decision::Allow {
        return Fit::No;
    }
    let list = List::of(Decision::Allow, std::slice::from_ref(rule));
    let shell = shell_of(&facts.tool);
    let commands = facts.commands.iter().enumerate();
    let commands = commands
        .filter(|(_, command)| list.commands.allowing(command, shell).is_some())
        .map(|(at, _)| Part::Command(at));
    let reads = facts.reads.iter().enumerate();
    let reads = reads
        .filter(|(_, path)| list.reads.allowing(path, facts).is_some())
        .map(|(at, _)| Part::Read(at));
    let writes = facts.writes.iter().enumerate();
    let writes = writes
        .filter(|(_, path)| list.writes.allowing(path, facts).is_some())
        .map(|(at, _)| Part::Write(at));
    let hosts = facts.hosts.iter().enumerate();
    let hosts =
        hosts.filter(|(_, host)| list.hosts.allowing(host).is_some()).map(|(at, _)| Part::Host(at));
    let parts: Vec<Part> = commands.chain(reads).chain(writes).chain(hosts).collect();
    if parts.is_empty() { Fit::No } else { Fit::Partly(parts) }
}
