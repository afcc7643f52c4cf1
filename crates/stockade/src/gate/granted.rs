//! What a person allowed for the session.

use std::collections::HashSet;

use super::question::{Offer, Prompt};
use super::ruled::Doubt;
use crate::journal::preview;
use crate::journal::record::Hash;
use crate::policy::rule::{Facts, Rule, Rules};
use crate::policy::weigh::Ground;
use crate::policy::{By, Decision, Ruling};

/// Where a rule that was answered for the session is written.
const SOURCE: &str = "this session";

/// The yeses of one session.
#[derive(Debug, Default)]
pub(super) struct Granted {
    added: Vec<Rule>,
    /// What was added, beside what the policy denies and allows.
    rules: Rules,
    calls: HashSet<Hash>,
}

impl Granted {
    /// Remembers a yes: the rules that were offered, or the call itself where there are none.
    pub(super) fn grant(&mut self, prompt: &Prompt, facts: &Facts, policy: &Rules) {
        let (Offer::Session(rules) | Offer::Always(rules)) = &prompt.offer else { return };
        let parsed = rules.iter().filter_map(|text| Rule::parse(text, Decision::Allow).ok());
        self.added.extend(parsed);
        self.rules = without_questions(policy).and(self.added.clone());
        if rules.is_empty() {
            self.calls.insert(identity(facts, &prompt.words));
        }
    }

    /// The ruling on a call that was asked about, if a yes covers it. What a finding or a hook asks
    /// about, and protected paths, are asked about each time.
    pub(super) fn ruling(&self, doubt: &Doubt, words: &[std::ffi::OsString]) -> Option<Ruling> {
        if matches!(doubt.ground, Ground::Finding | Ground::Protected | Ground::Hook) {
            return None;
        }
        let by_rule = self.rules.decide(&doubt.facts);
        let rule = match by_rule.filter(|found| found.decision == Decision::Allow) {
            Some(found) => found.rule,
            None if self.calls.contains(&identity(&doubt.facts, words)) => doubt.facts.tool.clone(),
            None => return None,
        };
        let source = Some(SOURCE.to_owned());
        Some(Ruling { rule: Some(rule), source, ..Ruling::allow(By::Rule) })
    }
}

/// The rules of a policy but for those that ask, which were answered.
pub(super) fn without_questions(policy: &Rules) -> Rules {
    let keep = policy.all().iter().filter(|rule| rule.list() != Decision::Ask);
    Rules::compile(keep.cloned().collect())
}

/// A call in its folder.
fn identity(facts: &Facts, words: &[std::ffi::OsString]) -> Hash {
    let place = [facts.tool.clone().into(), facts.cwd.real.clone().into_os_string()];
    let all: Vec<std::ffi::OsString> = place.into_iter().chain(words.iter().cloned()).collect();
    preview::digest(&all)
}
