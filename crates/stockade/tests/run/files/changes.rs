//! What the report of a program lists of what it changed.

use std::fs;

use serde_json::{Value, json};
use stockade::confine::Watched;
use stockade::{Policy, ToolCall};

use crate::support::{Project, policy, skip, text, unboxed};

fn watching(watched: Watched) -> Policy {
    policy(|policy| {
        policy.files.watched = watched;
        policy.files.protect.clear();
    })
}

fn changes(report: &Value) -> Vec<(String, String, bool)> {
    assert!(report["changes"].is_array(), "{report}");
    let list = report["changes"].as_array().unwrap();
    let one = |change: &Value| {
        let field = |name| text(change, name).to_owned();
        (field("path"), field("kind"), change["runs_code"].is_string())
    };
    list.iter().map(one).collect()
}

fn line(place: &Project, watched: Watched, line: &str) -> Value {
    let report = place.run_with(watching(watched), ToolCall::line(line));
    assert_eq!(report["ok"], json!(true), "{report}");
    report
}

fn listed(path: &str, kind: &str, runs_code: bool) -> (String, String, bool) {
    (path.to_owned(), kind.to_owned(), runs_code)
}

#[test]
fn files_from_which_code_runs_are_listed_whatever_changed_them() {
    let place = Project::new();
    fs::create_dir_all(place.path(".git/hooks")).unwrap();
    fs::write(place.path("package.json"), "{}").unwrap();
    fs::write(place.path("Makefile"), "all:").unwrap();
    fs::write(place.path(".bashrc"), "x").unwrap();
    let script = "echo x > .git/hooks/pre-commit; echo 1 >> package.json; mv .bashrc gone; \
                  touch Makefile; echo y > other";
    let report = line(&place, Watched::Risky, script);
    let expected = [
        listed(".bashrc", "deleted", true),
        listed(".git/hooks/pre-commit", "created", true),
        listed("package.json", "modified", true),
    ];
    assert_eq!(changes(&report), expected);
    let package = &report["changes"][2];
    assert!(package["before"].is_string() && package["after"].is_string(), "{package}");
    assert_ne!(package["before"], package["after"]);
    assert_eq!(report["changes"][1]["size"], json!(2));
    assert_eq!(line(&place, Watched::Risky, "true")["changes"], json!([]));
    assert_eq!(line(&place, Watched::Nothing, "echo 2 >> package.json")["changes"], json!(null));
}

#[test]
fn all_changes_are_listed_where_the_policy_asks_for_them() {
    let place = Project::new();
    fs::create_dir_all(place.path("sub/deep")).unwrap();
    for file in ["old", "sub/edited", "sub/deep/package.json", "sub/moved", "touched"] {
        fs::write(place.path(file), file).unwrap();
    }
    // The kernel's clock for files is coarse: what was written just now is not told from what follows.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let script = "echo x > sub/new; echo x >> sub/edited; echo >> sub/deep/package.json; \
                  mv sub/moved sub/deep/here; touch -d 2001-01-01 touched";
    let report = line(&place, Watched::All, script);
    let kinds: Vec<(String, bool)> =
        changes(&report).into_iter().map(|(path, _, runs)| (path, runs)).collect();
    let expected = [
        ("sub/deep/here", false),
        ("sub/deep/package.json", true),
        ("sub/edited", false),
        ("sub/new", false),
        ("touched", false),
    ];
    assert_eq!(kinds, expected.map(|(path, runs)| (path.to_owned(), runs)));
    assert!(changes(&report).contains(&listed("sub/edited", "modified", false)), "{report}");
}

#[test]
fn a_jailed_program_is_looked_at_too() {
    let place = Project::new();
    let mut policy = Policy { tier: stockade::tier::Tier::Jail, ..unboxed() };
    policy.files.watched = Watched::All;
    let report = place.run_with(policy, ToolCall::line("echo {} > package.json; echo > x"));
    if report["failure"].is_object() {
        skip("jail", &format!("no box here: {}", report["failure"]["message"]));
        return;
    }
    let paths: Vec<String> = changes(&report).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["package.json", "x"], "{report}");
}
