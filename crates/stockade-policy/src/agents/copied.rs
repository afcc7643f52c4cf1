//! Files of which an agent gets a copy, and what of the copy is put back.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json as value_of};

use crate::json;

/// How many values of a copied file are put back; an agent changes a few.
const VALUES_MAX: usize = 256;
/// How much text is gone through for that.
const WORK_BYTES_MAX: usize = 64 << 20;

/// The most letters of a text that is kept of a copied file.
const WORD_LETTERS_MAX: usize = 64;

/// A file of which an agent gets a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its name in the agent's folder.
    pub name: String,
    /// Whether it is beside the folder, where no variable moves that.
    pub is_beside: bool,
    /// What is put back into the file.
    pub keep: Vec<KeptKey>,
}

/// A key of a JSON file whose value is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey(Vec<KeyStep>);

/// One object further down.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyStep {
    Named(String),
    Project,
    Any,
}

impl CopiedFile {
    pub(super) fn of(name: String, is_beside: bool, keep: &[String]) -> Result<Self, String> {
        let keep = keep.iter().map(|text| KeptKey::parse(text));
        let keep = keep.collect::<Result<_, _>>()?;
        Ok(Self { name, is_beside, keep })
    }

    /// The text of the file with what is kept of a copy: a number, a truth value or a word, under a kept key
    /// whose value in the file is still the one that was copied. All else in the text stays as it is. `None`
    /// if nothing changes, or if the file is no JSON object.
    pub fn merged(&self, base: &Value, copy: &Value, now: &str, project: &str) -> Option<String> {
        let file: Value = json::from_str(now).ok()?;
        let mut text = now.trim().to_owned();
        // Each value takes a look at the whole text.
        let fit = WORK_BYTES_MAX.checked_div(text.len()).unwrap_or(VALUES_MAX);
        let mut left = fit.clamp(1, VALUES_MAX);
        for key in &self.keep {
            for path in key.paths(copy, project) {
                if left == 0 {
                    break;
                }
                let [was, new, is] = [base, copy, &file].map(|one| at(one, &path));
                if let Some(new) = new.filter(|new| is_harmless(new))
                    && was != Some(new)
                    && was == is
                {
                    text = with_value(&text, &path, new, 1).unwrap_or(text);
                    left = left.saturating_sub(1);
                }
            }
        }
        let end = now.get(now.trim_end().len()..).unwrap_or_default();
        (text != now.trim()).then(|| text + end)
    }

    /// The keys of a copy whose values have changed and are in no list of what is kept: those at the top,
    /// and those in a kept object.
    pub fn dropped(&self, base: &Value, copy: &Value, project: &str) -> Vec<String> {
        let mut dropped = BTreeSet::new();
        self.collect_dropped((base, copy), &mut Vec::new(), project, &mut dropped);
        dropped.into_iter().collect()
    }

    fn collect_dropped(
        &self,
        (base, copy): (&Value, &Value),
        path: &mut Vec<String>,
        project: &str,
        dropped: &mut BTreeSet<String>,
    ) {
        let none = serde_json::Map::new();
        let [was, new] = [base, copy].map(|one| one.as_object().unwrap_or(&none));
        let names: BTreeSet<&String> = was.keys().chain(new.keys()).collect();
        for name in names {
            let pair = (was.get(name).unwrap_or(&Value::Null), new.get(name));
            if Some(pair.0) == pair.1 {
                continue;
            }
            path.push(name.clone());
            let is_kept = |key: &KeptKey| key.matches(path, project);
            let is_above = |key: &KeptKey| key.is_beneath(path, project);
            let is_whole = self.keep.iter().any(is_kept) && pair.1.is_some_and(is_harmless);
            if !is_whole {
                match pair.1 {
                    Some(inner @ Value::Object(_)) if self.keep.iter().any(is_above) => {
                        self.collect_dropped((pair.0, inner), path, project, dropped);
                    }
                    _ => drop(dropped.insert(path.join("."))),
                }
            }
            path.pop();
        }
    }
}

impl KeptKey {
    fn parse(text: &str) -> Result<Self, String> {
        let step = |part: &str| match part {
            "" => Err(format!("{text:?} has an empty part")),
            "*" => Ok(KeyStep::Any),
            "{project}" => Ok(KeyStep::Project),
            name if is_word(name) => Ok(KeyStep::Named(name.to_owned())),
            name => Err(format!("{name:?} is no name of a key")),
        };
        text.split('.').map(step).collect::<Result<_, _>>().map(Self)
    }

    /// The paths of this key in a value.
    fn paths(&self, value: &Value, project: &str) -> Vec<Vec<String>> {
        let mut paths = vec![Vec::new()];
        for step in &self.0 {
            paths = paths
                .into_iter()
                .flat_map(|path: Vec<String>| {
                    let names: Vec<String> = match step {
                        KeyStep::Named(name) => vec![name.clone()],
                        KeyStep::Project => vec![project.to_owned()],
                        KeyStep::Any => {
                            let object = at(value, &path).and_then(Value::as_object);
                            let names = object.into_iter().flat_map(serde_json::Map::keys);
                            names.filter(|name| is_word(name)).cloned().collect()
                        }
                    };
                    let longer = move |name| path.iter().cloned().chain([name]).collect();
                    names.into_iter().map(longer).collect::<Vec<Vec<String>>>()
                })
                .collect();
        }
        paths
    }

    fn matches(&self, path: &[String], project: &str) -> bool {
        self.0.len() == path.len() && self.begins_with(path, project)
    }

    fn is_beneath(&self, path: &[String], project: &str) -> bool {
        self.0.len() > path.len() && self.begins_with(path, project)
    }

    fn begins_with(&self, path: &[String], project: &str) -> bool {
        self.0.iter().zip(path).all(|(step, name)| match step {
            KeyStep::Named(known) => known == name,
            KeyStep::Project => name == project,
            KeyStep::Any => is_word(name),
        })
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// The text of a JSON object with a value at a path, whose objects are made if they are not there. `None`
/// where something else is in the way.
fn with_value(text: &str, path: &[String], new: &Value, depth: usize) -> Option<String> {
    let (name, below) = path.split_first()?;
    let RawObject(mut members) = json::from_str(text).ok()?;
    let member = members.iter().position(|(known, _)| known == name);
    let old = member.and_then(|at| members.get(at)).map_or("{}", |(_, text)| text.as_str());
    let value = match below {
        [] => new.to_string(),
        below => with_value(old, below, new, depth.saturating_add(1))?,
    };
    match member.and_then(|at| members.get_mut(at)) {
        Some((_, text)) => *text = value,
        None => members.push((name.clone(), value)),
    }
    let indent = "  ".repeat(depth);
    let lines = members.iter().map(|(name, text)| format!("{indent}{}: {text}", value_of!(name)));
    let end = "  ".repeat(depth.saturating_sub(1));
    Some(format!("{{\n{}\n{end}}}", lines.collect::<Vec<_>>().join(",\n")))
}

/// The members of an object in their order, each value as it is written.
struct RawObject(Vec<(String, String)>);

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push((name, value.get().to_owned()));
                }
                Ok(RawObject(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Whether no program and no text for a model can be in a value.
fn is_harmless(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_word(text),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// What every object of JavaScript has by itself, or is asked for.
const OF_OBJECTS: [&str; 9] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "then",
    "toJSON",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Whether a text is one short word; none of the names that an object of JavaScript has by itself.
fn is_word(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let is_plain =
        !text.is_empty() && text.len() <= WORD_LETTERS_MAX && text.chars().all(is_letter);
    is_plain && !text.starts_with("__") && !OF_OBJECTS.contains(&text)
}
