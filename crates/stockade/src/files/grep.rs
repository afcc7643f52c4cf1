//! `Grep`: files and lines by what is in them, with the regular expressions of ripgrep, whose time
//! grows with the text alone and not with the pattern's tricks.

mod lines;

use std::os::fd::AsFd;
use std::path::Path;

use globset::GlobMatcher;
use ignore::types::{Types, TypesBuilder};
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::FileType;

use self::lines::{Answer, Searched};
use super::error::FileError;
use super::glob::either_pattern;
use super::open::{entry, is_binary, judged, regular, whole};
use super::tree::{Met, Next, Walked, walk};
use super::{Job, Told};
use crate::call::file::{Case, Grep, Span};
use crate::inspect::stat_of;

/// Larger files are passed by.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// A longer pattern is none that a person wrote.
const PATTERN_BYTES_MAX: usize = 64 << 10;
/// Memory of a compiled pattern.
const COMPILED_BYTES_MAX: usize = 16 << 20;

/// Looks for the pattern in a file, or in all files of a folder.
pub(super) fn grep(job: &Job<'_>, grep: &Grep) -> Result<Told, FileError> {
    let search = Search::new(grep)?;
    let mut answer = Answer::new(job, grep);
    let mut passed = Passed::default();
    let handle = job.place.file.as_ref();
    let handle = handle.ok_or_else(|| FileError::Missing(job.place.real.clone()))?;
    let mode =
        stat_of(handle.as_fd()).map_err(FileError::system("look at", &job.place.real))?.st_mode;
    let walked = if FileType::from_raw_mode(mode) == FileType::Directory {
        walk(job, |met| search.meet(met, &mut answer, &mut passed))?
    } else {
        let (file, stat) = judged(job.place)?;
        let bytes = whole(&file, &stat, &job.place.real, FILE_BYTES_MAX)?;
        if is_binary(&bytes) {
            let bytes = u64::try_from(stat.st_size).unwrap_or_default();
            return Err(FileError::Binary { path: job.place.real.clone(), bytes });
        }
        search.file(&job.place.real, &bytes, &mut answer);
        Walked::default()
    };
    let limit = walked.limit;
    let mut remarks = walked.remarks();
    remarks.extend(passed.remarks());
    let mut told = answer.told();
    told.remarks.extend(remarks);
    told.limit = told.limit.or(limit);
    Ok(told)
}

/// Files that were passed by.
#[derive(Debug, Default)]
struct Passed {
    binary: u64,
    large: u64,
    unread: u64,
}

impl Passed {
    fn remarks(&self) -> Vec<String> {
        let said = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        let large = format!("files were passed by, with more than {FILE_BYTES_MAX} bytes");
        [
            said(self.binary, "binary files were passed by"),
            said(self.large, &large),
            said(self.unread, "files could not be read"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

struct Search {
    regex: Regex,
    span: Span,
    /// Whether a text without a match has no line with one.
    is_sieve: bool,
    names: Option<GlobMatcher>,
    types: Option<Types>,
}

impl Search {
    fn new(grep: &Grep) -> Result<Self, FileError> {
        if grep.pattern.len() > PATTERN_BYTES_MAX {
            let why = format!("it is longer than {PATTERN_BYTES_MAX} bytes");
            return Err(FileError::Pattern(why));
        }
        let regex = RegexBuilder::new(&grep.pattern)
            .case_insensitive(grep.case == Case::Ignored)
            .multi_line(true)
            .dot_matches_new_line(grep.span == Span::Lines)
            .crlf(true)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX)
            .build()
            .map_err(|error| FileError::Pattern(error.to_string()))?;
        let anchors = ["\\A", "\\z"];
        Ok(Self {
            regex,
            span: grep.span,
            is_sieve: !anchors.iter().any(|anchor| grep.pattern.contains(anchor)),
            names: grep.glob.as_deref().map(either_pattern).transpose()?,
            types: grep.kind.as_deref().map(types).transpose()?,
        })
    }

    fn meet(&self, met: &Met<'_>, answer: &mut Answer<'_>, passed: &mut Passed) -> Next {
        let is_meant = met.kind == FileType::RegularFile
            && self.names.as_ref().is_none_or(|names| names.is_match(met.below))
            && self
                .types
                .as_ref()
                .is_none_or(|types| types.matched(met.path, false).is_whitelist());
        if !is_meant {
            return Next::Go;
        }
        let count = |count: &mut u64| *count = count.saturating_add(1);
        let opened = entry(met.folder, met.name)
            .map_err(FileError::system("open", met.path))
            .and_then(|handle| regular(handle.as_fd(), met.path));
        match opened.and_then(|(file, stat)| whole(&file, &stat, met.path, FILE_BYTES_MAX)) {
            Ok(bytes) if is_binary(&bytes) => count(&mut passed.binary),
            Ok(bytes) => self.file(met.path, &bytes, answer),
            Err(FileError::TooLarge { .. }) => count(&mut passed.large),
            // It was replaced by something else since the folder was read.
            Err(FileError::NoFile { .. }) => {}
            Err(_) => count(&mut passed.unread),
        }
        if answer.is_full() { Next::Stop } else { Next::Go }
    }

    fn file(&self, path: &Path, bytes: &[u8], answer: &mut Answer<'_>) {
        if (self.is_sieve || self.span == Span::Lines) && !self.regex.is_match(bytes) {
            return;
        }
        let searched = match self.span {
            Span::Line => Searched::by_line(bytes, &self.regex),
            Span::Lines => Searched::over_lines(bytes, &self.regex),
        };
        answer.add(path, &searched);
    }
}

fn types(name: &str) -> Result<Types, FileError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|error| FileError::Pattern(error.to_string()))
}
