//! `[[hook]]` of a policy file: as a person writes it, and from that to a hook.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::{CommandForm, Condition, Event, Hook, HookCommand, Matcher, TIMEOUT, TIMEOUT_MAX};
use crate::config::source::Source;
use crate::limits::parse_duration;
use crate::rules::Rule;
use crate::{Decision, LoadError};

/// A hook's name is for reading.
const NAME_CHARS_MAX: usize = 64;

/// One `[[hook]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookTable {
    name: Option<Spanned<String>>,
    event: Spanned<String>,
    #[serde(rename = "match")]
    matcher: Option<Spanned<String>>,
    #[serde(rename = "if")]
    condition: Option<Spanned<String>>,
    command: Option<Spanned<Vec<Spanned<String>>>>,
    shell: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    env: Option<Spanned<Vec<Spanned<String>>>>,
}

impl Source {
    /// The hooks of a trusted file.
    pub(crate) fn hooks(&self, tables: &[Spanned<HookTable>]) -> Result<Vec<Hook>, LoadError> {
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let file = std::path::absolute(&self.path)
            .map_err(|source| LoadError::Read { path: self.path.clone(), source })?;
        let folder = file.parent().unwrap_or(Path::new("/"));
        tables.iter().map(|table| self.hook(table, folder)).collect()
    }

    fn hook(&self, table: &Spanned<HookTable>, folder: &Path) -> Result<Hook, LoadError> {
        let line = self.line(&table.span());
        let written = table.get_ref();
        let event = self.value(&written.event, |text| match text {
            "pre" | "PreToolUse" => Ok(Event::Pre),
            "post" | "PostToolUse" => Ok(Event::Post),
            _ => Err(format!("unknown hook event {text:?}; expected pre or post")),
        })?;
        let matcher = match &written.matcher {
            None => Matcher::all(),
            Some(text) => {
                self.value(text, |text| Matcher::parse(text).map_err(|error| error.to_string()))?
            }
        };
        let condition =
            written.condition.as_ref().map(|text| self.condition(text, folder)).transpose()?;
        let timeout = match &written.timeout {
            None => TIMEOUT,
            Some(text) => self.value(text, timeout)?,
        };
        let environment = match &written.env {
            None => Vec::new(),
            Some(names) => self.variables(names)?,
        };
        let form = self.form(written, line)?;
        let name = match &written.name {
            Some(name) => self.value(name, checked_name)?,
            None => default_name(&form),
        };
        let command = HookCommand { form, folder: folder.to_owned(), environment };
        let source = Some(format!("{}:{line}", self.path.display()));
        Ok(Hook { name, event, matcher, condition, command, timeout, source })
    }

    fn condition(&self, text: &Spanned<String>, folder: &Path) -> Result<Condition, LoadError> {
        self.value(text, |text| {
            let wrong = |why: String| format!("the rule {text:?}: {why}");
            // In this list a rule matches if any part of a call does.
            let rule = Rule::parse_in(text, Decision::Deny, folder)
                .map_err(|error| wrong(error.to_string()))?;
            if rule.needs_home() && std::env::home_dir().is_none() {
                return Err(wrong("it needs a home folder, and there is none".to_owned()));
            }
            match rule.note() {
                Some(note) if !rule.is_effective() => Err(wrong(note.to_owned())),
                Some(_) | None => Ok(Condition::new(rule)),
            }
        })
    }

    fn form(&self, written: &HookTable, line: usize) -> Result<CommandForm, LoadError> {
        let wrong = |line: usize, message: &str| LoadError::Value {
            path: self.path.clone(),
            line,
            message: message.to_owned(),
        };
        match (&written.command, &written.shell) {
            (None, None) => Err(wrong(line, "a hook needs `command` or `shell`")),
            (Some(_), Some(shell)) => {
                Err(wrong(self.line(&shell.span()), "a hook has `command` or `shell`, not both"))
            }
            (None, Some(shell)) => self.value(shell, word).map(CommandForm::Shell),
            (Some(words), None) => {
                let all = words.get_ref().iter().map(|one| self.value(one, word_or_empty));
                let all = all.collect::<Result<Vec<String>, _>>()?;
                if all.first().is_none_or(String::is_empty) {
                    return Err(wrong(self.line(&words.span()), "the command is empty"));
                }
                Ok(CommandForm::Argv(all))
            }
        }
    }
}

fn word(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("the command is empty".to_owned());
    }
    word_or_empty(text)
}

fn word_or_empty(text: &str) -> Result<String, String> {
    if text.contains('\0') {
        return Err("a command cannot hold a NUL byte".to_owned());
    }
    if text.starts_with("~/") && std::env::home_dir().is_none() {
        return Err(format!("{text:?} needs a home folder, and there is none"));
    }
    Ok(text.to_owned())
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() || time > TIMEOUT_MAX {
        return Err(format!("{text:?}: a hook may take more than nothing and at most an hour"));
    }
    Ok(time)
}

fn checked_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| !c.is_control();
    let length = text.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&length) || !text.chars().all(is_plain) {
        return Err(format!("{text:?}: a hook's name has 1 to 64 visible characters"));
    }
    Ok(text.to_owned())
}

/// The command as it is written, as far as a name goes.
pub(super) fn default_name(form: &CommandForm) -> String {
    let text = match form {
        CommandForm::Shell(line) => line.clone(),
        CommandForm::Argv(words) => words.join(" "),
    };
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() <= NAME_CHARS_MAX {
        return text;
    }
    let kept: String = text.chars().take(NAME_CHARS_MAX.saturating_sub(1)).collect();
    format!("{kept}…")
}
