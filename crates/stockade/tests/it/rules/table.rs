//! Runs the tables: what one rule matches and what it does not, and what several decide together.

use std::path::Path;

use serde::Deserialize;
use stockade::policy::Decision;
use stockade::policy::rules::{Facts, Rule, RuleError, Rules};

use super::call::Call;
use crate::golden::shown::quoted;

const TABLES: [(&str, &str); 5] = [
    ("tools", include_str!("../cases/rules/tools.toml")),
    ("commands", include_str!("../cases/rules/commands.toml")),
    ("paths", include_str!("../cases/rules/paths.toml")),
    ("hosts", include_str!("../cases/rules/hosts.toml")),
    ("calls", include_str!("../cases/rules/calls.toml")),
];

/// What a rule matches in each list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Single {
    rule: String,
    /// The tool of the calls; the rule's own if it is not said.
    tool: Option<String>,
    /// All three if it is not said.
    #[serde(default = "all_lists")]
    lists: Vec<String>,
    yes: Vec<String>,
    no: Vec<String>,
}

/// What several rules decide.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    about: String,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    /// The folder of paths that begin with `/`.
    base: Option<String>,
    call: Vec<Call>,
}

/// A text that is no rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    rule: String,
    #[serde(default = "deny")]
    list: String,
    /// The byte that the complaint is about.
    at: usize,
    /// A part of what it says.
    says: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    single: Vec<Single>,
    #[serde(default)]
    group: Vec<Group>,
    #[serde(default)]
    wrong: Vec<Wrong>,
    /// Rules that are read and never match, with a part of the note.
    #[serde(default)]
    never: Vec<Wrong>,
}

fn all_lists() -> Vec<String> {
    ["deny", "ask", "allow"].map(str::to_owned).to_vec()
}

fn deny() -> String {
    "deny".to_owned()
}

fn list(name: &str) -> Decision {
    match name {
        "deny" => Decision::Deny,
        "ask" => Decision::Ask,
        "allow" => Decision::Allow,
        _ => panic!("{name}"),
    }
}

fn decided(rules: &Rules, facts: &Facts) -> &'static str {
    rules.decide(facts).map_or("none", |found| found.decision.name())
}

/// How many decisions a table had.
fn check(text: &str) -> usize {
    let table: Table = toml::from_str(text).unwrap();
    let mut count = 0;
    let mut wrong: Vec<String> = Vec::new();
    for single in &table.single {
        for name in &single.lists {
            let rule = Rule::parse(&single.rule, list(name)).unwrap();
            let own = single.rule.split('(').next().unwrap();
            let rules = Rules::compile(vec![rule]);
            let yes = single.yes.iter().map(|text| (text, name.as_str()));
            for (text, expected) in yes.chain(single.no.iter().map(|text| (text, "none"))) {
                let facts = Call::of(single.tool.as_deref().unwrap_or(own), text).facts();
                let found = decided(&rules, &facts);
                count += 1;
                if found != expected {
                    wrong.push(format!("{name} {}: {text:?} is {found}", single.rule));
                }
            }
        }
    }
    for group in &table.group {
        let rules = group.rules().unwrap();
        for call in &group.call {
            let found = rules.decide(&call.facts());
            let decision = found.as_ref().map_or("none", |found| found.decision.name());
            let by = found.as_ref().map(|found| &found.rule);
            count += 1;
            if decision != call.is || (call.by.is_some() && by != call.by.as_ref()) {
                wrong.push(format!("{}: {call:?} is {decision} by {by:?}", group.about));
            }
        }
    }
    for case in &table.wrong {
        count += 1;
        match Rule::parse(&case.rule, list(&case.list)) {
            Err(error) if error.offset == case.at && error.to_string().contains(&case.says) => {}
            other => wrong.push(format!("{:?}: {other:?}", case.rule)),
        }
    }
    for case in &table.never {
        count += 1;
        let rule = Rule::parse(&case.rule, list(&case.list)).unwrap();
        if rule.is_effective() || !rule.note().unwrap_or_default().contains(&case.says) {
            wrong.push(format!("{:?}: {:?}", case.rule, rule.note()));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    count
}

/// One line for each entry of each table: its rules, and the decision on each of its calls.
pub(crate) fn decisions() -> Vec<String> {
    let mut lines = Vec::new();
    for (name, text) in TABLES {
        let table: Table = toml::from_str(text).unwrap();
        for single in &table.single {
            for texts in single.yes.chunks(20).chain(single.no.chunks(20)) {
                lines.push(format!("{name} {}", single.decisions(texts)));
            }
        }
        for (number, group) in table.group.iter().enumerate() {
            let rules = group.rules().unwrap();
            for (at, call) in group.call.iter().enumerate() {
                let found = rules.decide(&call.facts());
                let found = found.map_or("none".to_owned(), |found| {
                    format!("{} {}", found.decision.name(), quoted(&found.rule))
                });
                lines.push(format!("{name} group {number} {} {at} ⇒ {found}", group.about));
            }
        }
        for case in &table.wrong {
            let error = Rule::parse(&case.rule, list(&case.list)).map(|_| ()).unwrap_err();
            let (rule, at) = (quoted(&case.rule), error.offset);
            lines.push(format!("{name} wrong {} {rule} ⇒ byte {at}", case.list));
        }
        for case in &table.never {
            let rule = Rule::parse(&case.rule, list(&case.list)).unwrap();
            let is_effective = rule.is_effective();
            let rule = quoted(&case.rule);
            lines.push(format!("{name} never {} {rule} ⇒ {is_effective}", case.list));
        }
    }
    lines
}

impl Single {
    fn decisions(&self, texts: &[String]) -> String {
        let own = self.rule.split('(').next().unwrap();
        let tool = self.tool.as_deref().unwrap_or(own);
        let decided = |text: &String| {
            let facts = Call::of(tool, text).facts();
            let each = self.lists.iter().map(|name| {
                let rule = Rule::parse(&self.rule, list(name)).unwrap();
                decided(&Rules::compile(vec![rule]), &facts)
            });
            format!("{} {}", quoted(text), each.collect::<Vec<_>>().join("/"))
        };
        let texts: Vec<String> = texts.iter().map(decided).collect();
        format!("{tool} {} ⇒ {}", quoted(&self.rule), texts.join(" | "))
    }
}

impl Group {
    fn rules(&self) -> Result<Rules, RuleError> {
        let lists = [("deny", &self.deny), ("ask", &self.ask), ("allow", &self.allow)];
        let mut rules = Vec::new();
        for (name, texts) in lists {
            for text in texts {
                rules.push(match &self.base {
                    Some(base) => Rule::parse_in(text, list(name), Path::new(base))?,
                    None => Rule::parse(text, list(name))?,
                });
            }
        }
        Ok(Rules::compile(rules))
    }
}

#[test]
fn tools_and_fields() {
    let count = check(include_str!("../cases/rules/tools.toml"));
    assert!(count >= 130, "{count}");
}

#[test]
fn command_lines() {
    let count = check(include_str!("../cases/rules/commands.toml"));
    assert!(count >= 550, "{count}");
}

#[test]
fn paths() {
    let count = check(include_str!("../cases/rules/paths.toml"));
    assert!(count >= 480, "{count}");
}

#[test]
fn hosts() {
    let count = check(include_str!("../cases/rules/hosts.toml"));
    assert!(count >= 100, "{count}");
}

#[test]
fn whole_calls() {
    let count = check(include_str!("../cases/rules/calls.toml"));
    assert!(count >= 75, "{count}");
}
