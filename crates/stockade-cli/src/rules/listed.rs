//! `stockade rules list`: every rule with its source, its reason and what keeps it from deciding.

use serde::Serialize;
use stockade::Policy;
use stockade::policy::Decision;
use stockade::policy::rules::Rule;

use super::LISTS;
use crate::args::RulesList;
use crate::exit_code::Status;
use crate::print::{FAINT, escape};
use crate::{Answer, print, setup};

#[derive(Serialize)]
struct Listing {
    /// Set if only the rules of one tool were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    rules: Vec<RuleView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct RuleView {
    list: Decision,
    rule: String,
    /// What `rules.drop` removes it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    source: Option<String>,
    reason: Option<String>,
    instead: Option<String>,
    examples: usize,
    /// The rule of a stricter list because of which this one never decides.
    shadowed_by: Option<Shadowing>,
}

#[derive(Serialize)]
struct Shadowing {
    list: Decision,
    rule: String,
    source: Option<String>,
}

/// Prints the rules in the order in which they are asked.
pub(super) fn list(list: &RulesList) -> Answer {
    let policy = setup::sources(&list.sources).load()?;
    let listing = Listing::of(&policy, list.tool.as_deref());
    if list.json {
        print::json(&listing)?;
        return Ok(Status::Ok);
    }
    for decision in LISTS {
        let rules: Vec<&RuleView> =
            listing.rules.iter().filter(|one| one.list == decision).collect();
        if !rules.is_empty() {
            print::line(decision.name())?;
        }
        for group in rules.chunk_by(|one, next| one.name.is_some() && one.name == next.name) {
            print(group)?;
        }
    }
    if listing.rules.is_empty() {
        let tool = list.tool.as_ref().map(|tool| format!(" about {}", escape(tool)));
        print::line(&format!("there are no rules{}", tool.unwrap_or_default()))?;
    }
    listing.notes.iter().for_each(|note| print::note(note));
    Ok(Status::Ok)
}

impl Listing {
    fn of(policy: &Policy, tool: Option<&str>) -> Self {
        let shadows = policy.rules.shadows();
        let listed = |rule: &Rule| RuleView {
            list: rule.list(),
            rule: rule.text().to_owned(),
            name: rule.name().map(str::to_owned),
            source: source(rule),
            reason: rule.reason().map(str::to_owned),
            instead: rule.alternative().map(str::to_owned),
            examples: rule.examples().all().chain(rule.lines().all()).count(),
            shadowed_by: shadows.iter().find(|shadow| std::ptr::eq(shadow.rule, rule)).map(
                |shadow| Shadowing {
                    list: shadow.by.list(),
                    rule: shadow.by.text().to_owned(),
                    source: source(shadow.by),
                },
            ),
        };
        let applies = |rule: &&Rule| tool.is_none_or(|tool| rule.judges(tool));
        let mut rules: Vec<RuleView> =
            policy.rules.all().iter().filter(applies).map(listed).collect();
        rules.sort_by_key(|one| std::cmp::Reverse(one.list));
        Self { tool: tool.map(str::to_owned), rules, notes: policy.notes() }
    }
}

/// Rules of one name, or one without.
fn print(group: &[&RuleView]) -> Result<(), print::StdoutError> {
    let Some(first) = group.first() else { return Ok(()) };
    let title = first.name.as_deref().unwrap_or(&first.rule);
    let place = first.source.as_deref().map(escape).unwrap_or_default();
    print::line(&format!("  {:<32} {FAINT}{place}{FAINT:#}", escape(title)))?;
    if first.name.is_some() {
        let rules: Vec<&str> = group.iter().map(|one| one.rule.as_str()).collect();
        detail("rules", &rules.join(" "))?;
    }
    if let Some(reason) = &first.reason {
        detail("reason", reason)?;
    }
    if let Some(instead) = &first.instead {
        detail("instead", instead)?;
    }
    for by in group.iter().filter_map(|one| one.shadowed_by.as_ref()) {
        let place = by.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        let text = format!("{} {}{place} meets every such call", by.list.name(), by.rule);
        detail("never decides", &text)?;
    }
    Ok(())
}

fn detail(name: &str, text: &str) -> Result<(), print::StdoutError> {
    print::line(&format!("      {FAINT}{name}:{FAINT:#} {}", escape(text)))
}

fn source(rule: &Rule) -> Option<String> {
    rule.place()
}
