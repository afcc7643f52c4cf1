//! The path axis: every argument that is a path, contains one or names a file, judged by where it
//! lands.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::io::Errno;

use super::command::Command;
use super::resolver::{PathResolver, Resolution};
use super::walk::NOT_FOLLOWED;
use crate::inspect::Settings;
use crate::inspect::{Axis, Finding, Weight};

/// Separators between a path and the rest of an argument: `--file=OUT`, `a:b`, `-Wl,x`, `@file`.
const SEPARATORS: &[u8] = b"=:,@<";
/// The most separators after which the whole rest of an argument counts as a candidate.
const WHOLE_RESTS_MAX: usize = 64;
/// The most letters of an option cluster before an attached name.
const CLUSTER_MAX: usize = 16;
/// The most path lookups for one call: arguments times folders.
const LOOKUPS_MAX: usize = 1 << 18;

/// System programs that open none of their arguments.
const OPEN_NOTHING: [&str; 11] = [
    "echo", "printf", "true", "false", "yes", "seq", "expr", "sleep", "basename", "dirname",
    "factor",
];

/// The findings of this axis for one command.
pub(super) fn inspect(
    command: &Command<'_>,
    entered: &[OsString],
    resolver: &PathResolver<'_>,
    settings: &Settings,
) -> Vec<Finding> {
    let opens_nothing = |name: &String| OPEN_NOTHING.contains(&name.as_str());
    if command.is_of_the_system() && command.names.iter().all(opens_nothing) {
        return Vec::new();
    }
    command
        .own_arguments()
        .filter(|word| !command.is_text(word.argument))
        .filter_map(|word| {
            let text = word.text.as_bytes();
            let mut parts = candidates(text);
            match command.value_in(word) {
                Some(offset) => parts.extend(text.get(offset..)),
                None => parts.extend(guesses(text, resolver)),
            }
            let judge = |path: &OsStr| judge(path, &word.text, word.argument, resolver, settings);
            parts.into_iter().filter(|part| !part.is_empty()).find_map(|part| {
                let within = entered.iter().filter(|_| !part.starts_with(b"/"));
                let mut within = within
                    .map(|folder| OsString::from_vec([folder.as_bytes(), b"/", part].concat()));
                judge(OsStr::from_bytes(part)).or_else(|| within.find_map(|path| judge(&path)))
            })
        })
        .collect()
}

/// The folders that a program may enter before it opens its paths: `env -C DIR`, `make -C DIR`,
/// `--directory=DIR`. Paths are also judged from each of them.
pub(super) fn entered(
    commands: &[Command<'_>],
    resolver: &PathResolver<'_>,
) -> Result<Vec<OsString>, Box<Finding>> {
    let mut folders: Vec<OsString> = commands.iter().flat_map(entered_in).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.retain(|folder| {
        matches!(resolver.resolve(folder), Resolution::Inside { exists: true, .. })
    });
    let words = commands.iter().map(|command| command.words.len()).fold(0, usize::saturating_add);
    if folders.len().saturating_mul(words) > LOOKUPS_MAX {
        let text = format!("{} folders to enter are too many to judge by", folders.len());
        let finding = Finding::new(Axis::Path, Weight::Boxed, "unknowable", text);
        return Err(Box::new(finding.instead("name fewer folders in one call")));
    }
    Ok(folders)
}

/// The folders that one command may enter.
pub(super) fn entered_in(command: &Command<'_>) -> Vec<OsString> {
    let mut folders = Vec::new();
    let mut before: &[u8] = b"";
    for word in command.own_arguments() {
        let word = word.text.as_bytes();
        folders.extend(entered_by(before, word).map(|folder| OsStr::from_bytes(folder).into()));
        before = word;
    }
    folders
}

/// The folder in a word that is the value of such an option.
fn entered_by<'a>(before: &[u8], word: &'a [u8]) -> Option<&'a [u8]> {
    const NAMES: [&[u8]; 6] = [b"dir", b"cwd", b"tree", b"prefix", b"root", b"folder"];
    let enters = |name: &[u8]| {
        NAMES.iter().any(|known| name.windows(known.len()).any(|part| part == *known))
    };
    let glued = match word {
        [b'-', b'-', long @ ..] => {
            let at = long.iter().position(|byte| *byte == b'=')?;
            let (name, value) = long.split_at_checked(at)?;
            value.get(1..).filter(|_| enters(name))
        }
        [b'-', letters @ ..] => {
            letters.iter().position(|byte| *byte == b'C').and_then(|at| letters.get(at..)?.get(1..))
        }
        _ => None,
    };
    glued.filter(|value| !value.is_empty()).or_else(|| match before {
        [b'-', b'-', long @ ..] => enters(long).then_some(word),
        [b'-', letters @ ..] => letters.ends_with(b"C").then_some(word),
        _ => None,
    })
}

pub(super) fn judge(
    path: &OsStr,
    word: &OsStr,
    argument: usize,
    resolver: &PathResolver<'_>,
    settings: &Settings,
) -> Option<Finding> {
    let path_like = is_path_like(path.as_bytes());
    let (rule, why) = match resolver.resolve(path) {
        Resolution::Inside { .. } => return None,
        // No program can open a path that is too long, unless it shortens it (`node`) or goes
        // folder by folder (`mkdir -p`). Below the working directory that is harmless.
        Resolution::Unknowable(Errno::NAMETOOLONG) if !may_leave(path.as_bytes()) => return None,
        // A bare name leaves the root only through a link, dangling or not.
        Resolution::Outside { real, .. } if is_listed(&real, settings) => return None,
        Resolution::Outside { real, .. } => {
            let root = resolver.root().path();
            ("outside", format!("resolves outside project root ({real:?} not under {root:?})"))
        }
        Resolution::Unknowable(errno) if !path_like && errno != NOT_FOLLOWED => return None,
        Resolution::Unknowable(errno) => ("unknowable", format!("cannot be resolved ({errno})")),
    };
    let text = format!("path argument {word:?} (argument {argument}) {why}");
    let finding = Finding::new(Axis::Path, Weight::Boxed, rule, text).at(argument);
    Some(finding.instead("name a path beneath the project root"))
}

fn is_listed(real: &Path, settings: &Settings) -> bool {
    settings.outside.iter().any(|listed| real.starts_with(listed))
}

fn is_path_like(text: &[u8]) -> bool {
    text.contains(&b'/') || text == b"." || text == b".."
}

/// Whether an unresolved path could leave the working directory.
fn may_leave(path: &[u8]) -> bool {
    path.starts_with(b"/") || path.split(|byte| *byte == b'/').any(|name| name == b"..")
}

/// Every part of an argument that may be a path: all of it, and the text after each separator (to
/// the end, and to the next separator).
fn candidates(word: &[u8]) -> Vec<&[u8]> {
    let mut found = vec![word];
    found.extend(file_url(word));
    let body = without_url(word);
    let starts = body
        .iter()
        .enumerate()
        .filter(|(_, byte)| SEPARATORS.contains(byte))
        .map(|(at, _)| at.saturating_add(1));
    let mut whole_rests = 0_usize;
    for start in starts {
        let Some(rest) = body.get(start..) else { continue };
        // Only the first few rests in full, so that the work stays linear.
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
    // The text after a URL in a list is not part of the URL: `-cp x://y:/etc`.
    let after = word.get(body.len()..).unwrap_or_default();
    found.extend(after.split(|byte| matches!(byte, b':' | b',')).skip(2));
    found
}

/// Possible values attached to an unknown short option: everything after its letter, and the path
/// at the end of a cluster such as `-xvf../../etc`.
fn guesses<'a>(word: &'a [u8], resolver: &PathResolver<'_>) -> Vec<&'a [u8]> {
    let glued = match word {
        [b'-', b'-', ..] => return Vec::new(),
        [b'-', _, glued @ ..] => glued,
        _ => return Vec::new(),
    };
    let Some(slash) = glued.iter().position(|byte| *byte == b'/') else {
        return (0..glued.len().min(CLUSTER_MAX)).filter_map(|at| glued.get(at..)).collect();
    };
    let before = glued.get(..slash).unwrap_or_default();
    let dots = before.iter().rev().take_while(|byte| **byte == b'.').count();
    let path = glued.get(slash.saturating_sub(dots)..).unwrap_or_default();
    // `-Isrc/include` is not a cluster that ends in `/include`, unless that path exists.
    let first = path.split(|byte| *byte == b'/').find(|name| !name.is_empty()).unwrap_or_default();
    let top = [b"/", first].concat();
    let is_there = |resolution| match resolution {
        Resolution::Inside { exists, .. } | Resolution::Outside { exists, .. } => exists,
        Resolution::Unknowable(_) => true,
    };
    let is_path = dots > 0 || slash == 0 || is_there(resolver.resolve(OsStr::from_bytes(&top)));
    if is_path { vec![glued, path] } else { vec![glued] }
}

/// The part of a word before a URL; the whole word if there is none.
fn without_url(word: &[u8]) -> &[u8] {
    match scheme(word) {
        Some((start, _)) => word.get(..start).unwrap_or_default(),
        None => word,
    }
}

/// The local path of a `file:` URL.
fn file_url(word: &[u8]) -> Option<&[u8]> {
    let (start, end) = scheme(word)?;
    if !word.get(start..end)?.eq_ignore_ascii_case(b"file") {
        return None;
    }
    let rest = word.get(end.checked_add(3)?..)?;
    rest.get(rest.iter().position(|byte| *byte == b'/')?..)
}

/// The start and the end of a URL's scheme.
fn scheme(word: &[u8]) -> Option<(usize, usize)> {
    let end = word.windows(3).position(|three| three == b"://")?;
    let letters =
        word.get(..end)?.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (letters > 0).then_some((end.saturating_sub(letters), end))
}
