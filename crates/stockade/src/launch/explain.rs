//! Explains why a program failed on a path that its sandbox hides or protects: the program reports what the
//! kernel answered, and not why.
//!
//! The kernel does not tell the supervisor of these refusals, so that they are known from the program's own
//! error messages only. What they say changes no decision.

use std::collections::BTreeSet;
use std::path::Path;

use super::jail::MaskedPath;
use crate::guarantee::Guarantee;
use crate::outcome::{Denial, Exit};

/// How many paths are explained.
const EXPLAINED_MAX: usize = 3;
/// How many lines that report such an error are read.
const LINES_MAX: usize = 100;

/// What the C library says for the errors of covered paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errno {
    /// EACCES: a hidden path was opened.
    Denied,
    /// EBUSY: a covered path, or a folder above one, was to be deleted, moved or replaced.
    Busy,
    /// EROFS: a protected path was to be changed.
    ReadOnly,
}

impl Errno {
    fn in_line(line: &str) -> Option<Self> {
        let texts = [
            ("ermission denied", Self::Denied),
            ("esource busy", Self::Busy),
            ("ead-only file system", Self::ReadOnly),
        ];
        texts.into_iter().find_map(|(text, errno)| line.contains(text).then_some(errno))
    }
}

/// The covered paths on which a program failed by what it printed, and a note on each.
pub(super) fn failures(
    exit: Exit,
    printed: [&[u8]; 2],
    covered: &[MaskedPath],
) -> Vec<(Denial, String)> {
    if exit == Exit::Code(0) || covered.is_empty() {
        return Vec::new();
    }
    let text = printed.map(String::from_utf8_lossy);
    let lines = text.iter().flat_map(|text| text.lines());
    let failed = lines.filter_map(|line| Some((line, Errno::in_line(line)?)));
    let failed: Vec<(&str, Errno)> = failed.take(LINES_MAX).collect();
    // Git reports on its way what it could not look into, and then what it failed on.
    let is_last_word = |line: &str| line.starts_with("error:") || line.starts_with("fatal:");
    let is_any = failed
        .iter()
        .any(|(line, errno)| is_last_word(line) && meant(line, *errno, covered).is_some());
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (line, errno) in failed {
        let is_warning = errno == Errno::Denied && line.starts_with("warning:");
        let is_aside = is_warning || (is_any && !is_last_word(line));
        let one = meant(line, errno, covered).filter(|_| !is_aside);
        if let Some(one) = one.filter(|one| seen.insert(one.path())) {
            found.push(explained(one, errno, is_last_word(line)));
        }
        if found.len() == EXPLAINED_MAX {
            break;
        }
    }
    found
}

/// The covered path that a message is about: the one of which it names the most.
fn meant<'c>(line: &str, errno: Errno, covered: &'c [MaskedPath]) -> Option<&'c MaskedPath> {
    let is_quote = |letter: char| letter.is_whitespace() || "'\"`‘’“”()[]".contains(letter);
    let words = line.split(is_quote).map(|word| word.trim_end_matches([':', ',', '.', '/']));
    let words = words.map(|word| Path::new(word.strip_prefix("./").unwrap_or(word)));
    let words: Vec<&Path> = words.filter(|word| word.file_name().is_some()).collect();
    let fits = |one: &&MaskedPath| match errno {
        Errno::Denied => one.guarantee() == Guarantee::Reads,
        Errno::ReadOnly => one.guarantee() == Guarantee::Protected,
        Errno::Busy => true,
    };
    let named = |one: &MaskedPath| {
        let of_word = |word: &&Path| match errno {
            Errno::Busy => one.pinned().any(|path| path.ends_with(word)),
            // The path itself was meant, or a file in a covered folder.
            Errno::Denied | Errno::ReadOnly => {
                let mut named = word.ancestors().filter(|path| path.file_name().is_some());
                named.any(|path| one.path().ends_with(path))
            }
        };
        words.iter().filter(|word| of_word(word)).map(|word| word.components().count()).max()
    };
    let best = covered.iter().filter(fits).filter_map(|one| Some((named(one)?, one)));
    best.max_by_key(|(names, _)| *names).map(|(_, one)| one)
}

fn explained(one: &MaskedPath, errno: Errno, is_git: bool) -> (Denial, String) {
    let path = one.path();
    let hidden = one.guarantee() == Guarantee::Reads;
    let reason = match (hidden, errno) {
        (true, Errno::Denied) => "reading it was refused (EACCES): the policy hides it",
        (true, _) => {
            "deleting, moving or replacing it or a folder above it was refused (EBUSY): the policy hides it"
        }
        (false, _) => {
            "changing, moving or deleting it was refused (EBUSY, EROFS): the path is protected, because \
             code runs from it later, outside of any sandbox"
        }
    };
    let denial =
        Denial { source: "error message", path: path.to_string_lossy().into_owned(), reason };
    let note = if hidden {
        let rule = match one.rule() {
            Some(rule) => format!("rule {rule}"),
            None => "box.hide, or a rule that names it".to_owned(),
        };
        let drop = match one.rule_name() {
            Some(name) => format!(", or drop the rule: rules.drop = [{name:?}]"),
            None => String::new(),
        };
        match errno {
            Errno::Denied if is_git => format!(
                "the policy hides {path:?} ({rule}), so git cannot read or add it; name the other paths to \
                 commit them, or run \"git status\" outside the sandbox if git shows it as modified"
            ),
            Errno::Denied => {
                format!("the policy hides {path:?} ({rule}), so it cannot be read{drop}")
            }
            Errno::Busy | Errno::ReadOnly => format!(
                "the policy hides {path:?} ({rule}), so neither it nor a folder above it can be deleted, \
                 moved or replaced; do it outside of the sandbox{drop}"
            ),
        }
    } else {
        format!("the policy protects {path:?}; change it outside of the sandbox")
    };
    (denial, note)
}
