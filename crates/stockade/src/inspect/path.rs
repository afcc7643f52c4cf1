//! The path axis: every argument that is a path, contains one or names a file, judged on where
//! it lands.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use super::command::Command;
use super::finding::{Axis, Finding, Weight};
use super::settings::Settings;
use super::view::{Landing, View};

/// What stands between a path and the rest of an argument: `--file=OUT`, `a:b`, `-Wl,x`, `@file`.
const SEPARATORS: &[u8] = b"=:,@<";
/// Separators in one argument up to which the whole rest may be a path with more of them in it.
const WHOLE_RESTS_MAX: usize = 64;

/// Programs of the system that open nothing they are given: their arguments are no paths.
const OPEN_NOTHING: [&str; 11] = [
    "echo", "printf", "true", "false", "yes", "seq", "expr", "sleep", "basename", "dirname",
    "factor",
];

/// What this axis finds in one command.
pub(super) fn inspect(command: &Command<'_>, view: &View<'_>, settings: &Settings) -> Vec<Finding> {
    let opens_nothing = |name: &String| OPEN_NOTHING.contains(&name.as_str());
    if command.is_of_the_system() && command.names.iter().all(opens_nothing) {
        return Vec::new();
    }
    command
        .own_arguments()
        .filter(|word| !command.is_text(word.argument))
        .filter_map(|word| judge_word(&word.text, word.argument, view, settings))
        .collect()
}

fn judge_word(
    text: &OsStr,
    argument: usize,
    view: &View<'_>,
    settings: &Settings,
) -> Option<Finding> {
    candidates(text.as_bytes())
        .into_iter()
        .find_map(|candidate| judge(OsStr::from_bytes(candidate), text, argument, view, settings))
}

fn judge(
    path: &OsStr,
    word: &OsStr,
    argument: usize,
    view: &View<'_>,
    settings: &Settings,
) -> Option<Finding> {
    let path_like = is_path_like(path.as_bytes());
    let (rule, why) = match view.land(path) {
        Landing::Inside { .. } => return None,
        // No program can open a path that is too long, so it is none.
        Landing::Unknowable(Errno::NAMETOOLONG) => return None,
        // A bare name leaves the root through a link alone, whether or not that leads to a file.
        Landing::Outside { real, .. } if is_listed(&real, settings) => return None,
        Landing::Outside { real, .. } => {
            let root = view.root().path();
            ("outside", format!("resolves outside project root ({real:?} not under {root:?})"))
        }
        Landing::Unknowable(_) if !path_like => return None,
        Landing::Unknowable(errno) => ("unknowable", format!("cannot be resolved ({errno})")),
    };
    Some(Finding {
        axis: Axis::Path,
        rule,
        text: format!("path argument {word:?} (argument {argument}) {why}"),
        argument: Some(argument),
        instead: Some("name a path beneath the project root".to_owned()),
        listed: None,
        weight: Weight::Always,
    })
}

fn is_listed(real: &Path, settings: &Settings) -> bool {
    settings.outside.iter().any(|listed| real.starts_with(listed))
}

fn is_path_like(text: &[u8]) -> bool {
    text.contains(&b'/') || text == b"." || text == b".."
}

/// Every part of an argument that a program may take for a path: the whole, what follows a
/// separator (to the end, and to the next one), and what is glued to a short option.
fn candidates(word: &[u8]) -> Vec<&[u8]> {
    let mut found = vec![word];
    found.extend(file_url(word));
    let body = without_url(word);
    if let [b'-', letter, glued @ ..] = body
        && *letter != b'-'
    {
        found.push(glued);
        found.extend(glued_path(glued));
    }
    let starts = body
        .iter()
        .enumerate()
        .filter(|(_, byte)| SEPARATORS.contains(byte))
        .map(|(at, _)| at.saturating_add(1));
    let mut whole_rests = 0_usize;
    for start in starts {
        let Some(rest) = body.get(start..) else { continue };
        // Only the first few rests as a whole: the work stays linear in the argument.
        if whole_rests < WHOLE_RESTS_MAX {
            whole_rests = whole_rests.saturating_add(1);
            found.push(rest);
        }
        let end = rest.iter().position(|byte| SEPARATORS.contains(byte)).unwrap_or(rest.len());
        found.extend(rest.get(..end));
    }
    if let Some(end) = body.iter().position(|byte| SEPARATORS.contains(byte)) {
        found.extend(body.get(..end));
    }
    found.retain(|part| !part.is_empty());
    found
}

/// The path in the middle of a cluster such as `-xvf../../etc`.
fn glued_path(glued: &[u8]) -> Option<&[u8]> {
    let slash = glued.iter().position(|byte| *byte == b'/')?;
    let before = glued.get(..slash)?;
    let dots = before.iter().rev().take_while(|byte| **byte == b'.').count();
    glued.get(slash.saturating_sub(dots)..)
}

/// The part of a word before a URL in it; the whole word if there is none.
fn without_url(word: &[u8]) -> &[u8] {
    match scheme(word) {
        Some((start, _)) => word.get(..start).unwrap_or_default(),
        None => word,
    }
}

/// What a `file:` URL names on this machine.
fn file_url(word: &[u8]) -> Option<&[u8]> {
    let (start, end) = scheme(word)?;
    if !word.get(start..end)?.eq_ignore_ascii_case(b"file") {
        return None;
    }
    let rest = word.get(end.checked_add(3)?..)?;
    rest.get(rest.iter().position(|byte| *byte == b'/')?..)
}

/// Where the scheme of a URL starts and ends.
fn scheme(word: &[u8]) -> Option<(usize, usize)> {
    let end = word.windows(3).position(|three| three == b"://")?;
    let letters =
        word.get(..end)?.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (letters > 0).then_some((end.saturating_sub(letters), end))
}
