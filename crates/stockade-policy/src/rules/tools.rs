//! The rules of one list that are found by the name of a tool, or by a field of its input.

use std::collections::{BTreeMap, HashMap};

use stockade_shell::pattern::Pattern;

use super::text::{Field, Name};
use super::tool;
use crate::Decision;

/// Rules about whole tools.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools {
    exact: HashMap<String, usize>,
    globs: Vec<(Pattern, usize)>,
}

impl Tools {
    /// Adds a rule about every call of these tools.
    pub(super) fn insert(&mut self, name: &Name, rule: usize) {
        match name {
            Name::One(name) => {
                let first = self.exact.entry(name.clone()).or_insert(rule);
                *first = rule.min(*first);
            }
            Name::Any(glob) => self.globs.push((glob.clone(), rule)),
        }
    }

    /// The first rule about every call of this tool.
    pub(super) fn find(&self, tool: &str, list: Decision) -> Option<usize> {
        let found = names_of(tool).into_iter().filter_map(|name| {
            let globs = self.globs.iter().filter(|(glob, _)| glob.matches(name));
            let exact = self.exact.get(name).into_iter().chain(self.server(name, list));
            exact.copied().chain(globs.map(|(_, rule)| *rule)).min()
        });
        found.min()
    }

    /// `mcp__server` stands for all of its tools. Where the server's name ends is not certain if
    /// there are more underscores: a refusal then takes any place for it, an allowance the first.
    fn server(&self, name: &str, list: Decision) -> Option<&usize> {
        let rest = name.strip_prefix("mcp__")?;
        let places = rest.match_indices("__").map(|(at, _)| at.saturating_add("mcp__".len()));
        let most = if list == Decision::Allow { 1 } else { usize::MAX };
        let servers = places.take(most).filter_map(|at| name.get(..at));
        servers.filter_map(|server| self.exact.get(server)).min()
    }
}

/// Rules about fields of the input.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    exact: HashMap<String, HashMap<String, Vec<(Pattern, usize)>>>,
    globs: Vec<(Pattern, Field, usize)>,
}

impl Fields {
    /// Adds a rule about calls of these tools with this value of a field.
    pub(super) fn insert(&mut self, name: &Name, field: &Field, rule: usize) {
        match name {
            Name::One(name) => {
                let fields = self.exact.entry(name.clone()).or_default();
                let values = fields.entry(field.name.clone()).or_default();
                values.push((field.value.clone(), rule));
            }
            Name::Any(glob) => {
                self.globs.push((glob.clone(), field.clone(), rule));
            }
        }
    }

    /// The first rule about a field of this call, and the field.
    pub(super) fn find(
        &self,
        tool: &str,
        parameters: &BTreeMap<String, String>,
    ) -> Option<(usize, String)> {
        let found = names_of(tool).into_iter().filter_map(|name| {
            let exact = self.exact.get(name).into_iter().flat_map(|fields| {
                parameters.iter().filter_map(|(field, value)| {
                    let all = fields.get(field)?.iter();
                    let fits = all.filter(|(glob, _)| glob.matches(value));
                    Some((fits.map(|(_, rule)| *rule).min()?, field.clone()))
                })
            });
            let globs = self.globs.iter().filter_map(|(glob, field, rule)| {
                let value = parameters.get(&field.name)?;
                let fits = glob.matches(name) && field.value.matches(value);
                fits.then(|| (*rule, field.name.clone()))
            });
            exact.chain(globs).min()
        });
        found.min()
    }
}

/// The names under which a tool is judged.
fn names_of(tool: &str) -> Vec<&str> {
    let name = tool::canonical(tool);
    match tool::judged_as(name) {
        [] => vec![name],
        names => names.to_vec(),
    }
}
