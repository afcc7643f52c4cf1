//! The file tools from the command line: `call` carries them out, `check call` explains.

use std::fs;

use serde_json::{Value, json};

use crate::support::Project;

fn lines(calls: &[Value]) -> String {
    calls.iter().map(|call| format!("{call}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn an_agents_work_on_files_goes_through_call() {
    let project = Project::new();
    project.write("notes.md", "one\ntwo\n");
    let input = lines(&[
        json!({"tool": "Read", "input": {"file_path": "notes.md"}}),
        json!({"tool": "edit_file", "input": {"file_path": "notes.md", "old_string": "two", "new_string": "2"}}),
        json!({"tool": "write_file", "input": {"file_path": "src/new.rs", "content": "fn a() {}\n"}}),
        json!({"tool": "Glob", "input": {"pattern": "**/*.rs"}}),
        json!({"tool": "Grep", "input": {"pattern": "^fn", "output_mode": "content"}}),
        json!({"tool": "Read", "input": {"file_path": "/etc/passwd"}}),
        json!({"tool": "Read", "input": {"file_path": "notes.md", "lines": 3}}),
    ]);
    let reports = project.fed(&["call"], input.as_bytes()).lines();
    let outs: Vec<&str> = reports.iter().map(|one| one["stdout"].as_str().unwrap()).collect();
    let expected = [
        "one\ntwo\n",
        "changed notes.md, 6 bytes\n",
        "made src/new.rs, 10 bytes\n",
        "src/new.rs\n",
        "src/new.rs:1:fn a() {}\n",
        "",
        "",
    ];
    assert_eq!(outs, expected, "{reports:#?}");
    let rules: Vec<&str> = reports.iter().filter_map(|one| one["rule"].as_str()).collect();
    assert_eq!(rules, ["path/outside", "call/malformed"]);
    assert_eq!(fs::read_to_string(project.path("notes.md")).unwrap(), "one\n2\n");
    assert_eq!(reports[2]["changes"][0]["kind"], json!("created"));
}

#[test]
fn check_explains_and_does_nothing() {
    let project = Project::new();
    let check = |call: Value, options: &[&str]| {
        project.fed(&[&["check", "call"], options].concat(), call.to_string().as_bytes())
    };
    let write = json!({"tool": "Write", "input": {"file_path": "a", "content": "x"}});
    let told = check(write.clone(), &["--explain"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(told.stdout.contains(message!("text.read-write-handles-beneath")), "{}", told.stdout);
    assert_eq!(check(write, &["--mode", "default"]).code, 3);
    let hook = json!({"tool": "Write", "input": {"file_path": ".git/hooks/x", "content": "x"}});
    assert_eq!(check(hook, &[]).code, 3);
    let outside = json!({"tool": "Grep", "input": {"pattern": "x", "path": ".."}});
    assert_eq!(check(outside, &[]).code, 126);
    assert_eq!(fs::read_dir(project.path(".")).unwrap().count(), 0);
}
