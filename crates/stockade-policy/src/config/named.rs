//! Rules with a name: `[[rules.named]]` in a policy file, and those that are shipped.
//!
//! A name is what `rules.drop` removes rules by. Their examples are shell lines, which need the whole
//! gate: `stockade rules test` checks them, and a test checks those that are shipped.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use toml::Spanned;

use crate::config::file::RulesTable;
use crate::config::load::UNTRUSTED;
use crate::config::nearest::nearest;
use crate::config::source::Source;
use crate::confine::Origin;
use crate::rules::{Examples, Rule, RuleError, Rules};
use crate::{Decision, LoadError, Policy};

/// The shipped rules as tables, which the build script writes from `policies/default.toml`.
mod table {
    include!(concat!(env!("OUT_DIR"), "/rules.rs"));
}

/// Rules that belong together, as they are written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedTable {
    name: Spanned<String>,
    decision: Spanned<String>,
    rules: Vec<Spanned<String>>,
    reason: Option<String>,
    instead: Option<String>,
    #[serde(default, rename = "match")]
    matching: Vec<String>,
    #[serde(default, rename = "not_match")]
    not_matching: Vec<String>,
}

/// One shipped entry.
struct ShippedRule {
    name: &'static str,
    decision: &'static str,
    rules: &'static [&'static str],
    reason: &'static str,
    instead: &'static str,
    matching: &'static [&'static str],
    not_matching: &'static [&'static str],
}

/// The rules that apply unless a file drops them.
pub(crate) fn shipped() -> Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        Rules::compile(table::SHIPPED.iter().flat_map(ShippedRule::rules).collect())
    });
    RULES.clone()
}

impl ShippedRule {
    /// A rule that cannot be read refuses everything, and a test keeps that from happening.
    fn rules(&self) -> impl Iterator<Item = Rule> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (matching, not_matching) = (texts(self.matching), texts(self.not_matching));
        let lines = Arc::new(Examples { matching, not_matching });
        self.rules.iter().filter_map(move |text| {
            let rule = self.rule(text, &lines).or_else(|_| Rule::parse("*", Decision::Deny));
            rule.ok().map(|rule| rule.with_origin(Origin::Shipped))
        })
    }

    fn rule(&self, text: &str, lines: &Arc<Examples>) -> Result<Rule, RuleError> {
        let list = decision(self.decision).unwrap_or(Decision::Deny);
        let rule = Rule::parse(text, list)?.named(self.name).because(self.reason);
        Ok(rule.instead(self.instead).with_lines(Arc::clone(lines)))
    }
}

impl Source {
    /// The rules of a trusted file: those that it drops go first, and a name that is there already
    /// gets the meaning that this file gives it.
    pub(crate) fn apply_rules(
        &self,
        table: &RulesTable,
        policy: &mut Policy,
    ) -> Result<(), LoadError> {
        for name in table.drop.iter().flat_map(Spanned::get_ref) {
            let without = policy.rules.without(name.get_ref());
            policy.rules = without.ok_or_else(|| self.unknown(name, &policy.rules))?;
        }
        let named = self.named(table)?;
        for name in table.named.iter().map(|one| one.get_ref().name.get_ref()) {
            policy.rules = policy.rules.without(name).unwrap_or(std::mem::take(&mut policy.rules));
        }
        policy.rules = policy.rules.and(named).and(self.rules(table)?);
        Ok(())
    }

    /// The rules of an untrusted file: those that allow are left out with a note, and a name that is
    /// there already is an error. [`Source::loosening`] has refused `rules.drop`.
    pub(crate) fn tighten_rules(
        &self,
        table: &RulesTable,
        policy: &mut Policy,
    ) -> Result<(), LoadError> {
        let known = |name: &str| policy.rules.all().iter().any(|rule| rule.name() == Some(name));
        let taken = table.named.iter().map(|one| &one.get_ref().name);
        if let Some(name) = taken.into_iter().find(|name| known(name.get_ref())) {
            let message = format!("there is already a rule {:?}; use another name", name.get_ref());
            return Err(self.wrong_at(name, message));
        }
        let (allowing, refusing) = (self.named(table)?.into_iter())
            .chain(self.rules(table)?)
            .map(|rule| rule.with_origin(Origin::Project))
            .partition::<Vec<Rule>, _>(|rule| rule.list() == Decision::Allow);
        policy.rules = policy.rules.and(refusing).ignoring(&allowing, UNTRUSTED);
        Ok(())
    }

    /// The named rules of a file, in its order.
    pub(crate) fn named(&self, table: &RulesTable) -> Result<Vec<Rule>, LoadError> {
        let mut rules = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let base = self.base()?;
        for named in table.named.iter().map(Spanned::get_ref) {
            let name = named.name.get_ref();
            let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            if name.is_empty() || !name.chars().all(fits) {
                let message = format!("the name {name:?} has to be letters, digits, - and _");
                return Err(self.wrong_at(&named.name, message));
            }
            if names.contains(&name.as_str()) {
                return Err(self.wrong_at(&named.name, format!("two rules have the name {name:?}")));
            }
            names.push(name);
            let list = self.value(&named.decision, |text| {
                decision(text).ok_or_else(|| {
                    format!("unknown decision {text:?}; expected deny, ask or allow")
                })
            })?;
            let examples = Examples {
                matching: named.matching.clone(),
                not_matching: named.not_matching.clone(),
            };
            for text in &named.rules {
                let rule = self.read_rule(list, (text.get_ref(), text.span()), &base)?;
                let rule = rule.named(name).with_lines(examples.clone());
                let rule = named.reason.iter().fold(rule, Rule::because);
                rules.push(named.instead.iter().fold(rule, Rule::instead));
            }
        }
        Ok(rules)
    }

    fn unknown(&self, name: &Spanned<String>, rules: &Rules) -> LoadError {
        let mut names: Vec<&str> = rules.all().iter().filter_map(Rule::name).collect();
        names.dedup();
        let guess = match nearest(name.get_ref(), names.iter().copied()) {
            Some(guess) => format!("did you mean {guess:?}?"),
            None => format!("expected one of {}", names.join(", ")),
        };
        self.wrong_at(name, format!("there is no rule named {:?}; {guess}", name.get_ref()))
    }

    fn wrong_at(&self, place: &Spanned<String>, message: String) -> LoadError {
        LoadError::Value { path: self.path.clone(), line: self.line(&place.span()), message }
    }
}

/// The list that a decision is of.
fn decision(text: &str) -> Option<Decision> {
    let all = [Decision::Deny, Decision::Ask, Decision::Allow];
    all.into_iter().find(|decision| decision.name() == text)
}
