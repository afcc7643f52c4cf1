//! From files to a policy: shipped, then the user's, then the machine's; a project only tightens.
//!
//! A file that does not load is an error, never a default.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use toml::Spanned;

use super::{oci, ports};
use crate::config::file::{BoxTable, ExecTable, Names, PolicyFile};
use crate::config::source::{Links, Source, plain};
use crate::limits::parse_duration;
use crate::model::durability::Durability;
use crate::model::tier::Tier;
use crate::{Mode, Policy, Profile};

/// Why a rule of the project is not used.
pub(crate) const UNTRUSTED: &str = "left out: a project's file can only tighten until it is trusted (stockade \
                         trust), so its rules allow nothing";

/// Where policy is looked for, the most trusted last but for the project, which is not trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyFiles {
    /// The user's own file.
    pub user: Option<PathBuf>,
    /// The machine's file, written by its administrator.
    pub managed: Option<PathBuf>,
    /// The project's file, which can only tighten.
    pub project: Option<PathBuf>,
}

impl PolicyFiles {
    /// Loads what is there of them on top of the shipped policy. A file that is not there is
    /// no error, except where it was asked for by name: see [`Policy::from_file`].
    pub fn load(&self) -> Result<Policy, LoadError> {
        let mut policy = Policy::shipped();
        for path in [&self.user, &self.managed].into_iter().flatten() {
            if let Some(source) = Source::read(path, Links::Followed)? {
                source.apply(&mut policy)?;
            }
        }
        if let Some(source) = self
            .project
            .as_deref()
            .map(|path| Source::read(path, Links::Refused))
            .transpose()?
            .flatten()
        {
            source.tighten(&mut policy)?;
        }
        Ok(policy)
    }
}

impl Policy {
    /// Loads one trusted file in place of all that would be found.
    pub fn from_file(path: &Path) -> Result<Self, LoadError> {
        let missing = || LoadError::Missing { path: path.to_owned() };
        let mut policy = Self::shipped();
        Source::read(path, Links::Followed)?.ok_or_else(missing)?.apply(&mut policy)?;
        Ok(policy)
    }

    /// Reads a trusted policy from text, which `name` names in messages.
    pub fn from_text(name: &Path, text: &str) -> Result<Self, LoadError> {
        let mut policy = Self::shipped();
        Source { path: name.to_owned(), text: text.to_owned() }.apply(&mut policy)?;
        Ok(policy)
    }
}

/// Why a policy file does not load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It was asked for and is not there.
    #[error("find the policy file {path:?}")]
    Missing {
        /// Which.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("read the policy file {path:?}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is no TOML, or has keys or types that no policy has.
    #[error("read the policy file {path:?}: {message}")]
    Syntax {
        /// Which.
        path: PathBuf,
        /// The place and the complaint.
        message: String,
    },
    /// Something in a file of a coding agent makes no sense.
    #[error("use {path:?}, line {line}, column {column}: {message}")]
    Place {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: usize,
        /// Which column.
        column: usize,
        /// What is wrong with it, and what may have been meant.
        message: String,
    },
    /// A value makes no sense.
    #[error("use {path:?}, line {line}: {message}")]
    Value {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// Examples that rules carry do not hold.
    #[error("use {path:?}, {}", told(failed))]
    Examples {
        /// Which file.
        path: PathBuf,
        /// Every one, with its line.
        failed: Vec<(usize, String)>,
    },
    /// A project's file asks for more than it may.
    #[error(
        "use {path:?}, line {line}: `{key}` would loosen the policy, and a project's file can only \
         tighten it until it is trusted; look at it and run `stockade trust`, or put it into your own \
         file"
    )]
    Loosens {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: usize,
        /// Which key.
        key: &'static str,
    },
}

fn told(failed: &[(usize, String)]) -> String {
    let one = |(line, message): &(usize, String)| format!("line {line}: {message}");
    failed.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A key that loosens, and its place.
type Loosening = (&'static str, Range<usize>);

impl Source {
    /// A trusted file: each key it has replaces what was there.
    pub(crate) fn apply(&self, policy: &mut Policy) -> Result<(), LoadError> {
        let file = self.parse()?;
        if let Some(mode) = &file.mode {
            policy.mode = self.mode(mode)?;
        }
        if let Some(text) = &file.questions.timeout {
            policy.patience = self.duration(text)?;
        }
        if let Some(home) = &file.project.home {
            policy.project_home = *home.get_ref();
        }
        self.apply_exec(&file.exec, policy)?;
        if let Some(names) = &file.shell.only {
            policy.settings.only = Some(plain(names));
        }
        if let Some(profile) = &file.shell.profile {
            policy.shell_profile =
                self.value(profile, |text| Profile::from_str(text).map_err(|e| e.to_string()))?;
        }
        if let Some(tier) = &file.boxed.tier {
            policy.tier =
                self.value(tier, |text| Tier::from_str(text).map_err(|e| e.to_string()))?;
        }
        if let Some(names) = &file.boxed.env {
            policy.environment = self.variables(names)?;
        }
        if let Some(names) = &file.boxed.require {
            policy.require = self.requirements(names)?;
        }
        self.apply_box(&file.boxed, policy)?;
        self.apply_oci(&file.boxed, policy)?;
        self.apply_ports(&file.boxed, policy)?;
        policy.limits = self.limits(&file.limits, &policy.limits)?;
        policy.code_limits = self.limits(&file.code.limits, &policy.code_limits)?;
        policy.code_warm = Self::warm_interpreters(&file.code).unwrap_or(policy.code_warm);
        policy.session = self.session(&file.session, policy.session)?;
        let window = match &file.journal.window {
            Some(text) => Some(self.duration(text)?),
            None => None,
        };
        policy.durability = match (&file.journal.durability, window, policy.durability) {
            (Some(text), window, _) => self.durability(text, window)?,
            (None, Some(window), Durability::Batched { .. }) => Durability::Batched { window },
            (None, _, kept) => kept,
        };
        self.apply_rules(&file.rules, policy)?;
        policy.hooks.extend(self.hooks(&file.hook)?);
        let tools = self.tools(&file.tool, &policy.tools)?;
        policy.tools.extend(tools);
        Ok(())
    }

    fn mode(&self, text: &Spanned<String>) -> Result<Mode, LoadError> {
        self.value(text, |text| Mode::from_str(text).map_err(|error| error.to_string()))
    }

    pub(crate) fn duration(&self, text: &Spanned<String>) -> Result<Duration, LoadError> {
        self.value(text, |text| parse_duration(text).map_err(|error| error.to_string()))
    }

    fn apply_exec(&self, exec: &ExecTable, policy: &mut Policy) -> Result<(), LoadError> {
        if let Some(profile) = &exec.profile {
            policy.profile =
                self.value(profile, |text| Profile::from_str(text).map_err(|e| e.to_string()))?;
        }
        if let Some(names) = &exec.deny {
            self.note_sources(names, policy);
            policy.settings.deny = plain(names);
        }
        if let Some(names) = &exec.interpreters {
            policy.settings.interpreters = plain(names);
        }
        if let Some(names) = &exec.data {
            policy.settings.data = plain(names);
        }
        let settings = &mut policy.settings;
        for (names, paths) in [
            (&exec.folders, &mut settings.folders),
            (&exec.search_path, &mut settings.search_path),
            (&exec.outside, &mut settings.outside),
        ] {
            if let Some(names) = names {
                *paths =
                    names.get_ref().iter().map(|name| self.path(name)).collect::<Result<_, _>>()?;
            }
        }
        Ok(())
    }

    /// An untrusted file: lists of refusals grow, limits shrink, rules that allow are left out with
    /// a note, and anything else is an error.
    pub(crate) fn tighten(&self, policy: &mut Policy) -> Result<(), LoadError> {
        let file = self.parse()?;
        self.refuse_home(&file)?;
        if let Some((key, span)) = self.loosening(&file, policy)?.into_iter().next() {
            return Err(LoadError::Loosens {
                path: self.path.clone(),
                line: self.line(&span),
                key,
            });
        }
        self.tighten_questions(&file, policy)?;
        if file.exec.profile.is_some() {
            policy.profile = Profile::Strict;
        }
        if file.shell.profile.is_some() {
            policy.shell_profile = Profile::Strict;
        }
        if let Some(names) = &file.exec.deny {
            self.note_sources(names, policy);
            policy.settings.deny.extend(plain(names));
        }
        if let Some(names) = &file.exec.interpreters {
            policy.settings.interpreters.extend(plain(names));
        }
        if let (Some(names), Some(only)) = (&file.shell.only, &mut policy.settings.only) {
            let wanted = plain(names);
            only.retain(|name| wanted.contains(name));
        }
        self.tighten_box(&file.boxed, policy)?;
        self.apply_ports(&BoxTable::default(), policy)?;
        if let Some(names) = &file.boxed.require {
            policy.require.add(self.requirements(names)?);
        }
        let asked = self.limits(&file.limits, &policy.limits)?;
        policy.limits = policy.limits.strictest(&asked);
        let asked = self.limits(&file.code.limits, &policy.code_limits)?;
        policy.code_limits = policy.code_limits.strictest(&asked);
        if let Some(warm) = Self::warm_interpreters(&file.code) {
            policy.code_warm = policy.code_warm.min(warm);
        }
        let asked = self.session(&file.session, policy.session)?;
        policy.session = policy.session.strictest(asked);
        self.tighten_rules(&file.rules, policy)
    }

    /// The keys of a file that loosen a policy, each with its place.
    pub(crate) fn loosening(
        &self,
        file: &PolicyFile,
        policy: &Policy,
    ) -> Result<Vec<Loosening>, LoadError> {
        let strict = |text: &Spanned<String>| text.get_ref() == "strict";
        let profile = file.exec.profile.as_ref().filter(|text| !strict(text));
        let shell_profile = file.shell.profile.as_ref().filter(|text| !strict(text));
        let list = |names: &Names| names.as_ref().map(Spanned::span);
        let net = match &file.boxed.net {
            Some(net) if self.network(net)? > policy.network => Some(net),
            Some(_) | None => None,
        };
        let keys = [
            ("exec.profile", profile.map(Spanned::span)),
            ("shell.profile", shell_profile.map(Spanned::span)),
            ("exec.folders", list(&file.exec.folders)),
            ("exec.search_path", list(&file.exec.search_path)),
            ("exec.outside", list(&file.exec.outside)),
            ("exec.data", list(&file.exec.data)),
            // It would run what the project names, outside of any box.
            ("hook", file.hook.first().map(Spanned::span)),
            ("rules.drop", list(&file.rules.drop)),
            ("tool", file.tool.values().next().map(Spanned::span)),
            ("box.tier", file.boxed.tier.as_ref().map(Spanned::span)),
            ("box.env", list(&file.boxed.env)),
            ("box.write", list(&file.boxed.write)),
            ("box.read", list(&file.boxed.read)),
            ("box.toolchains", list(&file.boxed.toolchains)),
            ("box.net", net.map(Spanned::span)),
            ("journal.durability", file.journal.durability.as_ref().map(Spanned::span)),
            ("journal.window", file.journal.window.as_ref().map(Spanned::span)),
            // Lines of listed programs see no shell, so that what one refuses the other may take.
            ("shell.only", list(&file.shell.only).filter(|_| policy.settings.only.is_none())),
        ];
        let keys = keys.into_iter().chain(oci::keys(&file.boxed)).chain(ports::keys(&file.boxed));
        let keys = keys.filter_map(|(key, span)| Some((key, span?)));
        let mut keys: Vec<Loosening> = keys.collect();
        if let Some(text) = &file.mode {
            let mode = self.mode(text)?;
            if !mode.partial_cmp(&policy.mode).is_some_and(Ordering::is_ge) {
                keys.push(("mode", text.span()));
            }
        }
        if let Some(text) = &file.questions.timeout
            && self.duration(text)? > policy.patience
        {
            keys.push(("questions.timeout", text.span()));
        }
        Ok(keys)
    }

    /// The mode may become stricter, and questions may wait less long.
    fn tighten_questions(&self, file: &PolicyFile, policy: &mut Policy) -> Result<(), LoadError> {
        if let Some(text) = &file.mode {
            policy.mode = self.mode(text)?;
        }
        if let Some(text) = &file.questions.timeout {
            policy.patience = self.duration(text)?;
        }
        Ok(())
    }
}
