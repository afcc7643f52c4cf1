//! `[tool.NAME]` of a policy file: as a person writes it, and from that to a tool.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::{Attempts, Declaration, PolicyTool, Risk, Runs, Schema, ToolName, folder_of};
use crate::LoadError;
use crate::bounded::{self, Links, TEXT_BYTES_MAX};
use crate::config::file::{LimitsTable, Names, Text};
use crate::config::source::Source;
use crate::json;
use crate::limits::{Limits, parse_duration};
use crate::model::tier::Tier;

/// One `[tool.NAME]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolTable {
    description: Text,
    command: Names,
    python: Text,
    /// A schema, or the name of a file that holds one.
    input: Option<Spanned<toml::Value>>,
    tier: Text,
    #[serde(default)]
    limits: LimitsTable,
    timeout: Text,
    risk: Names,
    idempotent: Option<Spanned<bool>>,
    attempts: Option<Spanned<u32>>,
}

impl Source {
    /// The tools of a trusted file.
    pub(crate) fn tools(
        &self,
        tables: &BTreeMap<String, Spanned<ToolTable>>,
        known: &[PolicyTool],
    ) -> Result<Vec<PolicyTool>, LoadError> {
        let mut all = Vec::new();
        for (name, table) in tables {
            let line = self.line(&table.span());
            let tool = self.tool(name, table.get_ref(), line)?;
            let other = known.iter().find(|one| one.declaration.name == tool.declaration.name);
            if let Some(other) = other {
                let place = other.declaration.source.as_deref().unwrap_or("the host");
                return Err(self.wrong(line, format!("the tool {name:?} is in {place} already")));
            }
            all.push(tool);
        }
        Ok(all)
    }

    fn tool(&self, name: &str, written: &ToolTable, line: usize) -> Result<PolicyTool, LoadError> {
        let named = ToolName::from_str(name).map_err(|bad| self.wrong(line, bad.to_string()))?;
        let folder = folder_of(&self.path)
            .map_err(|source| LoadError::Read { path: self.path.clone(), source })?;
        let runs = self.runs(written, line)?;
        let mut declaration = Declaration::new(named);
        declaration.description =
            written.description.as_ref().map(|text| text.get_ref().clone()).unwrap_or_default();
        if let Some(input) = &written.input {
            declaration.input = self.schema(input, &folder)?;
        }
        if let Some(tier) = &written.tier {
            declaration.tier = self.value(tier, tier_of)?;
        }
        declaration.limits = self.limits(&written.limits, &declaration.limits)?;
        if let Some(timeout) = &written.timeout {
            let wall =
                self.value(timeout, |text| parse_duration(text).map_err(|e| e.to_string()))?;
            declaration.limits = Limits { wall, ..declaration.limits };
        }
        if let Some(risks) = &written.risk {
            let risk = |text: &str| Risk::from_str(text).map_err(|bad| bad.to_string());
            let all = risks.get_ref().iter().map(|one| self.value(one, risk));
            declaration.risks = all.collect::<Result<_, _>>()?;
        }
        declaration.attempts = self.attempts(written)?;
        declaration.source = Some(format!("{}:{line}", self.path.display()));
        declaration.check().map_err(|bad| self.wrong(line, bad.to_string()))?;
        Ok(PolicyTool { declaration, runs, folder })
    }

    fn runs(&self, written: &ToolTable, line: usize) -> Result<Runs, LoadError> {
        match (&written.command, &written.python) {
            (None, None) => Err(self.wrong(line, "a tool needs `command` or `python`".to_owned())),
            (Some(_), Some(python)) => {
                let line = self.line(&python.span());
                Err(self.wrong(line, "a tool has `command` or `python`, not both".to_owned()))
            }
            (Some(words), None) => {
                let words: Vec<String> =
                    words.get_ref().iter().map(|word| word.get_ref().clone()).collect();
                let is_empty = words.first().is_none_or(String::is_empty);
                if is_empty || words.iter().any(|word| word.contains('\0')) {
                    return Err(self.wrong(line, "the command is empty or holds NUL".to_owned()));
                }
                Ok(Runs::Command(words))
            }
            (None, Some(text)) => self.value(text, python),
        }
    }

    fn schema(&self, input: &Spanned<toml::Value>, folder: &Path) -> Result<Schema, LoadError> {
        let line = self.line(&input.span());
        let written: Value = if let Some(name) = input.get_ref().as_str() {
            let path = folder.join(name);
            let text = bounded::read_text(&path, Links::Followed, TEXT_BYTES_MAX)
                .map_err(|source| LoadError::Read { path: path.clone(), source })?;
            json::from_str(&text)
                .map_err(|error| self.wrong(line, format!("the schema {name:?}: {error}")))?
        } else {
            serde_json::to_value(input.get_ref())
                .map_err(|error| self.wrong(line, format!("the schema: {error}")))?
        };
        Schema::compile(written)
            .map_err(|bad| self.wrong(line, format!("the schema of its input: {bad}")))
    }

    fn attempts(&self, written: &ToolTable) -> Result<Attempts, LoadError> {
        let is_idempotent = written.idempotent.as_ref().is_some_and(|flag| *flag.get_ref());
        let Some(most) = &written.attempts else {
            return Ok(if is_idempotent { Attempts::IDEMPOTENT } else { Attempts::ONE });
        };
        let line = self.line(&most.span());
        match (*most.get_ref(), is_idempotent) {
            (2.., false) => {
                let why = "a tool that is tried again has to be `idempotent = true`";
                Err(self.wrong(line, why.to_owned()))
            }
            (most @ 1..=Attempts::MOST, _) => Ok(Attempts { most, ..Attempts::IDEMPOTENT }),
            (most, _) => Err(self.wrong(line, format!("{most} attempts: 1 to {}", Attempts::MOST))),
        }
    }

    fn wrong(&self, line: usize, message: String) -> LoadError {
        LoadError::Value { path: self.path.clone(), line, message }
    }
}

fn tier_of(text: &str) -> Result<Tier, String> {
    let tier = Tier::from_str(text).map_err(|bad| bad.to_string())?;
    if tier == Tier::Inline {
        let why = "only a closure that is compiled into the host can be inline";
        return Err(format!("{why}; use process, jail, container or gvisor"));
    }
    Ok(tier)
}

/// `package.module:function`.
fn python(text: &str) -> Result<Runs, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let parts = text.split_once(':').filter(|(module, function)| {
        module.split('.').all(is_name) && function.split('.').all(is_name)
    });
    match parts {
        Some((module, function)) => {
            Ok(Runs::Python { module: module.to_owned(), function: function.to_owned() })
        }
        None => Err(format!("invalid function {text:?}; expected \"package.module:function\"")),
    }
}
