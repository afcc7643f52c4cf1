//! About which calls a hook is asked, and what it is told.

use std::fs;

use serde_json::{Value, json};
use stockade::ToolCall;

use super::{hooked, pre, real};
use crate::support::{Project, exec};

#[test]
fn a_hook_reads_what_the_protocol_says() {
    let project = Project::new();
    let session = stockade::hooks::Session {
        id: "s-1".to_owned(),
        transcript_path: "/tmp/t.jsonl".to_owned(),
        more: json!({"agent_type": "x", "cwd": "/lie"}).as_object().unwrap().clone(),
    };
    let builder = project.builder(pre(&project, "cat > told.json")).session(session);
    let stockade = builder.open().unwrap();
    fs::create_dir(project.path("sub")).unwrap();
    let call = ToolCall::line("echo \"a  b\" | wc -l").in_folder("sub");
    let id = call.id.to_string();
    assert!(stockade.run(call).ok());
    let told: Value =
        serde_json::from_str(&fs::read_to_string(project.path("told.json")).unwrap()).unwrap();
    let sub = real(&project.path("sub"));
    assert_eq!(
        told,
        json!({
            "session_id": "s-1", "transcript_path": "/tmp/t.jsonl", "agent_type": "x",
            "cwd": sub, "permission_mode": "auto", "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": "echo \"a  b\" | wc -l"},
            "tool_use_id": id,
        })
    );
}

#[test]
fn a_hook_for_bash_is_asked_about_a_single_program_too() {
    let project = Project::new();
    let declared = |matcher: &str| {
        let hook = "event = 'pre'\nshell = 'cat > told.json'";
        hooked(&project, &format!("[[hook]]\nmatch = '{matcher}'\n{hook}\n"))
    };
    let told = |matcher: &str| -> Option<Value> {
        let report = project.run_with(declared(matcher), exec(&["echo", "a b"]));
        assert_eq!(report["ok"], true, "{report}");
        let text = fs::read_to_string(project.path("told.json")).ok()?;
        fs::remove_file(project.path("told.json")).unwrap();
        Some(serde_json::from_str(&text).unwrap())
    };
    let line = told("Bash").unwrap();
    assert_eq!(
        (&line["tool_name"], &line["tool_input"]),
        (&json!("Bash"), &json!({"command": "echo 'a b'"}))
    );
    for matcher in ["Exec", "*", "Ex.c", "Exec|Bash"] {
        let own = told(matcher).unwrap();
        assert_eq!(
            (&own["tool_name"], &own["tool_input"]["argv"]),
            (&json!("Exec"), &json!(["echo", "a b"]))
        );
    }
    assert_eq!(told("Read|Write"), None);
}

#[test]
fn a_condition_saves_the_hook_where_its_rule_is_not_about_the_call() {
    let project = Project::new();
    let declared = "[[hook]]\nevent = 'pre'\nmatch = 'Bash'\nif = 'Bash(wc *)'\nshell = 'exit 2'\n";
    let run = |line: &str| project.run_with(hooked(&project, declared), ToolCall::line(line));
    assert_eq!(run("echo hello")["ok"], true);
    assert_eq!(run("echo hello | wc -l")["by"], "hook");
    assert_eq!(run("echo $(wc -l </dev/null)")["by"], "hook");
    assert_eq!(run("x=w; ${x}c -l </dev/null")["by"], "hook");
}
