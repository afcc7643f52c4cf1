//! `Glob`: files by their names, the ones that were changed last first.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet};
use rustix::fs::AtFlags;

use super::error::FileError;
use super::tool_output::Lines;
use super::tree::{Next, walk};
use super::{Job, ToolOutput};
use crate::call::file::Glob;

/// Files that are told.
const FILES_MAX: usize = 1000;
/// A longer pattern is none that a person wrote.
const PATTERN_BYTES_MAX: usize = 4096;
/// Letters of what is wrong with one.
const WHY_MAX: usize = 200;

/// Finds the files whose paths below the folder are like the pattern.
pub(super) fn glob(job: &Job<'_>, glob: &Glob) -> Result<ToolOutput, FileError> {
    let (_, rest) = glob.split();
    let names = if glob.pattern.contains('/') { path_pattern(rest)? } else { name_pattern(rest)? };
    let mut found: Vec<((i64, i64), PathBuf)> = Vec::new();
    let walked = walk(job, |met| {
        if names.is_match(met.below)
            && let Ok(stat) = rustix::fs::statat(met.folder, met.name, AtFlags::SYMLINK_NOFOLLOW)
        {
            let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
            found.push(((stat.st_mtime, nanos), met.path.to_owned()));
        }
        Next::Go
    })?;
    found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let mut lines = Lines::new(job.output_max);
    for (_, path) in found.iter().take(FILES_MAX) {
        lines.push(shown(path, job.told_from).as_os_str().as_bytes());
    }
    let told = found.len().min(FILES_MAX).saturating_sub(usize::try_from(lines.left).unwrap_or(0));
    let mut remarks = walked.remarks();
    if found.is_empty() {
        remarks.push("no file has such a name".to_owned());
    } else if told < found.len() {
        remarks.push(format!("{told} of {} files, those that were changed last", found.len()));
    }
    Ok(ToolOutput { text: lines.captured(), remarks, limit: walked.limit, ..ToolOutput::default() })
}

/// A path as it is told.
pub(super) fn shown<'p>(path: &'p Path, from: &Path) -> &'p Path {
    match path.strip_prefix(from) {
        Ok(below) if !below.as_os_str().is_empty() => below,
        Ok(_) | Err(_) => path,
    }
}

/// A pattern without a slash is about names, wherever they are.
pub(super) fn either_pattern(text: &str) -> Result<GlobSet, FileError> {
    if text.contains('/') { path_pattern(text) } else { name_pattern(text) }
}

fn name_pattern(text: &str) -> Result<GlobSet, FileError> {
    path_pattern(&format!("**/{text}"))
}

fn path_pattern(text: &str) -> Result<GlobSet, FileError> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(FileError::Pattern(format!("it is longer than {PATTERN_BYTES_MAX} bytes")));
    }
    let text = text.trim_start_matches("./");
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    // A single pattern has a matcher of its own, whose making panics where a set's is an error.
    let set = glob.and_then(|glob| GlobSet::builder().add(glob).build());
    set.map_err(|error| FileError::Pattern(said(&error)))
}

/// Why a pattern is none, without all of it.
fn said(error: &globset::Error) -> String {
    error.kind().to_string().chars().take(WHY_MAX).collect()
}
