//! A question that may not reach a person is a refusal, in every mode and for every agent.

use serde_json::{Value, json};

use super::{bash, decision, event, output, policy, sent, silent};
use crate::support::{Project, Told};

/// Events that a rule, a finding and the mode ask about.
fn questions(project: &Project) -> [Value; 4] {
    [
        bash(project, "make all"),
        bash(project, "ls; deploy"),
        event(project, "mcp__db__query", &json!({"q": 1})),
        event(project, "Write", &json!({"file_path": project.path(".envrc"), "content": "{}"})),
    ]
}

const RULES: &str = "[rules]\nask = [\"mcp__db\", \"Bash(deploy)\"]";

#[test]
fn a_question_is_asked_only_in_modes_that_ask_a_person() {
    let project = Project::new();
    let path = policy(&project, RULES);
    let pre = ["pre", "--policy", &path];
    for (mode, expected) in [
        (json!("default"), "ask"),
        (json!("acceptEdits"), "ask"),
        (json!("plan"), "ask"),
        (json!("auto"), "deny"),
        (json!("dontAsk"), "deny"),
        (json!("bypassPermissions"), "deny"),
        (json!("tomorrow"), "deny"),
        (json!(""), "deny"),
        (Value::Null, "deny"),
    ] {
        for mut event in questions(&project) {
            event["permission_mode"] = mode.clone();
            assert_eq!(decision(&project, &pre, &event), expected, "{mode} {event}");
        }
        // What needs no question is as it was.
        let mut list = bash(&project, "ls");
        list["permission_mode"] = mode.clone();
        assert_eq!(decision(&project, &pre, &list), "allow", "{mode}");
        let mut read = event(&project, "Read", &json!({"file_path": project.path("a.txt")}));
        read["permission_mode"] = mode.clone();
        silent(&sent(&project, &pre, &read));
    }
    let mut without = bash(&project, "make all");
    without.as_object_mut().unwrap().remove("permission_mode");
    let said = output(&sent(&project, &pre, &without));
    assert_eq!(said["permissionDecision"], "deny");
    assert_eq!(said.get("updatedInput"), None, "{said}");
    let reason = said["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains(message!("judgement.person-would-allow")), "{reason}");
}

#[test]
fn the_mode_of_the_policy_lifts_no_question_about_a_protected_file() {
    let project = Project::new();
    for own in ["default", "accept-edits", "auto", "bypass"] {
        for (mode, expected) in [("default", "ask"), ("bypassPermissions", "deny")] {
            let mut event = event(
                &project,
                "Write",
                &json!({"file_path": project.path(".envrc"), "content": "{}"}),
            );
            event["permission_mode"] = json!(mode);
            let said = decision(&project, &["pre", "--mode", own], &event);
            assert_eq!(said, expected, "{own} {mode}");
        }
    }
    // As a person has it who never wants to be asked: the agent's own settings choose the mode.
    std::fs::create_dir_all(project.beside("home/.claude")).unwrap();
    let settings = r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#;
    std::fs::write(project.beside("home/.claude/settings.json"), settings).unwrap();
    let mut event = event(
        &project,
        "Edit",
        &json!({"file_path": project.beside("home/.claude/settings.json"), "old_string": "", "new_string": ""}),
    );
    event["permission_mode"] = json!("bypassPermissions");
    assert_eq!(decision(&project, &["pre"], &event), "deny");
}

#[test]
fn an_agent_that_runs_without_a_person_asks_nobody() {
    let project = Project::new();
    let asked = |entrypoint: &str| {
        let mut command = project.command(&["hook", "pre"]);
        command.env("CLAUDE_CODE_ENTRYPOINT", entrypoint).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let event = bash(&project, "make all").to_string();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.as_bytes()).unwrap();
        let said = output(&Told::from(child.wait_with_output().unwrap()));
        said["permissionDecision"].as_str().unwrap().to_owned()
    };
    assert_eq!(asked("cli"), "ask");
    assert_eq!(asked("sdk-cli"), "deny");
    assert_eq!(asked("sdk-py"), "deny");
}

#[test]
fn the_journal_has_what_was_answered() {
    let project = Project::new();
    let mut event = bash(&project, "make");
    event["permission_mode"] = json!("bypassPermissions");
    sent(&project, &["pre"], &event);
    let entries: Vec<Value> = project.stockade(&["audit", "show", "--json"]).lines();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0]["decision"], "deny", "{entries:?}");
}

#[test]
fn a_request_for_permission_is_left_only_to_a_person() {
    let project = Project::new();
    for (mode, is_left) in
        [(json!("default"), true), (json!("auto"), false), (json!("bypassPermissions"), false)]
    {
        let mut event = bash(&project, "make");
        event["hook_event_name"] = json!("PermissionRequest");
        event["permission_mode"] = mode.clone();
        let told = sent(&project, &["pre"], &event);
        if is_left {
            silent(&told);
        } else {
            assert_eq!(output(&told)["decision"]["behavior"], "deny", "{mode}");
        }
    }
}
