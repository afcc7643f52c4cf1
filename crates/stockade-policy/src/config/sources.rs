//! Every file that a policy can come from, in the order in which they are read: policy files, and
//! those of coding agents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::codex;
use crate::bounded;
use crate::config::claude::{Flag, Origin, Settings};
use crate::config::folders::real_folder;
use crate::config::project::{FileFormat, ProjectFile};
use crate::config::source::{Links, Source};
use crate::config::trust::{Trust, TrustStore};
use crate::confine::{self, Origin as RuleOrigin};
use crate::rules::Rule;
use crate::{AgentMode, Decision, LoadError, Mode, Policy, PolicyFiles, Remark};

/// A folder with more names than these is no folder of rules.
const NAMES_MAX: usize = 10_000;

/// A coding agent whose files are read where it keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Claude Code: `settings.json` of the machine, the user and the project.
    Claude,
    /// Codex: `.rules` files of the machine, the user and the project.
    Codex,
}

/// Where a policy is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The project's root.
    pub root: PathBuf,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The policy files that are found by themselves.
    pub files: PolicyFiles,
    /// A policy file in place of those.
    pub named: Option<PathBuf>,
    /// Agents whose files are found by themselves.
    pub dialects: BTreeSet<Dialect>,
    /// Settings of Claude Code that a person named.
    pub settings: Vec<PathBuf>,
    /// Rules of Codex that a person named.
    pub rules: Vec<PathBuf>,
    /// The store of trusted files; without one, no file of the project is trusted.
    pub trust: Option<PathBuf>,
    /// The mode where no file chooses one, in place of the shipped one.
    pub mode: Option<Mode>,
    /// Whether the agents run the hooks of their settings themselves, so that nobody else does.
    pub agents_run_hooks: bool,
}

/// How much a file may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Trusted,
    Managed,
    Project,
}

const CLAUDE_MANAGED: &str = "/etc/claude-code";
const CODEX_MANAGED: &str = "/etc/codex/rules";
/// Why a rule of a file of the project is not used.
const UNTRUSTED: &str = "left out: the file is not trusted, so its rules allow nothing; look at it \
                         and run `stockade trust`";
const CHANGED: &str = "it has changed since it was trusted, so it can only tighten; look at it and \
                       run `stockade trust` again";
const NOT_MANAGED: &str = "left out: the machine's settings let only its own rules allow";

impl Sources {
    /// Loads all that is there. A file that was named and is not there is an error.
    pub fn load(&self) -> Result<Policy, LoadError> {
        let mut policy = Policy::shipped();
        policy.mode = self.mode.unwrap_or(policy.mode);
        let (mut untrusted, mut managed_mode) = (None, false);
        if let Some(named) = &self.named {
            required(named)?.apply(&mut policy)?;
        } else {
            if let Some(source) = optional(self.files.user.as_deref(), Links::Followed)? {
                source.apply(&mut policy)?;
            }
            let project = optional(self.files.project.as_deref(), Links::Refused)?;
            match project.map(|source| Ok((self.trusts(&source)?, source))).transpose()? {
                Some((Trust::Given, source)) => {
                    source.refuse_home(&source.parse()?)?;
                    source.apply(&mut policy)?;
                }
                other => untrusted = other,
            }
            if let Some(source) = optional(self.files.managed.as_deref(), Links::Followed)? {
                managed_mode = source.parse()?.mode.is_some();
                source.apply(&mut policy)?;
            }
        }
        self.add_claude(&mut policy)?;
        choose_mode(managed_mode, &mut policy);
        if !self.agents_run_hooks {
            policy.add_agent_hooks()?;
        }
        self.add_codex(&mut policy)?;
        if let Some((trust, source)) = untrusted {
            policy.remarks.extend(changed(trust, &source));
            source.tighten(&mut policy)?;
        }
        Ok(policy)
    }

    /// The files of the project that can be trusted, there or not.
    pub fn project_files(&self) -> Vec<ProjectFile> {
        let policy = self
            .files
            .project
            .iter()
            .map(|path| ProjectFile { path: path.clone(), form: FileFormat::Policy });
        let claude = ["settings.json", "settings.local.json"].map(|name| ProjectFile {
            path: self.root.join(".claude").join(name),
            form: FileFormat::Claude { root: self.root.clone() },
        });
        let codex = rules_in(&self.root.join(".codex/rules")).unwrap_or_default();
        let codex = codex.into_iter().map(|path| ProjectFile { path, form: FileFormat::Codex });
        policy.chain(claude).chain(codex).collect()
    }

    fn add_claude(&self, policy: &mut Policy) -> Result<(), LoadError> {
        let mut found: Vec<(PathBuf, PathBuf, Standing)> = Vec::new();
        let own = |path: &Path| path.parent().unwrap_or(Path::new("/")).to_owned();
        let is_found = self.dialects.contains(&Dialect::Claude);
        if is_found {
            if let Some(home) = &self.home {
                let folder = home.join(".claude");
                found.push((folder.join("settings.json"), folder, Standing::Trusted));
            }
            for name in ["settings.json", "settings.local.json"] {
                let path = self.root.join(".claude").join(name);
                found.push((path, self.root.clone(), Standing::Project));
            }
        }
        for path in &self.settings {
            let path = absolute(path)?;
            required(&path)?;
            found.push((path.clone(), own(&path), Standing::Trusted));
        }
        if is_found {
            let folder = Path::new(CLAUDE_MANAGED);
            let more = files_in(&folder.join("managed-settings.d"), "json")?;
            for path in std::iter::once(folder.join("managed-settings.json")).chain(more) {
                found.push((path, folder.to_owned(), Standing::Managed));
            }
        }
        let mut read = Vec::new();
        for (path, base, standing) in found {
            if let Some(settings) = self.settings(&path, &base, standing, policy)? {
                read.push((settings, standing));
            }
        }
        let managed_only =
            read.iter().any(|(settings, _)| settings.flags.contains(&Flag::ManagedRulesOnly));
        for (settings, standing) in read {
            let is_managed = standing == Standing::Managed;
            let allows = if managed_only && !is_managed { Err(NOT_MANAGED) } else { Ok(()) };
            add(settings, allows, policy);
        }
        Ok(())
    }

    /// One settings file, with its standing as trust makes it.
    fn settings(
        &self,
        path: &Path,
        base: &Path,
        standing: Standing,
        policy: &mut Policy,
    ) -> Result<Option<Settings>, LoadError> {
        let links = if standing == Standing::Project { Links::Refused } else { Links::Followed };
        let Some(source) = optional(Some(path), links)? else { return Ok(None) };
        let (root, home) = (absolute(&self.root)?, self.home.as_deref());
        let base = absolute(base)?;
        let managed = standing == Standing::Managed;
        let origin = Origin { path, base: &base, root: &root, home, managed };
        let mut settings = Settings::parse(&source.text, origin)?;
        if standing == Standing::Project {
            let trust = self.trusts(&source)?;
            policy.remarks.extend(changed(trust, &source));
            settings.trusted = trust == Trust::Given;
            if !settings.trusted {
                keep_to_project(&mut settings, &root)?;
            }
        } else {
            settings.trusted = true;
        }
        Ok(Some(settings))
    }

    fn add_codex(&self, policy: &mut Policy) -> Result<(), LoadError> {
        let mut found: Vec<(PathBuf, Standing)> = Vec::new();
        if self.dialects.contains(&Dialect::Codex) {
            let of = |files: Vec<PathBuf>, standing| files.into_iter().map(move |f| (f, standing));
            found.extend(of(rules_in(Path::new(CODEX_MANAGED))?, Standing::Managed));
            if let Some(home) = &self.home {
                found.extend(of(rules_in(&home.join(".codex/rules"))?, Standing::Trusted));
            }
            found.extend(of(rules_in(&self.root.join(".codex/rules"))?, Standing::Project));
        }
        for path in &self.rules {
            required(path)?;
            found.push((path.clone(), Standing::Trusted));
        }
        for (path, standing) in found {
            let is_project = standing == Standing::Project;
            let links = if is_project { Links::Refused } else { Links::Followed };
            let Some(source) = optional(Some(&path), links)? else { continue };
            let rules = codex::parse(&path, &source.text)?;
            let trust = if is_project { self.trusts(&source)? } else { Trust::Given };
            policy.remarks.extend(changed(trust, &source));
            let (origin, allows) = match trust {
                Trust::Given => (RuleOrigin::Trusted, Ok(())),
                Trust::None | Trust::Changed => (RuleOrigin::Project, Err(UNTRUSTED)),
            };
            add_rules(rules, origin, allows, policy);
        }
        Ok(())
    }

    fn trusts(&self, source: &Source) -> Result<Trust, LoadError> {
        let Some(store) = &self.trust else { return Ok(Trust::None) };
        Ok(TrustStore::read(store)?.of(&source.path, &source.text))
    }
}

/// Takes the mode that settings choose, unless the machine's policy file has chosen one.
fn choose_mode(managed: bool, policy: &mut Policy) {
    let Some(AgentMode { mode, file, line }) = policy.agent.mode.clone() else { return };
    let forbidden = policy.agent.bypass_disabled && mode == Mode::Bypass;
    if !managed && !forbidden {
        policy.mode = mode;
        return;
    }
    if !managed && policy.mode < Mode::Default {
        policy.mode = Mode::Default;
    }
    let why = if managed { "the machine's policy file chooses one" } else { "settings forbid it" };
    let message = format!("the mode {mode} is not taken: {why}");
    policy.remarks.push(Remark { file, line: Some(line), message });
}

/// Adds what a settings file says, as far as it may: a file of the project that is not trusted
/// only refuses, hides and protects.
fn add(settings: Settings, allows: Result<(), &str>, policy: &mut Policy) {
    let left_out = settings.loosening();
    let Settings { rules, unread, remarks, trusted, .. } = settings;
    policy.remarks.extend(remarks);
    policy.files.hide.extend(settings.hide);
    if trusted {
        settings.protect.into_iter().for_each(|path| policy.files.protect_for_trusted(path));
    } else {
        policy.files.protect_for_project(settings.protect);
    }
    policy.agent.bypass_disabled |= settings.flags.contains(&Flag::BypassDisabled);
    policy.agent.managed_hooks_only |= settings.flags.contains(&Flag::ManagedHooksOnly);
    let allows = if trusted { allows } else { Err(UNTRUSTED) };
    let origin = if trusted { RuleOrigin::Trusted } else { RuleOrigin::Project };
    add_rules(rules, origin, allows, policy);
    policy.rules = std::mem::take(&mut policy.rules).with_notes(unread);
    if !trusted {
        let file = settings.file;
        let beside_rules: Vec<String> =
            left_out.into_iter().filter(|what| !what.starts_with("allows ")).collect();
        if !beside_rules.is_empty() {
            let message = format!(
                "left out until it is trusted (stockade trust): {}",
                beside_rules.join(", ")
            );
            policy.remarks.push(Remark { file, line: None, message });
        }
        return;
    }
    policy.settings.outside.extend(settings.folders.iter().cloned());
    policy.files.write.extend(settings.folders);
    policy.files.write.extend(settings.write);
    policy.files.read.extend(settings.read);
    policy.environment.extend(settings.environment);
    policy.agent.mode = settings.mode.or(policy.agent.mode.take());
    policy.agent.hooks_disabled |= settings.flags.contains(&Flag::HooksDisabled);
    policy.agent.hooks.extend(settings.hooks);
}

/// Makes rules of what an untrusted settings file hides and protects outside of the project: the gate
/// refuses it, and no sandbox and no supervisor does anything there.
fn keep_to_project(settings: &mut Settings, root: &Path) -> Result<(), LoadError> {
    let real = confine::real(root);
    for (tool, paths) in [("Read", &mut settings.hide), ("Edit", &mut settings.protect)] {
        let is_in = |path: &PathBuf| path.starts_with(root) || path.starts_with(&real);
        let leads_in = |path: &PathBuf| match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => confine::real(above).join(name).starts_with(&real),
            _ => false,
        };
        let stays = |path: &PathBuf| is_in(path) && leads_in(path);
        let (inside, outside): (Vec<PathBuf>, Vec<PathBuf>) =
            std::mem::take(paths).into_iter().partition(stays);
        *paths = inside;
        for path in outside {
            // In a rule a backslash is an escape.
            let text = path.to_string_lossy().replace('\\', "\\\\");
            let rule = Rule::parse(&format!("{tool}(/{text})"), Decision::Deny);
            let rule = rule.map_err(|error| LoadError::Value {
                path: settings.file.clone(),
                line: 1,
                message: format!("{path:?}: {error}"),
            })?;
            settings.rules.push(rule.written_in(&settings.file, 1));
        }
    }
    Ok(())
}

/// Adds rules; those that allow only if they may.
fn add_rules(rules: Vec<Rule>, origin: RuleOrigin, allows: Result<(), &str>, policy: &mut Policy) {
    let rules: Vec<Rule> = rules.into_iter().map(|rule| rule.with_origin(origin)).collect();
    let may = |rule: &Rule| rule.list() != Decision::Allow || allows.is_ok();
    let (used, left): (Vec<Rule>, Vec<Rule>) = rules.into_iter().partition(may);
    policy.rules = policy.rules.and(used).ignoring(&left, allows.err().unwrap_or_default());
}

fn changed(trust: Trust, source: &Source) -> Option<Remark> {
    let file = source.path.clone();
    let message = CHANGED.to_owned();
    (trust == Trust::Changed).then_some(Remark { file, line: None, message })
}

fn required(path: &Path) -> Result<Source, LoadError> {
    let missing = || LoadError::Missing { path: path.to_owned() };
    Source::read(path, Links::Followed)?.ok_or_else(missing)
}

fn optional(path: Option<&Path>, links: Links) -> Result<Option<Source>, LoadError> {
    path.map(|path| Source::read(path, links)).transpose().map(Option::flatten)
}

fn absolute(path: &Path) -> Result<PathBuf, LoadError> {
    std::path::absolute(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })
}

fn rules_in(folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
    files_in(folder, "rules")
}

/// The files of a folder with this ending, by name; none if it is not there.
fn files_in(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, LoadError> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let fail = |source: std::io::Error| LoadError::Read { path: folder.to_owned(), source };
    // The folder may be a link of the person's.
    let real = match real_folder(folder).map_err(std::io::Error::from) {
        Ok(real) => real,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let names = bounded::names(&real, NAMES_MAX).map_err(fail)?;
    let paths = names.into_iter().map(|(name, _)| folder.join(name));
    let has_ending = |path: &PathBuf| path.extension().is_some_and(|found| found == ending);
    let mut files: Vec<PathBuf> = paths.filter(has_ending).collect();
    files.sort();
    Ok(files)
}
