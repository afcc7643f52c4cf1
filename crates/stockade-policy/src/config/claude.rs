//! Claude Code's `settings.json`: its rules, its sandbox and its environment as ours.
//!
//! A mistake in its form is an error; a key that is not ours is named in a remark.

mod keys;
mod sandbox;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::config::jsonc::{Document, Json, without_comments};
use crate::rules::{Note, Rule, Source as Place};
use crate::{AgentHooks, AgentMode, Decision, LoadError, Mode, Remark, Variable};

/// One settings file, understood.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) file: PathBuf,
    /// Whether it may loosen; the reader of the file decides.
    pub(crate) trusted: bool,
    pub(crate) rules: Vec<Rule>,
    /// Rules that cannot be read and allow nothing.
    pub(crate) unread: Vec<Note>,
    /// `additionalDirectories`: folders of the work besides the root.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) environment: Vec<Variable>,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    pub(crate) protect: Vec<PathBuf>,
    pub(crate) mode: Option<AgentMode>,
    pub(crate) hooks: Option<AgentHooks>,
    pub(crate) flags: BTreeSet<Flag>,
    pub(crate) remarks: Vec<Remark>,
}

/// What a file turns on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flag {
    /// The mode that asks nothing is forbidden.
    BypassDisabled,
    /// No hook runs.
    HooksDisabled,
    /// Only hooks of the machine's files run.
    ManagedHooksOnly,
    /// Only rules of the machine's files allow.
    ManagedRulesOnly,
}

/// Where a settings file is, and what its paths are relative to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'o> {
    pub(crate) path: &'o Path,
    /// What rules with `/x`, and paths of its sandbox without a slash, are relative to.
    pub(crate) base: &'o Path,
    /// The project's root, which additional folders are relative to.
    pub(crate) root: &'o Path,
    pub(crate) home: Option<&'o Path>,
    pub(crate) managed: bool,
}

impl Settings {
    pub(crate) fn parse(text: &str, origin: Origin<'_>) -> Result<Self, LoadError> {
        let text = without_comments(text);
        let document = Document::new(origin.path, &text);
        let settings = Self { file: origin.path.to_owned(), ..Self::default() };
        let mut reading =
            SettingsReader { document: &document, origin, settings, unknown: Vec::new() };
        let root = document.root()?;
        for (key, value) in document.object(root, "the file")? {
            reading.top(&key, value)?;
        }
        let SettingsReader { mut settings, unknown, .. } = reading;
        if let Some((_, line)) = unknown.first() {
            let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
            settings.remarks.push(Remark {
                file: origin.path.to_owned(),
                line: Some(*line),
                message: format!("not known and not used: {}", names.join(", ")),
            });
        }
        Ok(settings)
    }

    /// What of it is left out while the file is not trusted: a name and a line each.
    pub(crate) fn loosening(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let allowing = self.rules.iter().filter(|rule| rule.list() == Decision::Allow);
        all.extend(allowing.map(|rule| format!("allows {}", rule.text())));
        let paths = |verb: &str, paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| format!("{verb} {}", path.display())).collect()
        };
        all.extend(paths("works in", &self.folders));
        all.extend(paths("writes", &self.write));
        all.extend(paths("reads", &self.read));
        all.extend(self.environment.iter().map(|one| format!("sets {}", one.name())));
        all.extend(self.mode.iter().map(|mode| format!("chooses the mode {}", mode.mode)));
        all.extend(self.hooks.iter().map(|hooks| format!("runs hooks (line {})", hooks.line)));
        all.extend(
            self.flags.contains(&Flag::HooksDisabled).then(|| "turns all hooks off".to_owned()),
        );
        all
    }
}

/// A file on its way to settings.
struct SettingsReader<'r, 't> {
    document: &'r Document<'t>,
    origin: Origin<'r>,
    settings: Settings,
    unknown: Vec<(String, usize)>,
}

impl<'t> SettingsReader<'_, 't> {
    fn top(&mut self, key: &str, value: Json<'t>) -> Result<(), LoadError> {
        let document = self.document;
        match key {
            "permissions" => {
                for (key, value) in document.object(value, "permissions")? {
                    self.permission(&key, value)?;
                }
            }
            "env" => {
                for (name, value) in document.object(value, "env")? {
                    self.variable(&name, value)?;
                }
            }
            "sandbox" => {
                for (key, value) in document.object(value, "sandbox")? {
                    self.sandbox(&key, value)?;
                }
            }
            "hooks" => {
                document.object(value, "hooks")?;
                self.settings.hooks = Some(AgentHooks {
                    file: self.origin.path.to_owned(),
                    line: document.line(value),
                    managed: self.origin.managed,
                    base: self.origin.base.to_owned(),
                    json: document.data(value, "hooks")?,
                });
            }
            "disableAllHooks" => self.flag(Flag::HooksDisabled, document.flag(value, key)?),
            "allowManagedHooksOnly" => {
                let is_set = document.flag(value, key)? && self.origin.managed;
                self.flag(Flag::ManagedHooksOnly, is_set);
            }
            "allowManagedPermissionRulesOnly" => {
                let is_set = document.flag(value, key)? && self.origin.managed;
                self.flag(Flag::ManagedRulesOnly, is_set);
            }
            "autoMode" => {
                self.remark(value, "`autoMode` is not used: what the box contains needs no judge");
            }
            _ if keys::is_of_the_agent(key) => {}
            _ => self.is_unknown(key.to_owned(), value),
        }
        Ok(())
    }

    fn permission(&mut self, key: &str, value: Json<'t>) -> Result<(), LoadError> {
        let (document, name) = (self.document, format!("permissions.{key}"));
        match key {
            "deny" => self.rules(Decision::Deny, &name, value)?,
            "ask" => self.rules(Decision::Ask, &name, value)?,
            "allow" => self.rules(Decision::Allow, &name, value)?,
            "additionalDirectories" => {
                for (text, value) in document.texts(value, &name)? {
                    let folder = self.folder(&text, value)?;
                    self.settings.folders.push(folder);
                }
            }
            "defaultMode" => {
                let name = document.text(value, &name)?;
                let (file, line) = (self.origin.path.to_owned(), document.line(value));
                let mode = Mode::from_str(&name)
                    .map_err(|error| document.wrong(value, error.to_string()))?;
                self.settings.mode = Some(AgentMode { mode, file, line });
            }
            "disableBypassPermissionsMode" => {
                let is_set = document.text(value, &name)? == "disable";
                self.flag(Flag::BypassDisabled, is_set);
            }
            "disableAutoMode" => {
                self.remark(value, "`disableAutoMode` is not used: set the mode in stockade.toml");
            }
            _ => self.is_unknown(name, value),
        }
        Ok(())
    }

    fn rules(&mut self, list: Decision, name: &str, value: Json<'t>) -> Result<(), LoadError> {
        for (text, value) in self.document.texts(value, name)? {
            self.rule(list, &text, value)?;
        }
        Ok(())
    }

    /// Takes a rule in. One that allows and cannot be read allows nothing, which is said.
    fn rule(&mut self, list: Decision, text: &str, value: Json<'t>) -> Result<(), LoadError> {
        let (file, line) = (self.origin.path.to_owned(), self.document.line(value));
        match Rule::parse_in(text, list, self.origin.base) {
            Ok(rule) if rule.needs_home() && self.origin.home.is_none() => {
                let message = format!("the rule {text:?} needs a home folder, and there is none");
                return Err(self.document.wrong(value, message));
            }
            Ok(rule) => self.settings.rules.push(rule.written_in(file, line)),
            Err(error) if list == Decision::Allow => self.settings.unread.push(Note {
                rule: text.to_owned(),
                source: Some(Place { file, line }),
                message: format!("allows nothing: {error}"),
                left_out: true,
            }),
            Err(error) => {
                return Err(self.document.wrong(value, format!("the rule {text:?}: {error}")));
            }
        }
        Ok(())
    }

    fn folder(&self, text: &str, value: Json<'t>) -> Result<PathBuf, LoadError> {
        match (text.strip_prefix("~/"), self.origin.home) {
            (Some(rest), Some(home)) => Ok(home.join(rest)),
            (Some(_), None) => {
                let message = format!("{text:?} needs a home folder, and there is none");
                Err(self.document.wrong(value, message))
            }
            (None, _) if text.is_empty() => Err(self.document.wrong(value, "this names no folder")),
            (None, _) => Ok(plain(&self.origin.root.join(text))),
        }
    }

    fn variable(&mut self, name: &str, value: Json<'t>) -> Result<(), LoadError> {
        let text = self.document.text(value, &format!("env.{name}"))?;
        if keys::is_variable_of_the_agent(name) {
            return Ok(());
        }
        match Variable::parse(&format!("{name}={text}")) {
            Some(variable) if !name.contains('=') => self.settings.environment.push(variable),
            _ => {
                let message = format!("{name:?} with this value is no variable");
                return Err(self.document.wrong(value, message));
            }
        }
        Ok(())
    }

    fn flag(&mut self, flag: Flag, is_set: bool) {
        if is_set {
            self.settings.flags.insert(flag);
        }
    }

    fn remark(&mut self, value: Json<'t>, message: impl Into<String>) {
        let (file, line) = (self.origin.path.to_owned(), Some(self.document.line(value)));
        self.settings.remarks.push(Remark { file, line, message: message.into() });
    }

    fn is_unknown(&mut self, name: String, value: Json<'t>) {
        self.unknown.push((name, self.document.line(value)));
    }
}

/// The path without `.`, and with `..` taken by its text.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component::{CurDir, Normal, ParentDir, Prefix, RootDir};
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Normal(name) => plain.push(name),
            ParentDir => drop(plain.pop()),
            RootDir | CurDir | Prefix(_) => {}
        }
    }
    plain
}
