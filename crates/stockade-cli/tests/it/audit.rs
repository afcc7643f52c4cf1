//! `stockade audit`.

use serde_json::Value;

use crate::support::{Project, call};

/// A journal with two runs, a refusal, a refused line and a failure.
fn recorded() -> Project {
    let project = Project::new();
    project.stockade(&["run", "--", "echo", "one"]);
    project.stockade(&["run", "--timeout", "200ms", "--", "sleep", "60"]);
    project.stockade(&["run", "--", "rm", "-rf", "."]);
    project.stockade(&["shell", "--only", "echo", "ls"]);
    project.stockade(&["run", "--tier", "process", "--net", "none", "--", "true"]);
    project
}

fn shown(project: &Project, filter: &[&str]) -> Vec<Value> {
    let told = project.stockade(&[&["audit", "show", "--json"], filter].concat());
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    told.lines()
}

#[test]
fn show_filters() {
    let project = recorded();
    // Verdict and outcome, verdict and outcome, two refusals, verdict and failure.
    assert_eq!(shown(&project, &[]).len(), 8);
    assert_eq!(shown(&project, &["--denied"]).len(), 2);
    assert_eq!(shown(&project, &["--tool", "Exec"]).len(), 4);
    assert_eq!(shown(&project, &["--tool", "Bash", "--denied"]).len(), 1);
    assert_eq!(shown(&project, &["--tool", "Nothing"]).len(), 0);
    assert_eq!(shown(&project, &["--since", "1h"]).len(), 8);
    assert_eq!(shown(&project, &["--since", "2100-01-01T00:00:00Z"]).len(), 0);
    assert_eq!(shown(&project, &["--since", "2020-01-01T00:00:00Z"]).len(), 8);
    let told = project.stockade(&["audit", "show", "--since", "yesterday-ish"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("yesterday-ish"), "{told:?}");
}

#[test]
fn show_is_one_line_an_entry_for_people_too() {
    let project = recorded();
    let told = project.stockade(&["audit", "show"]);
    assert_eq!(told.stdout.lines().count(), 8, "{told:?}");
    for words in ["allow", "deny", "exit 0", "wall limit", "failure", "[name/denylist]"] {
        assert!(told.stdout.contains(words), "{words} in {told:?}");
    }
}

#[test]
fn stats_count() {
    let project = recorded();
    let stats = project.stockade(&["audit", "stats", "--json"]).json();
    let expected = [
        ("entries", 8),
        ("verdicts", 5),
        ("outcomes", 2),
        ("failures", 1),
        ("repairs", 0),
        ("timed_out", 1),
        ("allowed", 3),
        ("asked", 0),
        ("denied", 2),
    ];
    for (field, count) in expected {
        assert_eq!(stats[field], count, "{field} in {stats}");
    }
    assert_eq!((&stats["tools"]["Exec"], &stats["tools"]["Bash"]), (&4.into(), &1.into()));
    assert_eq!(stats["rules"]["name/denylist"], 1);
    let told = project.stockade(&["audit", "stats"]);
    assert!(told.stdout.contains("denied") && told.stdout.contains("name/denylist"), "{told:?}");
}

#[test]
fn verify_gives_the_head_and_holds_it_to_an_expected_one() {
    let project = recorded();
    let found = project.stockade(&["audit", "verify", "--json"]).json();
    assert_eq!((&found["ok"], &found["entries"]), (&true.into(), &8.into()));
    let head = found["head"].as_str().unwrap();
    assert_eq!(head.len(), 64);
    assert_eq!(project.stockade(&["audit", "verify", "--expect-head", head]).code, 0);
    // Someone cuts the end off, which the chain alone cannot show.
    let text = std::fs::read_to_string(project.journal()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(project.journal(), lines[..6].join("\n") + "\n").unwrap();
    assert_eq!(project.stockade(&["audit", "verify"]).code, 0);
    let told = project.stockade(&["audit", "verify", "--expect-head", head]);
    assert_eq!(told.code, 1);
    assert!(told.stderr.contains(head), "{told:?}");
    assert_eq!(project.stockade(&["audit", "verify", "--expect-head", "abc"]).code, 125);
}

#[test]
fn a_journal_that_is_not_there_is_an_error_that_names_it() {
    let project = Project::new();
    for what in ["show", "stats"] {
        let told = project.stockade(&["audit", what, "--journal", "not-there.jsonl"]);
        assert_eq!(told.code, 125, "{told:?}");
        assert!(told.stderr.contains("not-there.jsonl"), "{told:?}");
    }
    let told = project.stockade(&["audit", "verify", "--journal", "not-there.jsonl"]);
    assert_ne!(told.code, 0, "{told:?}");
    assert!(!project.path("not-there.jsonl").exists());
}

#[test]
fn words_in_a_call_cannot_forge_an_entry() {
    let project = Project::new();
    let forged = "x\n{\"v\":1,\"seq\":2}\u{1b}[2J";
    project.fed(&["call"], call(&["echo", forged]).as_bytes());
    assert_eq!(project.stockade(&["audit", "verify", "--json"]).json()["entries"], 2);
    let told = project.stockade(&["audit", "show"]);
    assert_eq!(told.stdout.lines().count(), 2, "{told:?}");
    assert!(!told.stdout.contains('\u{1b}'), "{told:?}");
}
