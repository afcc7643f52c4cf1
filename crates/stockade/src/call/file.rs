//! The file tools and their arguments, under the names that coding agents give them.

mod wire;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::BadInput;

/// A call that Stockade carries out itself, on files beneath the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileCall {
    /// Reads lines of a file.
    Read(Read),
    /// Makes a file, or replaces all that is in it.
    Write(Write),
    /// Replaces a text in a file.
    Edit(Edit),
    /// Finds files by their names.
    Glob(Glob),
    /// Finds files and lines by what is in them.
    Grep(Grep),
}

/// The arguments of `Read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The file.
    pub path: PathBuf,
    /// The first line to read, from 1.
    pub offset: Option<u64>,
    /// The most lines to read.
    pub limit: Option<u64>,
}

/// The arguments of `Write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: PathBuf,
    /// All that is to be in it.
    pub content: String,
}

/// The arguments of `Edit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// A text that is in it, once.
    pub old: String,
    /// What comes in its place.
    pub new: String,
    /// How often it has to be there.
    pub occurrence: Occurrence,
}

/// How often a text is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// It is there once, or nothing is done.
    Once,
    /// Wherever it is.
    All,
}

/// The arguments of `Glob`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    /// Which names, such as `src/**/*.rs`.
    pub pattern: String,
    /// The folder to look in; the call's own if none is given.
    pub path: Option<PathBuf>,
}

impl Glob {
    /// The folder to look in, and what the names below it have to be like: the part of the pattern
    /// before its first wildcard is a path.
    pub fn split(&self) -> (PathBuf, &str) {
        let before = folder_of(&self.pattern);
        let rest = self.pattern.get(before.len()..).unwrap_or_default();
        let folder = self.path.clone().unwrap_or_else(|| PathBuf::from("."));
        (if before.is_empty() { folder } else { folder.join(before) }, rest)
    }
}

/// The part of a pattern of paths that names a folder: all before its first wildcard, up to a slash.
pub fn folder_of(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let before = pattern.get(..end).unwrap_or_default();
    before.rfind('/').and_then(|end| pattern.get(..=end)).unwrap_or_default()
}

/// The arguments of `Grep`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grep {
    /// A regular expression.
    pub pattern: String,
    /// The file or folder to look in; the call's own folder if none is given.
    pub path: Option<PathBuf>,
    /// Only files with such names.
    pub glob: Option<String>,
    /// Only files of this type, as `rust` or `py`.
    pub kind: Option<String>,
    /// What is told of what was found.
    pub show: Show,
    /// Whether small and capital letters are the same.
    pub case: Case,
    /// Whether a match may span lines.
    pub span: Span,
    /// Whether lines have their numbers before them.
    pub numbers: Numbers,
    /// Lines told before each match.
    pub before: u64,
    /// Lines told after each match.
    pub after: u64,
    /// Lines or files that are left out at the beginning.
    pub offset: u64,
    /// The most lines or files to tell.
    pub head_limit: Option<u64>,
}

impl Grep {
    /// A search for this in the call's folder, for the names of files.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: None,
            glob: None,
            kind: None,
            show: Show::Files,
            case: Case::Matters,
            span: Span::Line,
            numbers: Numbers::Shown,
            before: 0,
            after: 0,
            offset: 0,
            head_limit: None,
        }
    }
}

/// What a search tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// The files with a match.
    Files,
    /// The lines with a match.
    Content,
    /// How many lines of each file match.
    Count,
}

/// What letters mean to a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Themselves.
    Matters,
    /// Small ones and capitals are the same.
    Ignored,
}

/// How far a match may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Within one line.
    Line,
    /// Over lines.
    Lines,
}

/// Whether lines are told with their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// They are.
    Shown,
    /// They are not.
    Left,
}

impl FileCall {
    /// The name that rules, the journal and the report use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "Read",
            Self::Write(_) => "Write",
            Self::Edit(_) => "Edit",
            Self::Glob(_) => "Glob",
            Self::Grep(_) => "Grep",
        }
    }

    /// The file or folder that it names, if it names one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(read) => Some(&read.path),
            Self::Write(write) => Some(&write.path),
            Self::Edit(edit) => Some(&edit.path),
            Self::Glob(glob) => glob.path.as_deref(),
            Self::Grep(grep) => grep.path.as_deref(),
        }
    }

    /// The pattern that it looks for, if it looks for one.
    pub fn pattern(&self) -> Option<&str> {
        match self {
            Self::Glob(glob) => Some(&glob.pattern),
            Self::Grep(grep) => Some(&grep.pattern),
            Self::Read(_) | Self::Write(_) | Self::Edit(_) => None,
        }
    }

    /// Whether it changes a file.
    pub fn writes(&self) -> bool {
        match self {
            Self::Write(_) | Self::Edit(_) => true,
            Self::Read(_) | Self::Glob(_) | Self::Grep(_) => false,
        }
    }

    /// The call of the file tool with this name or alias, if it is one.
    pub fn parse(tool: &str, input: &Map<String, Value>) -> Option<Result<Self, BadInput>> {
        Self::take(tool, input.clone()).ok()
    }

    /// The same from an input that is moved into the call; it comes back if this is no file tool.
    pub(super) fn take(
        tool: &str,
        input: Map<String, Value>,
    ) -> Result<Result<Self, BadInput>, Map<String, Value>> {
        wire::parse(tool, input)
    }

    /// Its input, as [`FileCall::parse`] reads it.
    pub fn input(&self) -> Map<String, Value> {
        wire::input(self)
    }
}

#[cfg(test)]
mod tests;
