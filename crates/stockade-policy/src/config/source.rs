//! One policy file: read with care, its values turned into types, each complaint with its line.

use std::collections::BTreeSet;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use toml::Spanned;

pub(crate) use crate::bounded::Links;
use crate::bounded::{self, TEXT_BYTES_MAX};
use crate::config::file::{CodeTable, LimitsTable, PolicyFile, SessionTable, Text};
use crate::guarantee::{Guarantee, Kept};
use crate::limits::{ByteCount, Limits, Processors, SessionLimits, parse_deadline, parse_duration};
use crate::model::durability::Durability;
use crate::{LoadError, Policy, Require, Variable};

/// A file that was read, and not yet understood.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn read(path: &Path, links: Links) -> Result<Option<Self>, LoadError> {
        let fail = |source: std::io::Error| LoadError::Read { path: path.to_owned(), source };
        let text = match bounded::read_text(path, links, TEXT_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
            Err(error) => return Err(fail(error)),
        };
        Ok(Some(Self { path: path.to_owned(), text }))
    }

    pub(crate) fn parse(&self) -> Result<PolicyFile, LoadError> {
        toml::from_str(&self.text).map_err(|error| LoadError::Syntax {
            path: self.path.clone(),
            message: error.to_string().trim_end().to_owned(),
        })
    }

    pub(crate) fn limits(&self, table: &LimitsTable, base: &Limits) -> Result<Limits, LoadError> {
        let mut limits = base.clone();
        let duration = |text: &str| parse_duration(text).map_err(|error| error.to_string());
        let size = |text: &str| ByteCount::from_str(text).map_err(|error| error.to_string());
        let deadline = |text: &str| parse_deadline(text).map_err(|error| error.to_string());
        let own = [&mut limits.wall, &mut limits.wall_max, &mut limits.background_max];
        for (limit, text) in
            own.into_iter().zip([&table.wall, &table.wall_max, &table.background_max])
        {
            if let Some(text) = text {
                *limit = self.value(text, deadline)?;
            }
        }
        if let Some(text) = &table.output {
            limits.output = self.value(text, size)?;
        }
        if let Some(text) = &table.flood {
            limits.flood = self.value(text, size)?;
        }
        limits.cpu = self.optional(&table.cpu, limits.cpu, duration)?;
        let processors = |text: &str| Processors::from_str(text).map_err(|error| error.to_string());
        limits.cpus = self.optional(&table.cpus, limits.cpus, processors)?;
        limits.memory = self.optional(&table.memory, limits.memory, size)?;
        limits.file_size = self.optional(&table.file_size, limits.file_size, size)?;
        if let Some(none) = table.processes.as_ref().filter(|most| *most.get_ref() == 0) {
            let message = "a program is a process: at least 1".to_owned();
            let line = self.line(&none.span());
            return Err(LoadError::Value { path: self.path.clone(), line, message });
        }
        limits.processes = table.processes.as_ref().map(|n| *n.get_ref()).or(limits.processes);
        limits.disk = self.optional(&table.disk, limits.disk, size)?;
        limits.files = table.files.as_ref().map(|n| *n.get_ref()).or(limits.files);
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

    /// How many interpreters wait.
    pub(crate) fn warm_interpreters(table: &CodeTable) -> Option<usize> {
        const MOST: u32 = 16;
        let warm = table.warm.as_ref().map(|warm| (*warm.get_ref()).min(MOST));
        warm.and_then(|warm| usize::try_from(warm).ok())
    }

    /// The limits of sessions.
    pub(crate) fn session(
        &self,
        table: &SessionTable,
        base: SessionLimits,
    ) -> Result<SessionLimits, LoadError> {
        let mut limits = base;
        if let Some(text) = &table.idle {
            limits.idle = self.duration(text)?;
        }
        if let Some(most) = &table.processes {
            limits.processes = *most.get_ref();
        }
        if let Some(text) = &table.memory {
            limits.memory = self
                .value(text, |text| text.parse::<ByteCount>().map_err(|error| error.to_string()))?;
        }
        Ok(limits)
    }

    pub(crate) fn durability(
        &self,
        text: &Spanned<String>,
        window: Option<std::time::Duration>,
    ) -> Result<Durability, LoadError> {
        self.value(text, |text| match text {
            "each" => Ok(Durability::Each),
            "batched" => {
                Ok(window.map_or_else(Durability::default, |window| Durability::Batched { window }))
            }
            _ => Err(format!("unknown durability {text:?}; expected each or batched")),
        })
    }

    /// Remembers where denied names are written, for the messages of refusals.
    pub(crate) fn note_sources(&self, names: &Spanned<Vec<Spanned<String>>>, policy: &mut Policy) {
        for name in names.get_ref() {
            let place = format!("{}:{}", self.path.display(), self.line(&name.span()));
            policy.sources.insert(name.get_ref().clone(), place);
        }
    }

    pub(crate) fn variables(
        &self,
        names: &Spanned<Vec<Spanned<String>>>,
    ) -> Result<Vec<Variable>, LoadError> {
        let parse = |text: &str| {
            Variable::parse(text).ok_or_else(|| format!("{text:?} is neither NAME nor NAME=VALUE"))
        };
        names.get_ref().iter().map(|name| self.value(name, parse)).collect()
    }

    /// Reads `writes` (kept fully), `writes:partial`, and `tier` for all that the tier is for.
    pub(crate) fn requirements(
        &self,
        names: &Spanned<Vec<Spanned<String>>>,
    ) -> Result<Require, LoadError> {
        let known = || format!("{}, or tier", Guarantee::ALL.map(Guarantee::name).join(", "));
        let parse = |text: &str| {
            let (name, kept) = match text.split_once(':') {
                None => (text, Some(Kept::Full)),
                Some((name, level)) => {
                    let levels = [Kept::Full, Kept::Partial, Kept::Detected];
                    (name, levels.into_iter().find(|kept| kept.name() == level))
                }
            };
            let guarantee = Guarantee::named(name)
                .ok_or_else(|| format!("unknown guarantee {name:?}; expected {}", known()))?;
            let kept = kept.ok_or_else(|| {
                format!("{text:?}: write full, partial or detected after the colon")
            })?;
            Ok((guarantee, kept))
        };
        let mut require = Require::only([]);
        for name in names.get_ref() {
            if name.get_ref() == Require::OF_TIER {
                require.add(Require::default());
            } else {
                let (guarantee, kept) = self.value(name, parse)?;
                require.insert(guarantee, kept);
            }
        }
        Ok(require)
    }

    pub(crate) fn path(&self, text: &Spanned<String>) -> Result<PathBuf, LoadError> {
        self.value(text, |text| match text.strip_prefix("~/") {
            Some(rest) => std::env::home_dir()
                .map(|home| home.join(rest))
                .ok_or_else(|| format!("{text:?} needs a home folder, and there is none")),
            None if text.starts_with('/') => Ok(PathBuf::from(text)),
            None => Err(format!("{text:?} is neither absolute nor below ~/")),
        })
    }

    pub(crate) fn value<T>(
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

    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.split(|byte| *byte == b'\n').count()
    }
}

/// The names without their places.
pub(crate) fn plain(names: &Spanned<Vec<Spanned<String>>>) -> BTreeSet<String> {
    names.get_ref().iter().map(|name| name.get_ref().clone()).collect()
}
