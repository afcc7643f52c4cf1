//! What settings of coding agents say that is neither a rule nor a box: kept as it is written, for
//! whoever acts on it.

use std::path::PathBuf;

use crate::hooks::{SettingsHooks, from_settings};
use crate::{LoadError, Mode, Policy};

/// The settings of coding agents beside their rules. Only of files that are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Agent {
    /// `permissions.defaultMode` of the most trusted file that has one.
    pub mode: Option<AgentMode>,
    /// Whether a file forbids the mode that asks nothing (`disableBypassPermissionsMode`).
    pub bypass_disabled: bool,
    /// `hooks`, the least trusted file first.
    pub hooks: Vec<AgentHooks>,
    /// `disableAllHooks` of some file.
    pub hooks_disabled: bool,
    /// `allowManagedHooksOnly` of the machine's file: hooks of other files do not run.
    pub managed_hooks_only: bool,
}

/// A mode that a settings file chooses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentMode {
    /// Which.
    pub mode: Mode,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// The hooks of one settings file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentHooks {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// Whether the machine's administrator wrote them.
    pub managed: bool,
    /// The folder that paths of rules in it begin at.
    pub base: PathBuf,
    /// What stands behind `hooks`: not checked.
    pub json: serde_json::Value,
}

impl Policy {
    /// Takes up the hooks of settings files, as far as these let them run.
    pub(crate) fn add_agent_hooks(&mut self) -> Result<(), LoadError> {
        for AgentHooks { file, line, managed, base, json } in self.agent.hooks.clone() {
            let place =
                |line| Remark { file: file.clone(), line: Some(line), message: String::new() };
            let left_out = match managed {
                true => None,
                false if self.agent.managed_hooks_only => Some("`allowManagedHooksOnly`"),
                false if self.agent.hooks_disabled => Some("`disableAllHooks`"),
                false => None,
            };
            if let Some(key) = left_out {
                let message = format!("hooks: left out, {key} says so");
                self.remarks.push(Remark { message, ..place(line) });
                continue;
            }
            let read = from_settings(&json, &file, &base);
            let SettingsHooks { hooks, notes } = read.map_err(|bad| LoadError::Value {
                path: file.clone(),
                line,
                message: bad.to_string(),
            })?;
            self.hooks.extend(hooks);
            let remark = |message| Remark { message, ..place(line) };
            self.remarks.extend(notes.into_iter().map(remark));
        }
        Ok(())
    }
}

/// What a person should know about a file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remark {
    /// The file.
    pub file: PathBuf,
    /// The line that it is about, from 1.
    pub line: Option<usize>,
    /// What about it.
    pub message: String,
}

impl std::fmt::Display for Remark {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}: {}", self.file.display(), self.message),
            None => write!(out, "{}: {}", self.file.display(), self.message),
        }
    }
}
