//! Whether the allow rules cover a call: every command of it, every path and every host.

use std::collections::BTreeMap;

use super::commands::{is_safe, only_assigns_safely};
use super::facts::{CommandFacts, Facts, PathFacts};
use super::list::{Hit, List, shell_of};
use super::matching::Part;
use super::tool::{self, Family};

/// One call, and the lists that it is held against.
pub(super) struct Cover<'c> {
    pub(super) allow: &'c List,
    pub(super) refuse: [&'c List; 2],
    pub(super) facts: &'c Facts,
}

/// Why a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grounds {
    /// A rule allows it, and with it what its words name.
    Rule(usize),
    /// It changes nothing by itself; what it reads is still to be judged.
    Harmless,
}

/// Wrappers that leave what they start as it is: what allows the inner command allows these.
const SEEN_THROUGH: [&str; 9] =
    ["builtin", "command", "nice", "noglob", "nohup", "stdbuf", "time", "timeout", "xargs"];

impl Cover<'_> {
    /// The rule that allows the call, if all of it is allowed.
    pub(super) fn of_call(&self) -> Option<Hit> {
        let Facts { tool, parameters, .. } = self.facts;
        if let Some(rule) = self.allow.tools.find(tool, self.allow.decision) {
            return Some((rule, Part::Tool));
        }
        if let Some((rule, field)) = self.allow.fields.find(tool, parameters) {
            return Some((rule, Part::Parameter(field)));
        }
        let Facts { commands, reads, writes, hosts, .. } = self.facts;
        let shown = match tool::family(tool::canonical(tool)) {
            Family::Shell(_) => !commands.is_empty(),
            Family::Reads => commands.is_empty() && !reads.is_empty(),
            Family::Writes => commands.is_empty() && !writes.is_empty(),
            Family::Hosts => commands.is_empty() && !hosts.is_empty(),
            Family::Field(_) | Family::Other => false,
        };
        if shown { self.of_parts() } else { None }
    }

    /// The first rule that was needed, if no part is without grounds. A call that needs none is
    /// not the rules' to allow.
    fn of_parts(&self) -> Option<Hit> {
        let Facts { reads, writes, hosts, .. } = self.facts;
        let grounds = self.of_commands()?;
        let mut first: Option<Hit> = None;
        let mut need = |rule: usize, part: Part| {
            first.get_or_insert((rule, part));
        };
        for (at, ground) in grounds.iter().enumerate() {
            match ground {
                Grounds::Rule(rule) => need(*rule, Part::Command(at)),
                Grounds::Harmless => {}
            }
        }
        let by_command = |command: Option<usize>| {
            let ground = command.and_then(|at| grounds.get(at));
            matches!(ground, Some(Grounds::Rule(_)))
        };
        // What is not known might be what a rule refuses, whatever command names it.
        let refused = |could: fn(&List) -> bool| self.refuse.iter().any(|list| could(list));
        let [read, write, host] = [
            refused(|list| list.doubts.reads),
            refused(|list| list.doubts.writes),
            refused(|list| list.doubts.hosts),
        ];
        let covered = |path: &PathFacts, could_be_refused: bool| {
            path.free || (by_command(path.command) && (path.known || !could_be_refused))
        };
        for (at, path) in reads.iter().enumerate().filter(|(_, path)| !covered(path, read)) {
            need(self.allow.reads.allowing(path, self.facts)?, Part::Read(at));
        }
        for (at, path) in writes.iter().enumerate().filter(|(_, path)| !covered(path, write)) {
            need(self.allow.writes.allowing(path, self.facts)?, Part::Write(at));
        }
        for (at, facts) in hosts.iter().enumerate() {
            if !by_command(facts.command) || (!facts.known && host) {
                need(self.allow.hosts.allowing(facts)?, Part::Host(at));
            }
        }
        first
    }

    /// The grounds of every command, if each has some: a rule about it, one about a wrapper around
    /// it, or, for a wrapper that is seen through, what allows the commands inside.
    fn of_commands(&self) -> Option<Vec<Grounds>> {
        let commands = &self.facts.commands;
        let shell = shell_of(&self.facts.tool);
        // Inner commands stand behind their wrapper: one way for what comes from outside, the
        // other for what comes from inside.
        let mut rules: Vec<Option<usize>> = Vec::new();
        let mut inside: Vec<Vec<usize>> = vec![Vec::new(); commands.len()];
        for (at, command) in commands.iter().enumerate() {
            if !self.is_certain(command) {
                return None;
            }
            let outer = command.wrapper.as_ref().map(|wrapper| wrapper.command);
            let around = match outer {
                Some(outer) if outer < at => rules.get(outer).copied().flatten(),
                Some(_) => return None,
                None => None,
            };
            rules.push(self.allow.commands.allowing(command, shell).or(around));
            if let Some(inside) = outer.and_then(|outer| inside.get_mut(outer)) {
                inside.push(at);
            }
        }
        let mut grounds: BTreeMap<usize, Grounds> = BTreeMap::new();
        for (at, command) in commands.iter().enumerate().rev() {
            let rule = rules.get(at).copied().flatten().map(Grounds::Rule);
            let harmless = command.read_only || only_assigns_safely(command);
            let inside = inside.get(at).map(Vec::as_slice).unwrap_or_default();
            let ground = rule
                .or_else(|| harmless.then_some(Grounds::Harmless))
                .or_else(|| self.of_inner(command, inside, &grounds))?;
            grounds.insert(at, ground);
        }
        Some(grounds.into_values().collect())
    }

    fn of_inner(
        &self,
        outer: &CommandFacts,
        inside: &[usize],
        grounds: &BTreeMap<usize, Grounds>,
    ) -> Option<Grounds> {
        let mut found = None;
        for at in inside {
            let inner = self.facts.commands.get(*at)?;
            let ground = grounds.get(at).filter(|_| is_seen_through(outer, inner))?;
            found = match found {
                Some(Grounds::Rule(_)) => found,
                Some(Grounds::Harmless) | None => Some(*ground),
            };
        }
        found
    }

    /// Whether it is known what runs, as far as any rule that refuses can tell.
    fn is_certain(&self, command: &CommandFacts) -> bool {
        let shell = shell_of(&self.facts.tool);
        !command.dynamic
            && self
                .refuse
                .iter()
                .all(|list| !list.commands.could_refuse(command, shell, list.doubts.until))
    }
}

/// Whether a wrapper changes nothing about the command inside.
fn is_seen_through(outer: &CommandFacts, inner: &CommandFacts) -> bool {
    let Some(wrapper) = &inner.wrapper else { return false };
    let own = outer.words.len().saturating_sub(inner.words.len());
    let known = outer.words.iter().take(own).all(|word| word.known);
    let named = outer.words.first().is_some_and(|word| word.text == wrapper.name.as_str());
    let bare = wrapper.name != "xargs"
        || outer
            .words
            .get(1)
            .is_some_and(|word| word.known && !word.text.as_encoded_bytes().starts_with(b"-"));
    named
        && known
        && bare
        && outer.assignments.iter().all(is_safe)
        && SEEN_THROUGH.contains(&wrapper.name.as_str())
}
