//! The file tools and their arguments, named as in coding agents.

mod wire;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::BadInput;

/// A call of a file tool, which Stockade carries out beneath the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileCall {
    /// Reads lines of a file.
    Read(Read),
    /// Creates a file, or replaces its content.
    Write(Write),
    /// Replaces a text in a file.
    Edit(Edit),
    /// Finds files by name.
    Glob(Glob),
    /// Finds files and lines by content.
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
    /// The new content.
    pub content: String,
}

/// The arguments of `Edit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// The text to replace.
    pub old: String,
    /// The new text.
    pub new: String,
    /// How often the text may occur.
    pub occurrence: Occurrence,
}

/// How often a text is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// Exactly once, otherwise it is an error.
    Once,
    /// Everywhere.
    All,
}

/// The arguments of `Glob`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    /// The pattern of names, such as `src/**/*.rs`.
    pub pattern: String,
    /// The folder to search; none means the call's own.
    pub path: Option<PathBuf>,
}

impl Glob {
    /// The folder to search and the pattern below it: the pattern is split before its first
    /// wildcard.
    pub fn split(&self) -> (PathBuf, &str) {
        let before = folder_of(&self.pattern);
        let rest = self.pattern.get(before.len()..).unwrap_or_default();
        let folder = self.path.clone().unwrap_or_else(|| PathBuf::from("."));
        (if before.is_empty() { folder } else { folder.join(before) }, rest)
    }
}

/// The folder in a path pattern: everything before its first wildcard, up to a slash.
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
    /// The file or folder to search; none means the call's own folder.
    pub path: Option<PathBuf>,
    /// Only files with matching names.
    pub glob: Option<String>,
    /// Only files of this type, as `rust` or `py`.
    pub kind: Option<String>,
    /// What is shown.
    pub show: Show,
    /// Whether case matters.
    pub case: Case,
    /// Whether a match may span lines.
    pub span: Span,
    /// Whether lines are numbered.
    pub numbers: Numbers,
    /// Lines of context before each match.
    pub before: u64,
    /// Lines of context after each match.
    pub after: u64,
    /// Lines or files to skip.
    pub offset: u64,
    /// The most lines or files to show.
    pub head_limit: Option<u64>,
}

impl Grep {
    /// A search in the call's folder that shows file names.
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

/// What a search shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// The files with a match.
    Files,
    /// The lines with a match.
    Content,
    /// The number of matching lines of each file.
    Count,
}

/// Case sensitivity of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Case matters.
    Matters,
    /// Case is ignored.
    Ignored,
}

/// How far a match may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Within one line.
    Line,
    /// Across lines.
    Lines,
}

/// Whether lines are numbered.
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

    /// The file or folder of the call, if it names one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(read) => Some(&read.path),
            Self::Write(write) => Some(&write.path),
            Self::Edit(edit) => Some(&edit.path),
            Self::Glob(glob) => glob.path.as_deref(),
            Self::Grep(grep) => grep.path.as_deref(),
        }
    }

    /// The pattern of the call, if it has one.
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

    /// Parses the input of the file tool with this name or alias.
    pub fn parse(tool: &str, input: &Map<String, Value>) -> Option<Result<Self, BadInput>> {
        Self::take(tool, input.clone()).ok()
    }

    /// Like [`FileCall::parse`], but takes the input, and returns it if this is no file tool.
    pub(super) fn take(
        tool: &str,
        input: Map<String, Value>,
    ) -> Result<Result<Self, BadInput>, Map<String, Value>> {
        wire::parse(tool, input)
    }

    /// The input of the call, as [`FileCall::parse`] reads it.
    pub fn input(&self) -> Map<String, Value> {
        wire::input(self)
    }
}

#[cfg(test)]
mod tests;
