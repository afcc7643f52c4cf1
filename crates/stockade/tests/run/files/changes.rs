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
fn a_link_in_the_place_of_a_folder_from_which_code_runs_is_listed() {
    let place = Project::new();
    for file in ["evil/settings.json", "v/tasks.json", "sub/x"] {
        fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
        fs::write(place.path(file), "{}").unwrap();
    }
    let report = line(&place, Watched::Risky, "ln -s evil .claude; ln -s v .vscode; ln -s v other");
    let expected = [listed(".claude", "created", true), listed(".vscode", "created", true)];
    assert_eq!(changes(&report), expected);
    assert_eq!(changes(&line(&place, Watched::Risky, "true")), []);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let report = line(&place, Watched::All, "ln -s x sub/.zed; ln -s x sub/plain");
    let expected = [listed("sub/.zed", "created", true), listed("sub/plain", "created", false)];
    assert_eq!(changes(&report), expected);
}

#[test]
fn more_files_than_are_looked_at_are_said_to_be_there() {
    let place = Project::new();
    fs::create_dir(place.path(".claude")).unwrap();
    for number in 0..300 {
        fs::write(place.path(".claude").join(number.to_string()), "").unwrap();
    }
    let report = line(&place, Watched::Risky, "true");
    let notes = report["notes"].to_string();
    assert!(notes.contains("not all was looked at in .claude"), "{report}");
}

#[test]
fn hooks_of_repositories_further_down_are_listed_with_all() {
    let place = Project::new();
    for folder in [".git/hooks", ".git/modules/m/hooks", "sub/.git/hooks", "sub/.git/objects"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    let script = "for d in .git .git/modules/m sub/.git; do echo > $d/hooks/pre-commit; \
                  echo > $d/config; echo > $d/HEAD; done; echo > sub/.git/objects/x";
    let report = line(&place, Watched::All, script);
    let expected = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/modules/m/config",
        ".git/modules/m/hooks/pre-commit",
        "sub/.git/config",
        "sub/.git/hooks/pre-commit",
    ];
    assert_eq!(changes(&report), expected.map(|path| listed(path, "created", true)));
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
