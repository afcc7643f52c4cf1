//! The same call again: a refusal that is repeated says so, and what was read is not read again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Project, call};

#[test]
fn a_refusal_is_recognised_by_the_next_process() {
    let project = Project::new();
    let run =
        |args: &[&str]| project.stockade(&[&["run"], args, &["--", "rm", "-rf", "x"]].concat());
    let first = run(&[]);
    assert!(first.code == 126 && !first.stderr.contains("time in"), "{first:?}");
    assert!(run(&[]).stderr.contains(message!("verdict.times-in-a-minute", "the second time")));
    let told = run(&["--json"]).json();
    assert_eq!(told["repeated"], 3, "{told}");
    assert!(
        told["reason"]
            .as_str()
            .unwrap()
            .contains(message!("verdict.times-in-a-minute", "the third time")),
        "{told}"
    );
    assert_eq!(told["rule"], "name/denylist", "the rest is as it was");
    let other = project.stockade(&["run", "--json", "--", "rm", "-rf", "y"]).json();
    assert!(other.get("repeated").is_none(), "{other}");
}

#[test]
fn questions_that_the_box_spared_are_counted_in_the_journal() {
    let project = Project::new();
    project.script("build.sh", "true\n");
    let told = project.stockade(&["shell", "--json", "sh build.sh"]).json();
    assert_eq!(told["questions"]["spared"], 1, "{told}");
    project.stockade(&["run", "--", "true"]);
    let stats = project.stockade(&["audit", "stats", "--json"]).json();
    assert_eq!((&stats["spared"], &stats["allowed"]), (&1.into(), &2.into()), "{stats}");
    let told = project.stockade(&["audit", "stats"]).stdout;
    assert!(told.lines().any(|line| line.split_whitespace().eq(["spared", "1"])), "{told}");
}

/// Policy, settings and trust are read once: what a call writes into them changes nothing for the
/// calls after it.
#[test]
fn a_policy_that_is_changed_between_two_calls_of_a_session_changes_nothing() {
    let project = Project::new();
    std::fs::create_dir_all(project.beside("config/stockade")).unwrap();
    let own = project.beside("config/stockade/stockade.toml");
    let settings = project.beside("settings.json");
    let write = |rule: &str, other: &str| {
        std::fs::write(&own, format!("rules.deny = ['Bash({rule} *)']\n")).unwrap();
        let text = serde_json::json!({"permissions": {"deny": [format!("Bash({other} *)")]}});
        std::fs::write(&settings, text.to_string()).unwrap();
    };
    write("ls", "cat");
    let args = ["call", "--tier", "process", "--settings", settings.to_str().unwrap()];
    let mut child = project.command(&args).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |argv: &[&str]| -> bool {
        input.write_all(call(argv).as_bytes()).unwrap();
        let report: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        report["denied"].as_bool().unwrap()
    };
    project.write("f", "");
    assert_eq!((ask(&["ls", "f"]), ask(&["cat", "f"]), ask(&["wc", "f"])), (true, true, false));
    write("wc", "wc");
    project.write("stockade.toml", "rules.deny = ['Bash(wc *)']\n");
    assert_eq!((ask(&["ls", "f"]), ask(&["cat", "f"]), ask(&["wc", "f"])), (true, true, false));
    drop(input);
    assert!(child.wait().is_ok());
    let told = project.stockade(&["run", "--tier", "process", "--json", "--", "wc", "f"]).json();
    assert_eq!(told["denied"], true, "the next process reads the new files: {told}");
}
