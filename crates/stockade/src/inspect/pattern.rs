//! Expands glob patterns of a shell as they match now, in the folder where they would be expanded.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};

use super::resolver::{PathResolver, Resolution};
use crate::pattern::{Case, Pattern};
use crate::shell::expand::Field;

/// The most folder entries that are read for one pattern.
const ENTRIES_MAX: usize = 20_000;
/// The most paths that one pattern may expand to.
const PATHS_MAX: usize = 1_000;

/// The paths that a pattern expands to from here; `None` if there are too many.
pub(crate) fn paths(field: &Field, resolver: &PathResolver<'_>) -> Option<Vec<PathBuf>> {
    let names = Pattern::of_field(field)?;
    let mut budget = ENTRIES_MAX;
    let starts_at_root = names.first().is_some_and(is_empty);
    let mut found = vec![if starts_at_root { PathBuf::from("/") } else { PathBuf::new() }];
    for name in names.iter().filter(|name| !is_empty(name)) {
        let mut next = Vec::new();
        for folder in &found {
            match name.literal() {
                Some(text) => next.push(folder.join(text)),
                None => next.extend(matching(name, folder, resolver, &mut budget)?),
            }
        }
        if next.len() > PATHS_MAX {
            return None;
        }
        found = next;
    }
    Some(found)
}

/// Whether a name matches the last part of a pattern.
pub(crate) fn fits_name(field: &Field, name: &str) -> bool {
    let names = Pattern::of_field(field).unwrap_or_default();
    names.last().is_some_and(|last| matches(last, name))
}

fn is_empty(name: &Pattern) -> bool {
    name.literal() == Some("")
}

/// Whether a name matches, ignoring case, because the shell may do so.
fn matches(pattern: &Pattern, name: &str) -> bool {
    pattern.matches_as(name, Case::Unicode)
}

/// The matching entries of a folder; `None` if there are too many to read.
fn matching(
    name: &Pattern,
    folder: &Path,
    resolver: &PathResolver<'_>,
    budget: &mut usize,
) -> Option<Vec<PathBuf>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let opened = match resolver.resolve(here.as_os_str()) {
        Resolution::Inside { exists: true, handle } => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(handle.as_fd(), ".", flags, Mode::empty())
        }
        Resolution::Outside { exists: true, real } => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(rustix::fs::CWD, &real, flags, Mode::empty())
        }
        Resolution::Inside { .. } | Resolution::Outside { .. } | Resolution::Unknowable(_) => {
            return Some(Vec::new());
        }
    };
    // The shell cannot list it either.
    let Ok(list) = opened.and_then(Dir::new) else { return Some(Vec::new()) };
    let mut found = Vec::new();
    for entry in list {
        let Ok(entry) = entry else { break };
        *budget = budget.checked_sub(1)?;
        let bytes = entry.file_name().to_bytes();
        let text = String::from_utf8_lossy(bytes);
        let is_hidden = text.starts_with('.') && !name.prefix().starts_with(b".");
        if text != "." && text != ".." && !is_hidden && matches(name, &text) {
            found.push(folder.join(std::ffi::OsStr::from_bytes(bytes)));
        }
    }
    Some(found)
}
