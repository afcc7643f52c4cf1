//! From files to a policy: shipped, then the user's, then the machine's; a project only tightens.
//!
//! A file that does not load is an error, never a default.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use toml::Spanned;

use super::file::{ExecTable, LimitsTable, Names, PolicyFile, Text};
use super::{Policy, Profile, Variable};
use crate::guarantee::{Guarantee, Kept};
use crate::journal::Durability;
use crate::limits::{ByteCount, Limits, parse_duration};
use crate::tier::Tier;

/// A policy file is text for a person; a larger one is a mistake.
const FILE_BYTES_MAX: u64 = 1 << 20;

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
            if let Some(source) = Source::read(path)? {
                source.apply(&mut policy)?;
            }
        }
        if let Some(source) = self.project.as_deref().map(Source::read).transpose()?.flatten() {
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
        Source::read(path)?.ok_or_else(missing)?.apply(&mut policy)?;
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
    /// A project's file asks for more than it may.
    #[error(
        "use {path:?}, line {line}: `{key}` would loosen the policy, and a project's file can only \
         tighten it; put it into your own file, or name this one with --policy"
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

struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn read(path: &Path) -> Result<Option<Self>, LoadError> {
        let fail = |source: std::io::Error| LoadError::Read { path: path.to_owned(), source };
        // A FIFO must not hang us, and a device is no policy.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(fail(errno.into())),
        };
        let stat = rustix::fs::fstat(&handle).map_err(|errno| fail(errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(fail(std::io::Error::other("it is not a regular file")));
        }
        let mut text = String::new();
        let mut reader = std::fs::File::from(handle).take(FILE_BYTES_MAX.saturating_add(1));
        reader.read_to_string(&mut text).map_err(fail)?;
        if u64::try_from(text.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
            return Err(fail(std::io::Error::other("it is larger than 1 MiB")));
        }
        Ok(Some(Self { path: path.to_owned(), text }))
    }

    fn parse(&self) -> Result<PolicyFile, LoadError> {
        toml::from_str(&self.text).map_err(|error| LoadError::Syntax {
            path: self.path.clone(),
            message: error.to_string().trim_end().to_owned(),
        })
    }

    /// A trusted file: each key it has replaces what was there.
    fn apply(&self, policy: &mut Policy) -> Result<(), LoadError> {
        let file = self.parse()?;
        self.apply_exec(&file.exec, policy)?;
        if let Some(names) = &file.shell.only {
            policy.settings.only = Some(plain(names));
        }
        if let Some(tier) = &file.boxed.tier {
            policy.tier =
                self.value(tier, |text| Tier::from_str(text).map_err(|e| e.to_string()))?;
        }
        if let Some(names) = &file.boxed.env {
            policy.environment = self.variables(names)?;
        }
        if let Some(names) = &file.boxed.require {
            policy.require = self.guarantees(names)?;
        }
        policy.limits = self.limits(&file.limits, &policy.limits)?;
        let window = match &file.journal.window {
            Some(text) => {
                Some(self.value(text, |text| parse_duration(text).map_err(|e| e.to_string()))?)
            }
            None => None,
        };
        policy.durability = match (&file.journal.durability, window, policy.durability) {
            (Some(text), window, _) => self.durability(text, window)?,
            (None, Some(window), Durability::Batched { .. }) => Durability::Batched { window },
            (None, _, kept) => kept,
        };
        Ok(())
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

    /// An untrusted file: lists of refusals grow, limits shrink, and anything else is an error.
    fn tighten(&self, policy: &mut Policy) -> Result<(), LoadError> {
        let file = self.parse()?;
        let strict = |text: &Spanned<String>| text.get_ref() == "strict";
        let profile = file.exec.profile.as_ref().filter(|text| !strict(text));
        let list = |names: &Names| names.as_ref().map(Spanned::span);
        let loosening = [
            ("exec.profile", profile.map(Spanned::span)),
            ("exec.folders", list(&file.exec.folders)),
            ("exec.search_path", list(&file.exec.search_path)),
            ("exec.outside", list(&file.exec.outside)),
            ("exec.data", list(&file.exec.data)),
            ("box.tier", file.boxed.tier.as_ref().map(Spanned::span)),
            ("box.env", list(&file.boxed.env)),
            ("journal.durability", file.journal.durability.as_ref().map(Spanned::span)),
            ("journal.window", file.journal.window.as_ref().map(Spanned::span)),
            ("shell.only", list(&file.shell.only).filter(|_| policy.settings.only.is_none())),
        ];
        if let Some((key, Some(span))) = loosening.into_iter().find(|(_, span)| span.is_some()) {
            return Err(LoadError::Loosens {
                path: self.path.clone(),
                line: self.line(&span),
                key,
            });
        }
        if profile.is_none() && file.exec.profile.is_some() {
            policy.profile = Profile::Strict;
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
        if let Some(names) = &file.boxed.require {
            for (guarantee, kept) in self.guarantees(names)? {
                let required = policy.require.entry(guarantee).or_insert(kept);
                *required = kept.max(*required);
            }
        }
        let asked = self.limits(&file.limits, &policy.limits)?;
        policy.limits = policy.limits.strictest(&asked);
        Ok(())
    }

    fn limits(&self, table: &LimitsTable, base: &Limits) -> Result<Limits, LoadError> {
        let mut limits = base.clone();
        let duration = |text: &str| parse_duration(text).map_err(|error| error.to_string());
        let size = |text: &str| ByteCount::from_str(text).map_err(|error| error.to_string());
        if let Some(text) = &table.wall {
            limits.wall = self.value(text, duration)?;
        }
        if let Some(text) = &table.output {
            limits.output = self.value(text, size)?;
        }
        if let Some(text) = &table.flood {
            limits.flood = self.value(text, size)?;
        }
        limits.cpu = self.optional(&table.cpu, limits.cpu, duration)?;
        limits.memory = self.optional(&table.memory, limits.memory, size)?;
        limits.file_size = self.optional(&table.file_size, limits.file_size, size)?;
        if let Some(none) = table.processes.as_ref().filter(|most| *most.get_ref() == 0) {
            let message = "a program is a process: at least 1".to_owned();
            let line = self.line(&none.span());
            return Err(LoadError::Value { path: self.path.clone(), line, message });
        }
        limits.processes = table.processes.as_ref().map(|n| *n.get_ref()).or(limits.processes);
        limits.open_files = table.open_files.as_ref().map_or(limits.open_files, |n| *n.get_ref());
        Ok(limits)
    }

    fn optional<T>(
        &self,
        text: &Text,
        kept: Option<T>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, LoadError> {
        match text {
            None => Ok(kept),
            Some(text) if text.get_ref() == "none" => Ok(None),
            Some(text) => self.value(text, parse).map(Some),
        }
    }

    fn durability(
        &self,
        text: &Spanned<String>,
        window: Option<std::time::Duration>,
    ) -> Result<Durability, LoadError> {
        self.value(text, |text| match text {
            "each" => Ok(Durability::Each),
            "batched" => {
                Ok(window.map_or_else(Durability::default, |window| Durability::Batched { window }))
            }
            _ => Err(format!("{text:?} is no durability: each or batched")),
        })
    }

    /// Remembers where denied names are written, for the messages of refusals.
    fn note_sources(&self, names: &Spanned<Vec<Spanned<String>>>, policy: &mut Policy) {
        for name in names.get_ref() {
            let place = format!("{}:{}", self.path.display(), self.line(&name.span()));
            policy.sources.insert(name.get_ref().clone(), place);
        }
    }

    fn variables(&self, names: &Spanned<Vec<Spanned<String>>>) -> Result<Vec<Variable>, LoadError> {
        let parse = |text: &str| {
            Variable::parse(text).ok_or_else(|| format!("{text:?} is neither NAME nor NAME=VALUE"))
        };
        names.get_ref().iter().map(|name| self.value(name, parse)).collect()
    }

    /// Reads `writes` (kept fully) and `writes:partial`.
    fn guarantees(
        &self,
        names: &Spanned<Vec<Spanned<String>>>,
    ) -> Result<BTreeMap<Guarantee, Kept>, LoadError> {
        let known = || Guarantee::ALL.map(Guarantee::name).join(", ");
        let parse = |text: &str| {
            let (name, kept) = match text.split_once(':') {
                None => (text, Some(Kept::Full)),
                Some((name, level)) => {
                    let levels = [Kept::Full, Kept::Partial, Kept::Detected];
                    (name, levels.into_iter().find(|kept| kept.name() == level))
                }
            };
            let guarantee = Guarantee::named(name)
                .ok_or_else(|| format!("{name:?} is no guarantee: {}", known()))?;
            let kept = kept.ok_or_else(|| {
                format!("{text:?}: write full, partial or detected after the colon")
            })?;
            Ok((guarantee, kept))
        };
        names.get_ref().iter().map(|name| self.value(name, parse)).collect()
    }

    fn path(&self, text: &Spanned<String>) -> Result<PathBuf, LoadError> {
        self.value(text, |text| match text.strip_prefix("~/") {
            Some(rest) => std::env::home_dir()
                .map(|home| home.join(rest))
                .ok_or_else(|| format!("{text:?} needs a home folder, and there is none")),
            None if text.starts_with('/') => Ok(PathBuf::from(text)),
            None => Err(format!("{text:?} is neither absolute nor below ~/")),
        })
    }

    fn value<T>(
        &self,
        text: &Spanned<String>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, LoadError> {
        parse(text.get_ref()).map_err(|message| LoadError::Value {
            path: self.path.clone(),
            line: self.line(&text.span()),
            message,
        })
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.split(|byte| *byte == b'\n').count()
    }
}

fn plain(names: &Spanned<Vec<Spanned<String>>>) -> BTreeSet<String> {
    names.get_ref().iter().map(|name| name.get_ref().clone()).collect()
}
