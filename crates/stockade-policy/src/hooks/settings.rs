//! The hooks of a settings file of coding agents, as they are written there.
//!
//! A hook that would be asked before calls and cannot be run here is an error: a guard that is
//! passed over in silence guards nothing.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{CommandForm, Condition, Event, Hook, HookCommand, Matcher, TIMEOUT_MAX};
use crate::Decision;
use crate::rules::Rule;

/// How long a command may take there, unless it says otherwise.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(600);

/// The hooks of a settings file, and what a person should know about those that are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsHooks {
    /// Those that are run.
    pub hooks: Vec<Hook>,
    /// One line for each that is not.
    pub notes: Vec<String>,
}

/// Why the hooks of a settings file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("use {place}: {message}")]
pub struct BadSettings {
    /// Which part, as `hooks.PreToolUse[0].hooks[1]`.
    pub place: String,
    /// What is wrong with it.
    pub message: String,
}

/// Reads what a settings file has under `hooks`. `source` names the file, and `base` is the folder
/// that paths of rules begin at.
pub fn from_settings(
    hooks: &Value,
    source: &Path,
    base: &Path,
) -> Result<SettingsHooks, BadSettings> {
    let mut all = SettingsHooks::default();
    let file = File { source, base };
    for (name, groups) in object(hooks, "hooks")? {
        let place = format!("hooks.{name}");
        let event = match name.as_str() {
            "PreToolUse" => Event::Pre,
            "PostToolUse" => Event::Post,
            // Nothing of the kind happens here.
            _ => {
                all.notes.push(format!("{place}: left out, there is no such event here"));
                continue;
            }
        };
        for (at, group) in array(groups, &place)?.iter().enumerate() {
            file.group(event, group, &format!("{place}[{at}]"), &mut all)?;
        }
    }
    Ok(all)
}

struct File<'a> {
    source: &'a Path,
    base: &'a Path,
}

impl File<'_> {
    fn group(
        &self,
        event: Event,
        group: &Value,
        place: &str,
        all: &mut SettingsHooks,
    ) -> Result<(), BadSettings> {
        let group = object(group, place)?;
        let matcher = match text(group, "matcher", place)? {
            None => Matcher::all(),
            Some(text) => Matcher::parse(text).map_err(|error| bad(place, &error.to_string()))?,
        };
        let handlers = group.get("hooks").unwrap_or(&Value::Null);
        for (at, handler) in array(handlers, &format!("{place}.hooks"))?.iter().enumerate() {
            let place = format!("{place}.hooks[{at}]");
            let handler = object(handler, &place)?;
            match text(handler, "type", &place)? {
                Some("command") => {
                    let hook = self.command(event, &matcher, handler, &place)?;
                    if is_ourselves(&hook.command.form) {
                        all.notes.push(format!("{place}: left out, it is Stockade itself"));
                    } else {
                        all.hooks.push(hook);
                    }
                }
                kind => {
                    let message = format!("only commands are run here, and this is {kind:?}");
                    if event == Event::Pre {
                        return Err(bad(&place, &message));
                    }
                    all.notes.push(format!("{place}: left out, {message}"));
                }
            }
        }
        Ok(())
    }

    fn command(
        &self,
        event: Event,
        matcher: &Matcher,
        handler: &Map<String, Value>,
        place: &str,
    ) -> Result<Hook, BadSettings> {
        let line = text(handler, "command", place)?.filter(|line| !line.trim().is_empty());
        let line = line.ok_or_else(|| bad(place, "it has no `command`"))?;
        let form = match handler.get("args") {
            None | Some(Value::Null) => CommandForm::Shell(line.to_owned()),
            Some(args) => {
                let words = array(args, &format!("{place}.args"))?.iter().map(Value::as_str);
                let words: Option<Vec<&str>> = words.collect();
                let words = words.ok_or_else(|| bad(place, "an argument is not a text"))?;
                CommandForm::Argv([line].into_iter().chain(words).map(str::to_owned).collect())
            }
        };
        let timeout = match handler.get("timeout") {
            None | Some(Value::Null) => SETTINGS_TIMEOUT,
            Some(seconds) => seconds
                .as_f64()
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .filter(|time| !time.is_zero() && *time <= TIMEOUT_MAX)
                .ok_or_else(|| bad(place, "`timeout` is not a number of seconds up to an hour"))?,
        };
        let condition = match text(handler, "if", place)? {
            None => None,
            Some(rule) => Some(self.condition(rule, place)?),
        };
        let folder = self.source.parent().unwrap_or(Path::new("/")).to_owned();
        let command = HookCommand { form, folder, environment: Vec::new() };
        Ok(Hook {
            name: super::table::default_name(&command.form),
            event,
            matcher: matcher.clone(),
            condition,
            command,
            timeout,
            source: Some(format!("{}:{place}", self.source.display())),
        })
    }

    fn condition(&self, text: &str, place: &str) -> Result<Condition, BadSettings> {
        let rule = Rule::parse_in(text, Decision::Deny, self.base)
            .map_err(|error| bad(place, &format!("the rule {text:?}: {error}")))?;
        Ok(Condition::new(rule))
    }
}

/// Whether a command is the one that `stockade install` writes, which would ask itself.
fn is_ourselves(form: &CommandForm) -> bool {
    let words = match form {
        CommandForm::Argv(words) => words.clone(),
        CommandForm::Shell(line) => shlex::split(line).unwrap_or_default(),
    };
    let name = words.first().and_then(|program| Path::new(program).file_name());
    name.is_some_and(|name| name == "stockade") && words.get(1).is_some_and(|word| word == "hook")
}

fn bad(place: &str, message: &str) -> BadSettings {
    BadSettings { place: place.to_owned(), message: message.to_owned() }
}

fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Map<String, Value>, BadSettings> {
    value.as_object().ok_or_else(|| bad(place, "expected an object"))
}

fn array<'v>(value: &'v Value, place: &str) -> Result<&'v Vec<Value>, BadSettings> {
    value.as_array().ok_or_else(|| bad(place, "expected a list"))
}

fn text<'v>(
    object: &'v Map<String, Value>,
    name: &str,
    place: &str,
) -> Result<Option<&'v str>, BadSettings> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(place, &format!("`{name}` is not a text"))),
    }
}
