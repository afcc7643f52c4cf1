//! Documents that name the tests of their promises: each of these tests is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::project::workspace;

/// The documents, and how many names each has at least.
const DOCUMENTS: [(&str, usize); 2] = [("THREAT_MODEL.md", 150), ("docs/sessions.md", 80)];

/// The last cells of the rows of the tables of a document, where the tests are named.
fn cells(document: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace().join(document)).unwrap();
    let rows = text.lines().filter(|line| line.starts_with('|'));
    rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next().map(str::to_owned)).collect()
}

/// What stands in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let mut files = Vec::new();
    collect(&workspace().join("crates"), &mut files);
    // An attack of the escape suite is a file of its name.
    let mut known: BTreeSet<String> = BTreeSet::new();
    for file in &files {
        known.insert(file.file_stem().unwrap().to_string_lossy().into_owned());
        let text = fs::read_to_string(file).unwrap();
        let functions = text.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
        known.extend(functions.map(str::to_owned));
    }
    let is_name = |word: &&str| {
        let letters =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_\u{2026}".contains(c);
        word.contains('_') && word.chars().all(letters)
    };
    for (document, least) in DOCUMENTS {
        let (mut named, mut missing) = (0, Vec::new());
        for cell in cells(document) {
            for word in quoted(&cell) {
                let is_there = if word.strip_suffix(".rs").is_some() {
                    files.iter().any(|file| file.ends_with(word))
                } else if is_name(&word) {
                    let start = word.split('\u{2026}').next().unwrap_or_default();
                    let is_part = word.contains('\u{2026}');
                    known.contains(word)
                        || is_part && known.iter().any(|name| name.starts_with(start))
                } else {
                    continue;
                };
                named += 1;
                if !is_there {
                    missing.push(word.to_owned());
                }
            }
        }
        assert!(named > least, "{document}: {named}");
        assert_eq!(missing, Vec::<String>::new(), "{document}");
    }
}

/// Each attack on what happens outside of the sandbox is a line of its table, and says what its control is.
#[test]
fn each_attack_outside_of_the_sandbox_is_a_line_and_has_a_control() {
    let text = fs::read_to_string(workspace().join("THREAT_MODEL.md")).unwrap();
    let table = text.split("begin: attacks outside of the sandbox -->").nth(1).unwrap();
    let table = table.split("<!-- end: attacks outside of the sandbox").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: BTreeSet<&str> = rows.collect();
    let mut files = Vec::new();
    collect(&workspace().join("crates/stockade-cli/tests/it/escape"), &mut files);
    let mut names = BTreeSet::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        // A file without a test is what attacks share.
        if text.contains("#[test]") {
            assert!(text.contains("control"), "{}", file.display());
            names.insert(file.file_stem().unwrap().to_str().unwrap());
        }
    }
    assert_eq!(names, listed);
}
