//! The page about the journal says what is so.

use std::path::Path;
use std::process::{Command, Output};

use crate::sample::{Folder, lines_of, skip, verified, write_lines};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/journal.md");
    std::fs::read_to_string(path).unwrap()
}

fn block(language: &str) -> String {
    let page = page();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[expect(clippy::disallowed_methods, reason = "the test runs the page's own commands")]
fn run(program: &str, script: &str, journal: &Path) -> Option<Output> {
    let output = Command::new(program).args(["-c", script]).arg(journal).output();
    output.map_err(|error| skip(program, &format!("{program} cannot be run ({error})"))).ok()
}

#[test]
fn the_python_check_agrees_with_ours() {
    let folder = Folder::new();
    let path = folder.journal_of(12);
    let Some(good) = run("python3", &block("python"), &path) else { return };
    let head = format!("{}\n", verified(&path).head);
    assert_eq!(String::from_utf8(good.stdout).unwrap(), head);
    let mut lines = lines_of(&path);
    lines.remove(4);
    write_lines(&path, &lines);
    let bad = run("python3", &block("python"), &path).unwrap();
    assert!(
        String::from_utf8(bad.stderr)
            .unwrap()
            .contains(message!("chain.line-does-not-follow", "5"))
    );
}

#[test]
fn the_shell_check_prints_the_hash_of_the_line() {
    let folder = Folder::new();
    let path = folder.journal_of(12);
    let script = block("sh").replace("journal.jsonl", "\"$0\"");
    let Some(output) = run("sh", &script, &path) else { return };
    let hash = String::from_utf8(output.stdout).unwrap();
    let (hash, _) = hash.split_once(' ').unwrap();
    assert!(lines_of(&path).get(6).unwrap().ends_with(&format!(r#","hash":"{hash}"}}"#)));
}
