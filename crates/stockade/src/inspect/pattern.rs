//! What the patterns of a shell stand for now, looked up where they would be.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};

use super::view::{Landing, View};
use crate::knowledge::wild;
use crate::shell::expand::{Bit, Field};

/// Entries of folders that are looked at for one pattern.
const ENTRIES_MAX: usize = 20_000;
/// Paths that one pattern may stand for.
const PATHS_MAX: usize = 1_000;

/// The paths that a pattern stands for from this view; `None` where they are too many to tell.
pub(crate) fn paths(field: &Field, view: &View<'_>) -> Option<Vec<PathBuf>> {
    let names = names(field)?;
    let mut budget = ENTRIES_MAX;
    let starts_at_root = names.first().is_some_and(Vec::is_empty);
    let mut found = vec![if starts_at_root { PathBuf::from("/") } else { PathBuf::new() }];
    for name in names.iter().filter(|name| !name.is_empty()) {
        let mut next = Vec::new();
        for folder in &found {
            match literal(name) {
                Some(text) => next.push(folder.join(text)),
                None => next.extend(matching(name, folder, view, &mut budget)?),
            }
        }
        if next.len() > PATHS_MAX {
            return None;
        }
        found = next;
    }
    Some(found)
}

/// Whether a name fits the last part of a pattern.
pub(crate) fn fits_name(field: &Field, name: &str) -> bool {
    let names = names(field).unwrap_or_default();
    names.last().is_some_and(|last| fits(last, name))
}

/// One character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Char(char),
    /// `*`
    Any,
    /// `?`
    One,
    /// `[`, with what stands in it left open: it fits any character.
    Class,
}

/// The names of a path, each a pattern.
fn names(field: &Field) -> Option<Vec<Vec<Sign>>> {
    let mut signs = Vec::new();
    for bit in &field.bits {
        match bit {
            Bit::Text(text) => signs.extend(text.chars().map(Sign::Char)),
            Bit::Glob('*') => signs.push(Sign::Any),
            Bit::Glob('?') => signs.push(Sign::One),
            Bit::Glob(_) => signs.push(Sign::Class),
            Bit::Number | Bit::Unknown => return None,
        }
    }
    let mut names = vec![Vec::new()];
    let mut at = 0_usize;
    while let Some(sign) = signs.get(at) {
        at = at.saturating_add(1);
        match sign {
            Sign::Char('/') => names.push(Vec::new()),
            Sign::Class => {
                let end = class_end(signs.get(at..).unwrap_or_default());
                // One that nothing closes is a bracket and nothing more.
                names.last_mut()?.push(end.map_or(Sign::Char('['), |_| Sign::Class));
                at = at.saturating_add(end.unwrap_or(0));
            }
            Sign::Char(_) | Sign::Any | Sign::One => names.last_mut()?.push(*sign),
        }
    }
    Some(names)
}

/// How many signs after a `[` belong to it: `]` may stand first, and `[:alpha:]` within.
fn class_end(signs: &[Sign]) -> Option<usize> {
    let is = |at: usize, c: char| match signs.get(at) {
        Some(Sign::Char(one)) => *one == c,
        Some(Sign::Class) => c == '[',
        Some(Sign::Any | Sign::One) | None => false,
    };
    let mut at = usize::from(is(0, '!') || is(0, '^'));
    at = at.saturating_add(usize::from(is(at, ']')));
    while at < signs.len() {
        let next = at.saturating_add(1);
        let kind = [':', '.', '='].into_iter().find(|kind| is(at, '[') && is(next, *kind));
        if let Some(kind) = kind {
            let from = next.saturating_add(1);
            let closes = |end: &usize| is(*end, kind) && is(end.saturating_add(1), ']');
            if let Some(end) = (from..signs.len()).find(closes) {
                at = end.saturating_add(2);
                continue;
            }
        }
        if is(at, ']') {
            return Some(next);
        }
        if is(at, '/') {
            return None;
        }
        at = next;
    }
    None
}

fn literal(name: &[Sign]) -> Option<String> {
    name.iter()
        .map(|sign| match sign {
            Sign::Char(c) => Some(*c),
            Sign::Any | Sign::One | Sign::Class => None,
        })
        .collect()
}

/// The entries of a folder that fit; `None` if there are too many to look at.
fn matching(
    name: &[Sign],
    folder: &Path,
    view: &View<'_>,
    budget: &mut usize,
) -> Option<Vec<PathBuf>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let opened = match view.land(here.as_os_str()) {
        Landing::Inside { exists: true, handle } => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(handle.as_fd(), ".", flags, Mode::empty())
        }
        Landing::Outside { exists: true, real } => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(rustix::fs::CWD, &real, flags, Mode::empty())
        }
        Landing::Inside { .. } | Landing::Outside { .. } | Landing::Unknowable(_) => {
            return Some(Vec::new());
        }
    };
    // What cannot be listed here cannot be by the shell either.
    let Ok(list) = opened.and_then(Dir::new) else { return Some(Vec::new()) };
    let mut found = Vec::new();
    for entry in list {
        let Ok(entry) = entry else { break };
        *budget = budget.checked_sub(1)?;
        let bytes = entry.file_name().to_bytes();
        let text = String::from_utf8_lossy(bytes);
        let is_hidden = text.starts_with('.') && name.first() != Some(&Sign::Char('.'));
        if text != "." && text != ".." && !is_hidden && fits(name, &text) {
            found.push(folder.join(std::ffi::OsStr::from_bytes(bytes)));
        }
    }
    Some(found)
}

/// Whether a name fits a pattern.
fn fits(pattern: &[Sign], name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    let takes = |sign: &Sign, letter: &char| match sign {
        Sign::Char(c) => is_same(*letter, *c),
        Sign::One | Sign::Class => true,
        Sign::Any => false,
    };
    wild::fits(pattern, &letters, |sign| *sign == Sign::Any, takes)
}

/// Whether two letters are one, for a shell that may have been told not to tell them apart.
fn is_same(one: char, other: char) -> bool {
    one == other || one.to_lowercase().eq(other.to_lowercase())
}
