//! `stockade hook` as an agent uses it: real pipes, its protocol, and a refusal for every failure.

mod boxed;
mod failures;
mod forged;
mod guarded;
mod patch;
mod search;
mod secrets;
mod shells;
mod unasked;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Project, Told};

/// An event before the use of a tool.
fn event(project: &Project, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": "s", "transcript_path": "/t.jsonl", "cwd": project.path(""),
        "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01",
    })
}

fn bash(project: &Project, line: &str) -> Value {
    event(project, "Bash", &json!({"command": line, "description": "d", "timeout": 9000}))
}

fn sent(project: &Project, args: &[&str], event: &Value) -> Told {
    let args: Vec<&str> = ["hook"].into_iter().chain(args.iter().copied()).collect();
    project.fed(&args, event.to_string().as_bytes())
}

/// The answer to an event, of which there has to be one.
#[track_caller]
fn output(told: &Told) -> Value {
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(told.stderr, "", "{told:?}");
    let json = told.json();
    assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
    json["hookSpecificOutput"].clone()
}

#[track_caller]
fn decision(project: &Project, args: &[&str], event: &Value) -> String {
    output(&sent(project, args, event))["permissionDecision"].as_str().unwrap().to_owned()
}

#[track_caller]
fn silent(told: &Told) {
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (0, "", ""), "{told:?}");
}

fn policy(project: &Project, text: &str) -> String {
    let path = project.beside("policy.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn lines_start_with_questions_unless_something_else_is_said() {
    let project = Project::new();
    let make = bash(&project, "make all");
    assert_eq!(decision(&project, &["pre"], &bash(&project, "ls")), "allow");
    assert_eq!(decision(&project, &["pre"], &make), "ask");
    assert_eq!(decision(&project, &["pre", "--mode", "auto"], &make), "allow");
    assert_eq!(decision(&project, &["pre", "--mode", "dont-ask"], &make), "deny");
    let auto = policy(&project, "mode = \"auto\"");
    assert_eq!(decision(&project, &["pre", "--policy", &auto], &make), "allow");
    // Without a box there is nothing that contains it.
    assert_eq!(decision(&project, &["pre", "--mode", "auto", "--no-box"], &make), "ask");
    assert_eq!(decision(&project, &["pre", "--mode", "auto", "--tier", "process"], &make), "ask");
}

#[test]
fn the_mode_of_the_agent_only_tightens() {
    let project = Project::new();
    let asked = |own: &str, agents: Value, line: &str| {
        let mut event = bash(&project, line);
        event["permission_mode"] = agents;
        decision(&project, &["pre", "--mode", own], &event)
    };
    for (agents, question) in [
        ("default", "ask"),
        ("acceptEdits", "ask"),
        ("auto", "deny"),
        ("bypassPermissions", "deny"),
    ] {
        assert_eq!(asked("default", json!(agents), "touch x"), question, "{agents}");
        assert_eq!(asked("plan", json!(agents), "touch x"), "deny", "{agents}");
        assert_eq!(asked("auto", json!(agents), "make"), "allow", "{agents}");
    }
    for own in ["default", "accept-edits", "auto", "bypass", "plan", "dont-ask"] {
        assert_eq!(asked(own, json!("plan"), "touch x"), "deny", "{own}");
        assert_eq!(asked(own, json!("dontAsk"), "make"), "deny", "{own}");
        assert_eq!(asked(own, json!("plan"), "ls"), "allow", "{own}");
    }
    assert_eq!(asked("dont-ask", json!("plan"), "make"), "deny");
    // One that nobody knows yet is taken for the one that asks, and nobody knows whether it does.
    assert_eq!(asked("auto", json!("tomorrow"), "make"), "deny");
}

#[test]
fn a_refusal_says_what_by_which_rule_and_what_instead() {
    let project = Project::new();
    let rules =
        "[rules]\ndeny = [{rule = \"Bash(curl *)\", reason = \"no curl\", instead = \"ask me\"}]";
    let path = policy(&project, rules);
    let said = output(&sent(&project, &["pre", "--policy", &path], &bash(&project, "ls; curl x")));
    assert_eq!(said["permissionDecision"], "deny");
    let reason = said["permissionDecisionReason"].as_str().unwrap();
    let lines: Vec<&str> = reason.lines().collect();
    assert_eq!(lines.len(), 3, "{reason}");
    assert!(lines[0].starts_with("refused: ") && lines[0].contains("no curl"), "{reason}");
    assert!(lines[1].starts_with("rule: Bash(curl *) (") && lines[1].contains(":2"), "{reason}");
    assert_eq!(lines[2], "instead: ask me");
    assert_eq!(said.get("updatedInput"), None);
}

#[test]
fn tools_of_the_agent_are_decided_about_by_rules_and_else_left_to_it() {
    let project = Project::new();
    let path = policy(
        &project,
        "[rules]\ndeny = [\"WebFetch(domain:evil.example)\", \"Read(.env)\"]\nask = [\"mcp__db\"]\nallow = [\"WebSearch\"]",
    );
    let pre = ["pre", "--policy", &path];
    let env = project.path(".env");
    for (tool, input, expected) in [
        ("WebFetch", json!({"url": "https://evil.example/x", "prompt": "p"}), "deny"),
        ("Read", json!({"file_path": env}), "deny"),
        ("mcp__db__query", json!({"q": 1}), "ask"),
        ("WebSearch", json!({"query": "q"}), "allow"),
        (
            "Write",
            json!({"file_path": project.path(".claude/settings.json"), "content": ""}),
            "deny",
        ),
        (
            "Edit",
            json!({"file_path": project.path("stockade.toml"), "old_string": "", "new_string": ""}),
            "deny",
        ),
    ] {
        let said = output(&sent(&project, &pre, &event(&project, tool, &input)));
        assert_eq!(said["permissionDecision"], expected, "{tool}");
        assert_eq!(said.get("updatedInput"), None, "{tool}");
    }
    for mode in ["default", "accept-edits", "auto", "bypass"] {
        for (tool, input) in [
            ("WebFetch", json!({"url": "https://other.example/x", "prompt": "p"})),
            ("Read", json!({"file_path": project.path("a.txt")})),
            ("Write", json!({"file_path": project.path("a.txt"), "content": "x"})),
            ("Agent", json!({"prompt": "p", "description": "d", "subagent_type": "t"})),
            ("mcp__other__tool", json!({})),
            ("TomorrowsTool", json!({"anything": [1]})),
        ] {
            let told = sent(
                &project,
                &["pre", "--policy", &path, "--mode", mode],
                &event(&project, tool, &input),
            );
            silent(&told);
        }
    }
}

#[test]
fn rules_see_the_other_fields_of_a_line() {
    let project = Project::new();
    let path = policy(
        &project,
        "[rules]\ndeny = [\"Bash(dangerouslyDisableSandbox:true)\"]\nask = [\"Bash(run_in_background:true)\"]",
    );
    let with = |field: &str| {
        let mut event = bash(&project, "ls");
        event["tool_input"][field] = json!(true);
        decision(&project, &["pre", "--policy", &path], &event)
    };
    assert_eq!(with("dangerouslyDisableSandbox"), "deny");
    assert_eq!(with("run_in_background"), "ask");
    assert_eq!(with("other"), "allow");
}

#[test]
fn the_rules_of_the_agents_own_settings_hold() {
    let project = Project::new();
    std::fs::create_dir_all(project.beside("home/.claude")).unwrap();
    let settings = r#"{"permissions": {"deny": ["Bash(ls *)"], "allow": ["Bash(make *)"]}}"#;
    std::fs::write(project.beside("home/.claude/settings.json"), settings).unwrap();
    assert_eq!(decision(&project, &["pre"], &bash(&project, "ls -l")), "deny");
    assert_eq!(decision(&project, &["pre"], &bash(&project, "make all")), "allow");
    // A project's settings allow nothing until they are trusted, and refuse at once.
    std::fs::create_dir(project.path(".claude")).unwrap();
    let settings = r#"{"permissions": {"deny": ["Bash(pwd)"], "allow": ["Bash(cargo *)"]}}"#;
    std::fs::write(project.path(".claude/settings.json"), settings).unwrap();
    assert_eq!(decision(&project, &["pre"], &bash(&project, "pwd")), "deny");
    assert_eq!(decision(&project, &["pre"], &bash(&project, "cargo test")), "ask");
    let broken = project.beside("home/.claude/settings.json");
    std::fs::write(broken, "{\"permissions\": ").unwrap();
    assert_eq!(sent(&project, &["pre"], &bash(&project, "ls")).code, 2);
}

#[test]
fn the_project_is_what_the_agent_says_or_what_is_found_above() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("sub/deep")).unwrap();
    project.write("stockade.toml", "[rules]\ndeny = [\"Bash(pwd)\"]\n");
    let mut event = bash(&project, "pwd");
    event["cwd"] = json!(project.path("sub/deep"));
    assert_eq!(decision(&project, &["pre"], &event), "deny");
    assert_eq!(decision(&project, &["pre", "--root", "sub"], &event), "allow");
    let said_by = |folder: &Path| {
        let mut command = project.command(&["hook", "pre"]);
        command.env("CLAUDE_PROJECT_DIR", folder).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.to_string().as_bytes())
            .unwrap();
        output(&Told::from(child.wait_with_output().unwrap()))
    };
    assert_eq!(said_by(&project.path("sub"))["permissionDecision"], "allow");
    assert_eq!(said_by(&project.path(""))["permissionDecision"], "deny");
    // A folder outside of the project is refused, in words.
    event["cwd"] = json!("/");
    assert_eq!(decision(&project, &["pre", "--root", "."], &event), "deny");
}

#[test]
fn codex_gets_only_what_it_takes() {
    let project = Project::new();
    let pre = ["pre", "--format", "codex"];
    let asked = output(&sent(&project, &pre, &bash(&project, "make")));
    assert_eq!(asked["permissionDecision"], "deny");
    assert!(asked["permissionDecisionReason"].as_str().unwrap().contains("cannot ask"));
    let boxed = output(&sent(
        &project,
        &["pre", "--format", "codex", "--mode", "auto"],
        &bash(&project, "make"),
    ));
    assert_eq!(boxed["permissionDecision"], "allow");
    assert!(boxed["updatedInput"]["command"].as_str().unwrap().contains("--dialect=codex"));
    silent(&sent(&project, &["pre", "--format", "codex", "--no-box"], &bash(&project, "ls")));
    let mut request = bash(&project, "ls");
    request["hook_event_name"] = json!("PermissionRequest");
    silent(&sent(&project, &pre, &request));
}

#[test]
fn a_request_for_permission_is_refused_or_answered_or_left_to_the_person() {
    let project = Project::new();
    let request = |line: &str| {
        let mut event = bash(&project, line);
        event["hook_event_name"] = json!("PermissionRequest");
        event["permission_suggestions"] = json!([]);
        event.as_object_mut().unwrap().remove("tool_use_id");
        sent(
            &project,
            &["pre", "--policy", &policy(&project, "[rules]\ndeny = [\"Bash(curl *)\"]")],
            &event,
        )
    };
    let refused = output(&request("curl x"));
    assert_eq!(refused["hookEventName"], "PermissionRequest");
    assert_eq!(refused["decision"]["behavior"], "deny");
    assert!(refused["decision"]["message"].as_str().unwrap().starts_with("refused: "));
    assert_eq!(output(&request("ls"))["decision"]["behavior"], "allow");
    silent(&request("make"));
}

#[test]
fn after_the_use_of_a_tool_nothing_is_said() {
    let project = Project::new();
    let mut event = bash(&project, "rm -rf /");
    event["tool_response"] =
        json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false});
    for name in
        ["PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SessionStart", "Tomorrow"]
    {
        let mut event = event.clone();
        event["hook_event_name"] = json!(name);
        if name == "Tomorrow" {
            let fields = event.as_object_mut().unwrap();
            fields.retain(|key, _| !key.starts_with("tool_"));
        }
        for phase in ["pre", "post"] {
            silent(&sent(&project, &[phase], &event));
        }
    }
}

#[test]
fn every_decision_is_in_the_journal_with_the_agents_name_for_the_call() {
    let project = Project::new();
    sent(&project, &["pre"], &bash(&project, "make"));
    sent(&project, &["pre"], &event(&project, "Read", &json!({"file_path": project.path("a")})));
    let told = project.stockade(&["audit", "show", "--json"]);
    let verdicts: Vec<Value> = told.lines();
    let seen: Vec<(&str, &str, &str)> = verdicts
        .iter()
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            (text("tool"), text("decision"), text("call"))
        })
        .collect();
    assert_eq!(seen, [("Bash", "ask", "toolu_01"), ("Read", "allow", "toolu_01")], "{told:?}");
}

#[test]
fn hooks_of_the_policy_are_asked_about_what_is_not_put_into_the_box() {
    let project = Project::new();
    let guard = project.beside("guard.sh");
    let log = project.beside("asked");
    let script = format!("#!/bin/sh\ncat >> {}\necho no thanks >&2\nexit 2\n", log.display());
    std::fs::write(&guard, script).unwrap();
    let text = format!(
        "[[hook]]\nevent = \"pre\"\nmatch = \"WebFetch|Bash\"\ncommand = [\"sh\", \"{}\"]\n",
        guard.display()
    );
    let path = policy(&project, &text);
    let fetch = event(&project, "WebFetch", &json!({"url": "https://a.example/", "prompt": "p"}));
    let said = output(&sent(&project, &["pre", "--policy", &path], &fetch));
    assert_eq!(said["permissionDecision"], "deny", "{said}");
    assert!(said["permissionDecisionReason"].as_str().unwrap().contains("no thanks"), "{said}");
    let other = event(&project, "WebSearch", &json!({"query": "q"}));
    silent(&sent(&project, &["pre", "--policy", &path], &other));
    let told = sent(&project, &["pre", "--policy", &path, "--no-box"], &bash(&project, "ls"));
    assert_eq!(output(&told)["permissionDecision"], "deny");
    // A boxed line asks them when it runs.
    let told = sent(&project, &["pre", "--policy", &path], &bash(&project, "ls"));
    let command = output(&told)["updatedInput"]["command"].as_str().unwrap().to_owned();
    let ran = boxed::run(&project, &command);
    assert!(ran.code == 126 && ran.stderr.contains("no thanks"), "{ran:?}");
}

#[test]
fn hooks_of_the_agents_settings_are_left_to_the_agent() {
    let project = Project::new();
    std::fs::create_dir_all(project.beside("home/.claude")).unwrap();
    let marker = project.beside("ran");
    let touch = format!("touch {}; exit 2", marker.display());
    // Neither the one that would refuse nor the one that cannot be run here is any of our business.
    let settings = json!({"hooks": {"PreToolUse": [
        {"matcher": "*", "hooks": [{"type": "command", "command": touch}, {"type": "http", "url": "https://a.example"}]},
    ]}});
    std::fs::write(project.beside("home/.claude/settings.json"), settings.to_string()).unwrap();
    assert_eq!(project.stockade(&["install", "claude"]).code, 0);
    let told = sent(&project, &["pre"], &bash(&project, "echo hi"));
    let command = output(&told)["updatedInput"]["command"].as_str().unwrap().to_owned();
    let ran = boxed::run(&project, &command);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "hi\n", ""), "{ran:?}");
    assert!(!marker.exists());
}
