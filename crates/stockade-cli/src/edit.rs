//! Edits the rules of a policy file as a person would: what is not about them stays as it is,
//! comments too.

use std::path::Path;

use stockade::policy::Decision;
use toml_edit::{
    Array, ArrayOfTables, Decor, DocumentMut, InlineTable, Item, Table, TableLike, Value,
};

/// A rule that is to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) rule: String,
    pub(crate) reason: Option<String>,
    pub(crate) instead: Option<String>,
    pub(crate) matching: Vec<String>,
    pub(crate) not_matching: Vec<String>,
}

/// Why a file cannot be edited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    #[error("read {path}: {message}")]
    Syntax { path: String, message: String },
    #[error("edit {path}: `{key}` is no list there")]
    NoList { path: String, key: String },
    #[error("edit {path}: {rule:?} is in that list already")]
    Known { path: String, rule: String },
}

/// The text of a file with one more rule.
pub(crate) fn with_rule(
    path: &Path,
    text: &str,
    list: Decision,
    entry: &Entry,
) -> Result<String, EditError> {
    let mut document = parse(path, text)?;
    let no_list = |key: &str| EditError::NoList { path: shown(path), key: key.to_owned() };
    let rules = document.entry("rules").or_insert_with(|| Item::Table(Table::new()));
    let rules = rules.as_table_like_mut().ok_or_else(|| no_list("rules"))?;
    let item = rules.entry(list.name()).or_insert_with(|| Item::Value(Array::new().into()));
    let known = || EditError::Known { path: shown(path), rule: entry.rule.clone() };
    match item {
        Item::Value(Value::Array(array)) => {
            if array.iter().any(|value| is_rule(value, &entry.rule)) {
                return Err(known());
            }
            push(array, entry.value());
        }
        Item::ArrayOfTables(tables) => {
            if tables.iter().any(|table| text_of(table.get("rule")) == Some(entry.rule.trim())) {
                return Err(known());
            }
            let mut table = Table::new();
            entry.fill(&mut table);
            tables.push(table);
        }
        Item::None | Item::Value(_) | Item::Table(_) => {
            return Err(no_list(&format!("rules.{}", list.name())));
        }
    }
    Ok(document.to_string())
}

/// The text of a file without a rule, and the lists that it was in.
pub(crate) fn without_rule(
    path: &Path,
    text: &str,
    lists: &[Decision],
    rule: &str,
) -> Result<(String, Vec<Decision>), EditError> {
    let mut document = parse(path, text)?;
    let mut found = Vec::new();
    for list in lists {
        let rules = document.get_mut("rules").and_then(Item::as_table_like_mut);
        let item = rules.and_then(|rules| rules.get_mut(list.name()));
        let removed = match item {
            Some(Item::Value(Value::Array(array))) => remove(array, rule),
            Some(Item::ArrayOfTables(tables)) => remove_table(tables, rule),
            Some(Item::None | Item::Value(_) | Item::Table(_)) | None => false,
        };
        if removed {
            found.push(*list);
        }
    }
    Ok((document.to_string(), found))
}

impl Entry {
    /// The short form, or a table if there is more to say.
    fn value(&self) -> Value {
        let is_plain = self.reason.is_none()
            && self.instead.is_none()
            && self.matching.is_empty()
            && self.not_matching.is_empty();
        if is_plain {
            return Value::from(self.rule.trim());
        }
        let mut table = InlineTable::new();
        self.fill(&mut table);
        Value::from(table)
    }

    fn fill(&self, table: &mut dyn TableLike) {
        let mut put = |key: &str, value: Value| {
            table.insert(key, Item::Value(value));
        };
        put("rule", Value::from(self.rule.trim()));
        for (key, text) in [("reason", &self.reason), ("instead", &self.instead)] {
            if let Some(text) = text {
                put(key, Value::from(text.as_str()));
            }
        }
        for (key, texts) in [("match", &self.matching), ("not_match", &self.not_matching)] {
            if !texts.is_empty() {
                put(key, Value::from(texts.iter().map(String::as_str).collect::<Array>()));
            }
        }
    }
}

fn parse(path: &Path, text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| EditError::Syntax {
        path: shown(path),
        message: error.to_string().trim_end().to_owned(),
    })
}

/// Adds a value on a line of its own, if the others are on theirs.
fn push(array: &mut Array, mut value: Value) {
    let trailing = array.trailing().as_str().unwrap_or_default().to_owned();
    let before = array.iter().last().map(|last| prefix(last.decor()).to_owned());
    let indent = before.as_deref().and_then(|text| text.rsplit_once('\n')).map(|(_, end)| end);
    match indent {
        // What follows the last value on its line, a comment perhaps, stays there.
        Some(indent) => {
            let line = trailing.rsplit_once('\n').map_or(trailing.as_str(), |(line, _)| line);
            *value.decor_mut() = Decor::new(format!("{line}\n{indent}"), "");
            array.push_formatted(value);
            array.set_trailing("\n");
            array.set_trailing_comma(true);
        }
        None => array.push(value),
    }
}

/// Takes a rule out; the comments before it stay.
fn remove(array: &mut Array, rule: &str) -> bool {
    let Some(at) = array.iter().position(|value| is_rule(value, rule)) else { return false };
    let gone = array.remove(at);
    let before = prefix(gone.decor()).to_owned();
    let comments = before.rsplit_once('\n').map_or("", |(lines, _)| lines).to_owned();
    let keep = if comments.contains('#') { comments } else { String::new() };
    match array.get_mut(at) {
        Some(next) => {
            let own = prefix(next.decor()).to_owned();
            let own =
                if at == 0 && !own.contains('\n') { own.trim_start().to_owned() } else { own };
            next.decor_mut().set_prefix(format!("{keep}{own}"));
        }
        None => {
            let own = array.trailing().as_str().unwrap_or_default().to_owned();
            array.set_trailing(format!("{keep}{own}"));
        }
    }
    true
}

fn remove_table(tables: &mut ArrayOfTables, rule: &str) -> bool {
    let is_it = |table: &Table| text_of(table.get("rule")) == Some(rule.trim());
    let Some(at) = tables.iter().position(is_it) else { return false };
    tables.remove(at);
    true
}

fn is_rule(value: &Value, rule: &str) -> bool {
    let of_table = |table: &'_ InlineTable| table.get("rule")?.as_str().map(str::to_owned);
    let text = value.as_str().map(str::to_owned);
    let text = text.or_else(|| value.as_inline_table().and_then(of_table));
    text.as_deref().map(str::trim) == Some(rule.trim())
}

fn text_of(item: Option<&Item>) -> Option<&str> {
    item.and_then(Item::as_str).map(str::trim)
}

fn prefix(decor: &Decor) -> &str {
    decor.prefix().and_then(toml_edit::RawString::as_str).unwrap_or_default()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests;
