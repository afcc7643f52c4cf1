//! `stockade check`: decides and explains, and leaves no trace.

use serde_json::Value;

use crate::support::{Project, call};

#[test]
fn the_decision_is_the_exit_status() {
    let project = Project::new();
    assert_eq!(project.stockade(&["check", "run", "--", "ls"]).code, 0);
    assert_eq!(project.stockade(&["check", "run", "--", "rm", "x"]).code, 126);
    assert_eq!(project.stockade(&["check", "shell", "--only", "echo", "echo hi"]).code, 0);
    assert_eq!(project.stockade(&["check", "shell", "--only", "echo", "ls"]).code, 126);
    assert_eq!(project.fed(&["check", "call"], call(&["ls"]).as_bytes()).code, 0);
    assert_eq!(project.fed(&["check", "call"], call(&["rm"]).as_bytes()).code, 126);
    assert_eq!(project.fed(&["check", "call"], b"{\"tool\":\"WebFetch\"}").code, 3);
    assert_eq!(project.fed(&["check", "call"], b"no call").code, 125);
}

#[test]
fn json_has_the_fields_of_the_design() {
    let project = Project::new();
    let told = project.stockade(&["check", "run", "--json", "--", "env", "A=b", "rm", "-rf", "x"]);
    let found = told.json();
    assert_eq!((&found["decision"], &found["by"]), (&"deny".into(), &"axis".into()));
    assert_eq!(found["rule"], "name/denylist");
    for field in ["source", "reason", "instead"] {
        assert!(found[field].is_string(), "{field} in {found}");
    }
    let finding = found["findings"][0].as_object().unwrap();
    for field in ["axis", "text", "argument", "span"] {
        assert!(finding.contains_key(field), "{field} in {found}");
    }
    assert_eq!((&finding["axis"], &finding["argument"]), (&"name".into(), &2.into()));
    let commands = found["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 2, "the wrapper and what it runs: {found}");
    assert_eq!(commands[1]["argv"], serde_json::json!(["rm", "-rf", "x"]));
    for command in commands {
        assert_eq!(command["dynamic"], false);
        for field in ["span", "reads", "writes", "hosts"] {
            assert!(command.get(field).is_some(), "{field} in {command}");
        }
    }
    let allowed = project.stockade(&["check", "run", "--json", "--", "ls", "."]).json();
    assert_eq!((&allowed["decision"], &allowed["by"]), (&"allow".into(), &"mode".into()));
    assert_eq!((&allowed["reason"], &allowed["findings"]), (&Value::Null, &Value::Array(vec![])));
}

#[test]
fn all_findings_are_listed_though_one_decides() {
    let project = Project::new();
    let found =
        project.stockade(&["check", "run", "--json", "--", "rm", "-rf", "/etc", ";", "ls"]).json();
    let findings = found["findings"].as_array().unwrap();
    let axes: Vec<&str> = findings.iter().map(|one| one["axis"].as_str().unwrap()).collect();
    assert_eq!((axes[0], axes[1]), ("shell", "name"), "what nobody takes back comes first");
    assert_eq!(found["rule"], "name/denylist", "a question does not decide where one refuses");
    assert!(axes.contains(&"path") && axes.contains(&"structure"), "{found}");
}

#[test]
fn explain_shows_the_steps_and_what_they_keep() {
    let project = Project::new();
    let told = project.stockade(&["check", "run", "--explain", "--", "ls"]);
    assert!(told.stdout.contains(message!("text.execute-program-handle")), "{told:?}");
    assert!(told.stdout.contains("network") && told.stdout.contains("none"), "{told:?}");
    let plan =
        &project.stockade(&["check", "run", "--explain", "--json", "--", "ls"]).json()["plan"];
    assert_eq!(plan["enforcement"].as_array().unwrap().len(), 12);
    assert!(plan["steps"].as_array().unwrap().len() > 5);
    let unboxed = ["--tier", "process", "--net", "none"];
    let args = [&["check", "run", "--explain", "--json"][..], &unboxed, &["--", "ls"]].concat();
    let plan = &project.stockade(&args).json()["plan"];
    assert_eq!(plan["failure"]["guarantee"], "network");
}

#[test]
fn nothing_is_run_written_or_recorded() {
    let project = Project::new();
    project.script("mark.sh", "touch spawned\n");
    for depth in [&["--json"][..], &["--explain"], &["--quiet"], &[]] {
        let args = [&["check", "run"], depth, &["--", "sh", "mark.sh"]].concat();
        assert_eq!(project.stockade(&args).code, 0);
    }
    assert!(!project.path("spawned").exists());
    let is_empty = |folder| std::fs::read_dir(project.beside(folder)).unwrap().next().is_none();
    for folder in ["state", "tmp", "home", "config"] {
        assert!(is_empty(folder), "something is in {folder}");
    }
}

#[test]
fn quiet_leaves_only_the_status() {
    let project = Project::new();
    let told = project.stockade(&["check", "run", "--quiet", "--", "rm", "x"]);
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (126, "", ""));
}
