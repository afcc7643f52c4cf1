//! A rule in a policy file: its text, or a table with its text, a reason and examples.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;

use crate::config::file::{Entries, RulesTable};
use crate::config::source::Source;
use crate::rules::{Example, Examples, Rule, RuleError};
use crate::{Decision, LoadError};

/// As it is written.
#[derive(Debug)]
pub(crate) enum Entry {
    Text(String),
    Table(Table),
}

/// The long form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    rule: Spanned<String>,
    reason: Option<String>,
    instead: Option<String>,
    #[serde(default, rename = "match")]
    matching: Vec<Spanned<String>>,
    #[serde(default, rename = "not_match")]
    not_matching: Vec<Spanned<String>>,
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// Takes either form, so that a mistake in one is reported as a mistake in that one.
struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a rule as text, or a table with `rule`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(map)).map(Entry::Table)
    }
}

impl Source {
    /// The rules of a file, in the order of the lists.
    pub(crate) fn rules(&self, table: &RulesTable) -> Result<Vec<Rule>, LoadError> {
        let (mut rules, mut failed) = (Vec::new(), Vec::new());
        for (list, entries) in [
            (Decision::Deny, &table.deny),
            (Decision::Ask, &table.ask),
            (Decision::Allow, &table.allow),
        ] {
            rules.extend(self.list(list, entries, &mut failed)?);
        }
        if failed.is_empty() {
            return Ok(rules);
        }
        Err(LoadError::Examples { path: self.path.clone(), failed })
    }

    fn list(
        &self,
        list: Decision,
        entries: &Entries,
        failed: &mut Vec<(usize, String)>,
    ) -> Result<Vec<Rule>, LoadError> {
        if entries.as_ref().is_none_or(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let base = self.base()?;
        let entries = entries.iter().flatten();
        entries.map(|entry| self.entry(list, entry, &base, failed)).collect()
    }

    /// The folder that paths of its rules are relative to.
    pub(crate) fn base(&self) -> Result<PathBuf, LoadError> {
        let file = std::path::absolute(&self.path);
        let file = file.map_err(|source| LoadError::Read { path: self.path.clone(), source })?;
        Ok(file.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// Reads the text of a rule that stands there.
    pub(crate) fn read_rule(
        &self,
        list: Decision,
        (text, span): (&str, Range<usize>),
        base: &Path,
    ) -> Result<Rule, LoadError> {
        let line = self.line(&span);
        let wrong = |message: String| LoadError::Value {
            path: self.path.clone(),
            line,
            message: format!("the rule {text:?}: {message}"),
        };
        let rule = Rule::parse_in(text, list, base);
        let rule = rule.map_err(|error: RuleError| wrong(error.to_string()))?;
        let rule = rule.written_in(self.path.clone(), line);
        // A refusal that can never refuse is a mistake; such an allowance is only useless.
        if let (false, Some(note), true) =
            (rule.is_effective(), rule.note(), list > Decision::Allow)
        {
            return Err(wrong(note.to_owned()));
        }
        if rule.needs_home() && std::env::home_dir().is_none() {
            return Err(wrong("it needs a home folder, and there is none".to_owned()));
        }
        Ok(rule)
    }

    fn entry(
        &self,
        list: Decision,
        entry: &Spanned<Entry>,
        base: &Path,
        failed: &mut Vec<(usize, String)>,
    ) -> Result<Rule, LoadError> {
        let (text, span) = match entry.get_ref() {
            Entry::Text(text) => (text, entry.span()),
            Entry::Table(table) => (table.rule.get_ref(), table.rule.span()),
        };
        let mut rule = self.read_rule(list, (text, span.clone()), base)?;
        let refuse = |error: RuleError| LoadError::Value {
            path: self.path.clone(),
            line: self.line(&span),
            message: format!("the rule {text:?}: {error}"),
        };
        let Entry::Table(table) = entry.get_ref() else { return Ok(rule) };
        if let Some(reason) = &table.reason {
            rule = rule.because(reason);
        }
        if let Some(instead) = &table.instead {
            rule = rule.instead(instead);
        }
        let before = failed.len();
        let matching = table.matching.iter().map(|text| (Example::Match(text.get_ref()), text));
        let others =
            table.not_matching.iter().map(|text| (Example::NotMatch(text.get_ref()), text));
        for (example, place) in matching.chain(others) {
            if let Err(error) = rule.check(example) {
                let message = format!("the rule {text:?}: {}", error.message);
                failed.push((self.line(&place.span()), message));
            }
        }
        if failed.len() > before {
            return Ok(rule);
        }
        let plain = |texts: &[Spanned<String>]| texts.iter().map(|t| t.get_ref().clone()).collect();
        let examples =
            Examples { matching: plain(&table.matching), not_matching: plain(&table.not_matching) };
        rule.with_examples(examples).map_err(refuse)
    }
}
