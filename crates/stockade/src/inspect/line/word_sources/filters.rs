//! Programs between one that lists names and one that deletes them: whether only a few names pass, and
//! whether they come out as they went in.

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{Searcher, sinks};

use super::super::super::command::CommandSummary;
use super::super::super::emptied::is_program;

/// Programs that print the lines that a pattern fits.
const SEARCHERS: [&str; 5] = ["egrep", "fgrep", "ggrep", "grep", "rg"];
/// Programs that print the first or the last lines.
const ENDS: [&str; 4] = ["ghead", "gtail", "head", "tail"];
/// So many lines are a few.
const LINES_MAX: u64 = 10;
/// Programs that print what they read as it is: all, some, or in another order.
const KEEPERS: [&str; 27] = [
    ":",
    "[",
    "break",
    "cat",
    "cd",
    "continue",
    "echo",
    "fd",
    "fdfind",
    "find",
    "fzf",
    "ls",
    "mapfile",
    "nl",
    "printf",
    "read",
    "readarray",
    "shuf",
    "sort",
    "tac",
    "tee",
    "test",
    "true",
    "uniq",
    "xargs",
    "gxargs",
    "parallel",
];
/// Signs that set names apart, for `tr`.
const SEPARATORS: [&str; 9] = [" ", ",", ":", ";", "\\n", "\\0", "\\t", "-d", "-s"];

/// What lists of a project hold: the history, and entries that have nothing in common.
const HISTORY: [&str; 5] =
    [".git", "./.git", ".git/HEAD", "./.git/objects/ab/cdef", ".git/refs/heads/main"];
const ENTRIES: [&str; 14] = [
    "a",
    "b1",
    "docs/",
    "lib",
    "README.md",
    "./x.txt",
    "Makefile",
    "package.json",
    "src",
    "src/main.rs",
    "lib/util.js",
    "./docs/index.html",
    "tests/test_x.py",
    "Cargo.toml",
];
/// A pattern that fits more of these entries does not pick a few.
const ENTRIES_MAX: usize = 2;

/// Whether of the names that a command reads only a few are printed, whichever these are.
pub(super) fn narrows(found: &CommandSummary, takes_folders: bool) -> bool {
    let is_any = |names: &[&str]| names.iter().any(|name| is_program(found, name));
    if is_any(&SEARCHERS) {
        return picks(found);
    }
    if is_any(&ENDS) {
        // A single entry may be the history.
        return !takes_folders && lines(found).is_some_and(|lines| lines <= LINES_MAX);
    }
    is_program(found, "fzf")
}

/// Whether a command prints another text than it reads.
pub(super) fn rewrites(found: &CommandSummary) -> bool {
    let is_any = |names: &[&str]| names.iter().any(|name| is_program(found, name));
    let is_separator = |word: &std::ffi::OsString| SEPARATORS.iter().any(|one| word == one);
    if is_program(found, "tr") {
        return !found.words.iter().skip(1).all(is_separator);
    }
    !is_any(&KEEPERS) && !is_any(&SEARCHERS) && !is_any(&ENDS)
}

/// How many lines `head` or `tail` prints; `None` where that is all but some, or not lines.
fn lines(found: &CommandSummary) -> Option<u64> {
    let mut words = found.words.iter().skip(1).map(|word| word.to_string_lossy());
    let mut count = LINES_MAX;
    while let Some(word) = words.next() {
        let number = match word.strip_prefix("-n").or_else(|| word.strip_prefix("--lines=")) {
            Some("") => words.next()?.into_owned(),
            Some(number) => number.to_owned(),
            None => match word.strip_prefix('-') {
                Some("q" | "z" | "-quiet" | "-silent" | "-zero-terminated") | None => continue,
                Some(number) => number.to_owned(),
            },
        };
        count = number.parse().ok()?;
    }
    Some(count)
}

/// Whether the pattern of a search fits neither the history nor names of every kind.
fn picks(found: &CommandSummary) -> bool {
    let Some(LineSearch { patterns, is_inverted }) = LineSearch::of(found) else { return false };
    if is_inverted || patterns.is_empty() {
        return false;
    }
    patterns.iter().all(|pattern| {
        // A sign that is special in one of the two languages is plain in the other.
        let readings = [pattern.clone(), extended(pattern)];
        readings.iter().all(|pattern| fits_few(pattern).unwrap_or(false))
    })
}

fn fits_few(pattern: &str) -> Option<bool> {
    let matcher = RegexMatcherBuilder::new().case_insensitive(true).build(pattern).ok()?;
    let fitting = |names: &[&str]| {
        let mut count = 0_usize;
        let sink = sinks::Bytes(|_, _| {
            count = count.saturating_add(1);
            Ok(true)
        });
        let text = names.join("\n");
        Searcher::new().search_slice(&matcher, text.as_bytes(), sink).ok()?;
        Some(count)
    };
    Some(fitting(&HISTORY)? == 0 && fitting(&ENTRIES)? <= ENTRIES_MAX)
}

/// A basic regular expression as an extended one: `\(a\|b\)` is `(a|b)`, and `(` is a letter.
fn extended(pattern: &str) -> String {
    let mut made = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let is_special = |letter: char| "(){}|+?".contains(letter);
        match letter {
            '\\' => match letters.next() {
                Some(next) if is_special(next) => made.push(next),
                Some(next) => made.extend(['\\', next]),
                None => made.push('\\'),
            },
            letter if is_special(letter) => made.extend(['\\', letter]),
            letter => made.push(letter),
        }
    }
    made
}

/// What a program looks for in lines.
struct LineSearch {
    patterns: Vec<String>,
    is_inverted: bool,
}

impl LineSearch {
    /// `None` where the patterns are not in the words.
    fn of(found: &CommandSummary) -> Option<Self> {
        let mut search = Self { patterns: Vec::new(), is_inverted: false };
        let mut operand = None;
        let mut words = found.words.iter().zip(&found.known).skip(1);
        while let Some((word, known)) = words.next() {
            let word = word.to_str()?;
            match word {
                "-e" | "--regexp" => {
                    let (pattern, known) = words.next()?;
                    search.patterns.push(pattern.to_str().filter(|_| *known)?.to_owned());
                }
                "-f" | "--file" => return None,
                "-v" | "--invert-match" | "-L" | "--files-without-match" | "--files" => {
                    search.is_inverted = true;
                }
                "-A" | "-B" | "-C" | "-m" | "-g" | "-t" | "-d" | "-D" => {
                    words.next();
                }
                "--" => {
                    operand = operand
                        .or_else(|| words.next().map(|(word, known)| (word.to_str(), *known)));
                    break;
                }
                _ if word.starts_with("--regexp=") => {
                    search.patterns.push(word.trim_start_matches("--regexp=").to_owned());
                }
                _ if word.starts_with("--file=") => return None,
                _ if word.starts_with("--") => {}
                _ if word.starts_with('-') && word.len() > 1 => {
                    search.is_inverted |= word.contains(['v', 'L']);
                    if let Some((_, pattern)) = word.split_once('e') {
                        match pattern {
                            "" => search.patterns.push(words.next()?.0.to_str()?.to_owned()),
                            pattern => search.patterns.push(pattern.to_owned()),
                        }
                    }
                    if word.contains('f') {
                        return None;
                    }
                }
                _ => {
                    operand = operand.or(Some((Some(word), *known)));
                }
            }
        }
        if search.patterns.is_empty() {
            let (pattern, known) = operand?;
            search.patterns.push(pattern.filter(|_| known)?.to_owned());
        }
        Some(search)
    }
}

#[cfg(test)]
mod tests {
    use super::{extended, fits_few};

    #[test]
    fn a_pattern_that_fits_the_history_or_anything_picks_nothing() {
        for pattern in [
            ".", "", "^\\.", "git", "/", "^[a-z]", "objects", "[a-z]*", "x*", "\\.", "HEAD$",
            "a|e", "*",
        ] {
            assert!(!fits_few(pattern).unwrap_or(false), "{pattern:?}");
        }
        for pattern in
            ["foo", "\\.o$", "\\.(o|pyc)$", "^build/", "node_modules", "^test", "\\.log", "src"]
        {
            assert!(fits_few(pattern).unwrap_or(false), "{pattern:?}");
        }
        assert_eq!(extended("a\\|b(c\\)"), "a|b\\(c)");
    }
}
