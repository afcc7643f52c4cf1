//! Golden files: the answers of today's code, kept so that a change of them is seen.
//!
//! `STOCKADE_WRITE_GOLDEN=1` writes them; else a file that differs fails its test.

use std::fs;
use std::path::{Path, PathBuf};

/// The command that writes every golden file.
const COMMAND: &str = "STOCKADE_WRITE_GOLDEN=1 cargo test -p stockade -p stockade-cli \
                       --test it --test run --test oci golden";
/// Differences that a failing test shows, and characters of each line.
const SHOWN_MAX: usize = 12;
const LINE_MAX: usize = 400;
/// Lines within which two texts are expected to agree again.
const WINDOW: usize = 400;

/// Whether the files are to be written.
pub(crate) fn is_written() -> bool {
    std::env::var_os("STOCKADE_WRITE_GOLDEN").is_some()
}

fn place(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

/// The text of a golden file, empty if there is none yet.
pub(crate) fn read(file: &str) -> String {
    fs::read_to_string(place(file)).unwrap_or_default()
}

/// Compares a text with its golden file, or writes the file.
#[track_caller]
pub(crate) fn hold(file: &str, found: &str) {
    if is_written() {
        fs::create_dir_all(place("")).unwrap();
        fs::write(place(file), found).unwrap();
        return;
    }
    let golden = read(file);
    assert!(
        golden == found,
        "tests/golden/{file} differs (-: the file, +: the code):\n{}\n\
         If that is meant, write it and review the diff: {COMMAND}",
        difference(&golden, found)
    );
}

/// The first differences of two texts, each below the last heading before it.
fn difference(golden: &str, found: &str) -> String {
    let old: Vec<&str> = golden.lines().collect();
    let new: Vec<&str> = found.lines().collect();
    let (mut old, mut new) = (old.as_slice(), new.as_slice());
    let (mut heading, mut told) = ("", "");
    let mut shown = Vec::new();
    while !old.is_empty() || !new.is_empty() {
        let (removed, added) = next_agreement(old, new);
        if (removed, added) != (0, 0) && heading != told {
            shown.push(format!("  {heading}"));
            told = heading;
        }
        let (gone, old_rest) = old.split_at(removed);
        let (come, new_rest) = new.split_at(added);
        shown.extend(gone.iter().map(|line| format!("- {}", cut(line))));
        shown.extend(come.iter().map(|line| format!("+ {}", cut(line))));
        if let Some(same) = old_rest.first().filter(|line| line.starts_with("== ")) {
            heading = same;
        }
        (old, new) = (old_rest.get(1..).unwrap_or_default(), new_rest.get(1..).unwrap_or_default());
    }
    let more = shown.len().saturating_sub(SHOWN_MAX);
    shown.truncate(SHOWN_MAX);
    if more > 0 {
        shown.push(format!("  and {more} more lines"));
    }
    shown.join("\n")
}

/// How many lines of each text to pass over until both agree; all, if they do not.
fn next_agreement(old: &[&str], new: &[&str]) -> (usize, usize) {
    for sum in 0..=WINDOW {
        for removed in 0..=sum {
            let added = sum - removed;
            let (one, other) = (old.get(removed), new.get(added));
            if one.is_some() && one == other {
                return (removed, added);
            }
        }
    }
    (old.len(), new.len())
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_MAX) {
        Some((at, _)) => format!("{}…", line.split_at(at).0),
        None => line.to_owned(),
    }
}
