//! Commands that overwrite the content of a file, which is lost as if the file had been deleted.

use std::path::Path;

use super::command::{CommandSummary, Target};
use crate::catalog::EffectKind;

/// Programs that empty or overwrite all their files.
const OVERWRITERS: [&str; 7] = ["dd", "gshred", "gtruncate", "shred", "sponge", "tee", "truncate"];
/// Programs that copy one file over another.
const COPIERS: [&str; 4] = ["cp", "gcp", "ginstall", "install"];
/// Programs that leave what is in a file, or only make it.
const KEEPERS: [&str; 11] = [
    "chattr", "chgrp", "chmod", "chown", "gtouch", "mkdir", "rm", "rmdir", "setfacl", "touch",
    "unlink",
];

/// Whether a command is this program, under any of its names.
pub(crate) fn is_program(found: &CommandSummary, name: &str) -> bool {
    let word = found.words.first().and_then(|word| Path::new(word).file_name());
    word.is_some_and(|word| word == name) || found.names.iter().any(|one| one == name)
}

fn is_any(found: &CommandSummary, names: &[&str]) -> bool {
    names.iter().any(|name| is_program(found, name))
}

/// Whether nothing of a written file's old content is left. A redirection counts; the caller
/// excludes appending ones.
pub(crate) fn empties(found: &CommandSummary, target: &Target) -> bool {
    target.kind == EffectKind::Write && (target.redirected || is_overwriter(found))
}

/// Whether a command empties or overwrites the files in its arguments.
pub(crate) fn is_overwriter(found: &CommandSummary) -> bool {
    let has =
        |options: [&str; 2]| found.words.iter().any(|word| options.iter().any(|one| word == one));
    if is_any(found, &["tee", "gtee"]) {
        return !has(["-a", "--append"]);
    }
    if is_any(found, &COPIERS) {
        let mut read = found.targets(EffectKind::Read).peekable();
        let is_device = |target: &Target| target.text.to_string_lossy().starts_with("/dev/");
        return read.peek().is_some() && read.all(is_device);
    }
    is_any(found, &OVERWRITERS)
        || (is_any(found, &["sed", "gsed", "ssed"]) && is_emptying_sed(found))
}

/// Whether a command may change the content of a file that it writes.
pub(crate) fn changes_content(found: &CommandSummary, target: &Target) -> bool {
    target.kind == EffectKind::Write && (target.redirected || !is_any(found, &KEEPERS))
}

/// For `sed -i d`: whether the script keeps none of the lines.
fn is_emptying_sed(found: &CommandSummary) -> bool {
    let words: Vec<_> = found.words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let mut is_silent = false;
    let mut scripts: Vec<&str> = Vec::new();
    let mut operands: Vec<&str> = Vec::new();
    let mut words = words.iter().map(|word| &**word);
    while let Some(word) = words.next() {
        match word {
            "-e" | "--expression" => scripts.extend(words.next()),
            "-f" | "--file" => return false,
            "--quiet" | "--silent" => is_silent = true,
            "--" => operands.extend(words.by_ref()),
            _ => {
                if let Some(script) = word.strip_prefix("--expression=") {
                    scripts.push(script);
                } else if let Some(letters) =
                    word.strip_prefix('-').filter(|one| !one.starts_with('-'))
                {
                    // Letters after `i` are its suffix, and those after `e` are the script.
                    let flags = letters.split(['i', 'e']).next().unwrap_or_default();
                    is_silent |= flags.contains('n');
                    let rest = letters.get(flags.len()..).unwrap_or_default();
                    match rest.strip_prefix('e') {
                        Some("") => scripts.extend(words.next()),
                        Some(script) => scripts.push(script),
                        None => {}
                    }
                } else if !word.starts_with('-') {
                    operands.push(word);
                }
            }
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    let commands = || scripts.iter().flat_map(|script| script.split([';', '\n']));
    commands().any(drops_all) || (is_silent && !commands().any(|one| one.trim() == "p"))
}

/// Whether one command of a script drops or replaces every line.
fn drops_all(command: &str) -> bool {
    let command = command.trim_matches([' ', '\t', '{', '}']);
    let rest = command.trim_start_matches(|c: char| "0123456789,$~+ ".contains(c));
    let address = command.get(..command.len().saturating_sub(rest.len())).unwrap_or_default();
    // One line by number, or a range with an end.
    let is_bounded = match address.trim() {
        "" => false,
        "$" => true,
        address => !address.contains('$'),
    };
    if let Some(pattern) = rest.strip_prefix('/') {
        let Some((pattern, rest)) = pattern.split_once('/') else { return false };
        let means_any = !pattern.contains(|c: char| c.is_alphanumeric());
        let is_other = rest.trim_start().starts_with('!');
        let name = rest.trim_start_matches(['!', ' ', 'I', 'M']);
        return (means_any || is_other) && matches!(name.trim(), "d" | "D" | "z");
    }
    if let Some(whole) = rest.strip_prefix('s') {
        let Some(mark) = whole.chars().next().filter(|c| !c.is_alphanumeric()) else {
            return false;
        };
        let mut parts = whole.split(mark).skip(1);
        let (pattern, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let means_any = !pattern.is_empty()
            && pattern.chars().all(|c| ".*^$+\\()".contains(c))
            && pattern.contains('.');
        return means_any && !is_bounded && !text.contains(['&', '\\']);
    }
    let is_drop = matches!(rest.trim(), "d" | "D" | "z" | "Q")
        || rest.starts_with("c\\")
        || rest.starts_with("c ");
    is_drop && !is_bounded
}

#[cfg(test)]
mod tests {
    use super::drops_all;

    #[test]
    fn commands_of_sed_that_leave_nothing_are_told_apart() {
        for command in
            ["d", "1,$d", "/./d", "/^/ d", "s/.*//", "s|^.*$||", "z", "Q", "/x/!d", "c\\x"]
        {
            assert!(drops_all(command), "{command:?}");
        }
        for command in [
            "1d",
            "$d",
            "1,3d",
            "/foo/d",
            "s/a/b/",
            "s/.*/& x/",
            "s/^/  /",
            "y/a/b/",
            "p",
            "s/a.*//",
        ] {
            assert!(!drops_all(command), "{command:?}");
        }
    }
}
