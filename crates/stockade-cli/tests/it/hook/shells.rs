//! Shell tools of other agents: each line is judged as one of `Bash`, and put into the box in the field and
//! the form in which the tool takes it.

use serde_json::{Value, json};

use super::{bash, boxed, decision, event, output, policy, sent, silent};
use crate::support::Project;

/// The tools by which agents run a line.
fn calls(line: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("Bash", json!({"command": line})),
        ("bash", json!({"command": line})),
        ("shell", json!({"command": ["bash", "-lc", line], "workdir": "."})),
        ("local_shell", json!({"action": {"type": "exec", "command": ["sh", "-c", line]}})),
        ("container.exec", json!({"cmd": ["bash", "-lc", line]})),
        ("exec_command", json!({"cmd": line, "yield_time_ms": 1000})),
        ("unified_exec", json!({"input": ["bash", "-c", line]})),
        ("shell_command", json!({"command": line})),
        ("run_shell_command", json!({"command": line, "description": "d"})),
        ("run_terminal_cmd", json!({"command": line, "is_background": false})),
        ("Monitor", json!({"command": line, "description": "d"})),
    ]
}

/// The line that a tool would run, as a shell takes it.
fn line_in(input: &Value) -> String {
    let value = ["command", "cmd", "input"].iter().find_map(|field| input.get(field));
    let value = value.unwrap_or(&input["action"]["command"]);
    if let Some(line) = value.as_str() {
        return line.to_owned();
    }
    let words: Vec<&str> = value.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(words[..2], ["/bin/sh", "-c"], "{value}");
    assert_eq!(words.len(), 3, "{value}");
    words[2].to_owned()
}

#[test]
fn a_line_is_judged_whichever_tool_runs_it() {
    let project = Project::new();
    std::fs::create_dir_all(project.path(".git/objects")).unwrap();
    project.write(".env", "KEY=s3cret\n");
    for line in ["rm -rf .git", "sudo id", "cat .env", "rm -rf /"] {
        for (tool, input) in calls(line) {
            for format in ["claude", "codex"] {
                let mut call = event(&project, tool, &input);
                call["permission_mode"] = json!("bypassPermissions");
                let pre = ["pre", "--format", format, "--mode", "auto"];
                assert_eq!(decision(&project, &pre, &call), "deny", "{tool} {line} {format}");
            }
        }
    }
}

#[test]
fn a_line_is_put_into_the_box_in_the_form_that_its_tool_takes() {
    let project = Project::new();
    for (tool, input) in calls("echo \"it's\" > made; pwd") {
        let call = event(&project, tool, &input);
        let said = output(&sent(&project, &["pre", "--mode", "auto"], &call));
        assert_eq!(said["permissionDecision"], "allow", "{tool}: {said}");
        let line = line_in(&said["updatedInput"]);
        assert!(line.contains(" shell --root="), "{tool}: {line}");
        let ran = boxed::run(&project, &line);
        let folder = std::fs::canonicalize(project.path("")).unwrap();
        assert_eq!((ran.code, ran.stdout.trim()), (0, folder.to_str().unwrap()), "{tool}: {ran:?}");
        assert_eq!(std::fs::read_to_string(project.path("made")).unwrap(), "it's\n", "{tool}");
        std::fs::remove_file(project.path("made")).unwrap();
    }
}

#[test]
fn a_line_runs_in_the_folder_that_its_input_names() {
    let project = Project::new();
    std::fs::create_dir(project.path("sub")).unwrap();
    for (tool, input) in [
        ("exec_command", json!({"cmd": "pwd", "workdir": "sub"})),
        ("run_shell_command", json!({"command": "pwd", "directory": "sub"})),
        ("shell", json!({"command": ["pwd"], "workdir": project.path("sub")})),
    ] {
        let said = output(&sent(&project, &["pre"], &event(&project, tool, &input)));
        let ran = boxed::run(&project, &line_in(&said["updatedInput"]));
        assert!(ran.stdout.trim().ends_with("/work/sub"), "{tool}: {ran:?}");
    }
    let outside = event(&project, "exec_command", &json!({"cmd": "pwd", "workdir": ".."}));
    assert_eq!(decision(&project, &["pre", "--root", "."], &outside), "deny");
}

#[test]
fn a_tool_whose_line_cannot_be_found_is_refused() {
    let project = Project::new();
    for (tool, input) in [
        ("Bash", json!({"command": 7})),
        ("Bash", json!({"command": ["ls"]})),
        ("Bash", json!({"cmd": "ls"})),
        ("shell", json!({"command": []})),
        ("shell", json!({"command": ["ls", 7]})),
        ("exec_command", json!({})),
        ("exec_command", json!({"cmd": "ls", "command": "rm -rf ."})),
    ] {
        let told = sent(&project, &["pre", "--mode", "auto"], &event(&project, tool, &input));
        assert_eq!(told.code, 2, "{tool} {input}: {told:?}");
        assert!(told.stderr.contains("command"), "{tool} {input}: {told:?}");
    }
}

/// What runs the line runs outside of the sandbox that the line is put into.
#[test]
fn a_field_that_chooses_what_runs_the_line_is_refused() {
    let project = Project::new();
    let own = project.path("x/bash").display().to_string();
    for (tool, input) in [
        ("exec_command", json!({"cmd": "ls", "shell": own})),
        ("shell", json!({"command": ["ls"], "env": {"BASH_ENV": "./evil"}})),
        ("Bash", json!({"command": "ls", "env": {"LD_PRELOAD": "./evil.so"}})),
        ("local_shell", json!({"action": {"command": ["ls"], "env": {"ENV": "x"}}})),
    ] {
        let told = sent(&project, &["pre", "--mode", "auto"], &event(&project, tool, &input));
        assert_eq!(told.code, 2, "{tool} {input}: {told:?}");
        assert!(told.stderr.contains("tool_input."), "{tool} {input}: {told:?}");
    }
    for (tool, input) in [
        ("exec_command", json!({"cmd": "ls", "shell": "/bin/bash", "login": true})),
        ("exec_command", json!({"cmd": "ls", "shell": "zsh", "tty": false})),
        ("Bash", json!({"command": "ls", "description": "use the shell", "timeout": 9000})),
    ] {
        let event = event(&project, tool, &input);
        assert_eq!(decision(&project, &["pre", "--mode", "auto"], &event), "allow", "{input}");
    }
}

#[test]
fn what_is_typed_into_a_program_is_judged_as_a_line() {
    let project = Project::new();
    std::fs::create_dir_all(project.path(".git/objects")).unwrap();
    let pre = ["pre", "--format", "codex", "--mode", "auto"];
    let typed =
        |chars: &str| event(&project, "write_stdin", &json!({"session_id": 1, "chars": chars}));
    for chars in ["rm -rf .git\n", "sudo id\n", "cat ~/.ssh/id_rsa\n"] {
        assert_eq!(decision(&project, &pre, &typed(chars)), "deny", "{chars}");
    }
    for chars in ["", "\u{3}", "ls\n", "y\n"] {
        silent(&sent(&project, &pre, &typed(chars)));
    }
}

/// A server's shell may be on another machine, so that its lines are judged and not rewritten.
#[test]
fn lines_of_a_server_and_of_other_shells_are_not_left_to_the_agent() {
    let project = Project::new();
    std::fs::create_dir_all(project.path(".git/objects")).unwrap();
    for (tool, input) in [
        ("mcp__sh__execute_command", json!({"command": "rm -rf .git"})),
        ("mcp__sh__shell", json!({"cmd": ["bash", "-c", "rm -rf .git"]})),
        ("mcp__sh__startProcess", json!({"command": "rm -rf /"})),
        ("mcp__sh__run_command", json!({"command": 7})),
        ("PowerShell", json!({"command": "Remove-Item -Recurse .git"})),
        ("PowerShell", json!({"command": "ls"})),
        ("mcp__sh__pwsh", json!({"command": "ls"})),
    ] {
        let mut call = event(&project, tool, &input);
        call["permission_mode"] = json!("bypassPermissions");
        assert_eq!(decision(&project, &["pre", "--mode", "auto"], &call), "deny", "{tool} {input}");
    }
    let harmless = event(&project, "mcp__sh__execute_command", &json!({"command": "make"}));
    silent(&sent(&project, &["pre", "--mode", "auto"], &harmless));
}

/// Servers name their fields as they like.
#[test]
fn every_text_of_a_servers_shell_is_judged_as_a_line() {
    let project = Project::new();
    std::fs::create_dir_all(project.path(".git/objects")).unwrap();
    project.write(".env", "KEY=s3cret\n");
    for (tool, input) in [
        ("mcp__x__run_commands", json!({"commands": ["ls", "sudo ls"]})),
        ("mcp__x__run_steps", json!({"steps": [{"run": "sudo ls"}]})),
        ("mcp__x__run_steps", json!({"job": {"steps": [{"name": "a", "run": "sudo ls"}]}})),
        ("mcp__x__run_code", json!({"code": "rm -rf .git", "language": "bash"})),
        ("mcp__x__execute", json!({"code": "rm -rf .git", "language": "/bin/sh"})),
        ("mcp__x__bash", json!({"bash": "cat .env"})),
        ("mcp__x__shell", json!({"value": "rm -rf .git"})),
        ("mcp__x__shell", json!({"shell": "rm -rf .git"})),
        ("mcp__x__execute_command", json!({"line": "sudo ls"})),
        ("mcp__x__execute_command", json!({"command": "ls", "line": "sudo ls"})),
        ("mcp__x__execute_command", json!({"request": {"body": ["sudo ls"]}})),
        ("mcp__x__terminal_execute", json!({"text": "sudo ls"})),
        ("mcp__x__write_to_terminal", json!({"command": "sudo ls"})),
        ("mcp__tmux__send_keys", json!({"keys": "sudo ls\n"})),
        ("mcp__tmux__send-keys", json!({"pane": "1", "keys": ["sudo ls", "Enter"]})),
        ("mcp__x__shell", json!({"value": "echo '"})),
        ("mcp__x__shell", json!({})),
        ("mcp__x__run_command", json!({"timeout": 7})),
        ("mcp__x__run_command", json!({"commands": vec!["ls"; 1000]})),
        ("mcp__x__run_command", json!({"command": "ls\u{0}"})),
    ] {
        let mut call = event(&project, tool, &input);
        call["permission_mode"] = json!("bypassPermissions");
        let told = sent(&project, &["pre", "--mode", "auto"], &call);
        assert!(told.stdout.contains("deny"), "{tool} {input}: {told:?}");
    }
    for (tool, input) in [
        ("mcp__x__run_commands", json!({"commands": ["ls", "make"]})),
        ("mcp__x__execute_command", json!({"command": "make", "description": "don't wait"})),
        ("mcp__x__execute_command", json!({"command": ["git", "commit", "-m", "it's"]})),
        ("mcp__x__bash", json!({"command": "ls", "shell": "/bin/bash", "cwd": "."})),
        ("mcp__x__run_python", json!({"code": "print('x')\nf(1)", "language": "python"})),
        ("mcp__db__execute_sql", json!({"sql": "SELECT count(*) FROM t WHERE a = 'b'"})),
        ("mcp__ci__run_tests", json!({"filter": "a(b"})),
        ("mcp__x__kill_process", json!({"pid": 7})),
        ("mcp__x__close_terminal", json!({"id": "a"})),
        ("mcp__web__send_keys", json!({"selector": "#a", "keys": "it's sudo"})),
        ("mcp__tmux__send_keys", json!({"keys": "ls\n"})),
    ] {
        silent(&sent(&project, &["pre", "--mode", "auto"], &event(&project, tool, &input)));
    }
}

#[test]
fn lines_about_the_agents_own_session_are_allowed_in_every_mode_and_refused_by_rules() {
    let project = Project::new();
    for mode in ["default", "accept-edits", "plan", "dont-ask", "auto", "bypass"] {
        for agents in ["default", "plan", "dontAsk", "bypassPermissions"] {
            let mut event = bash(&project, "stockade ps");
            event["permission_mode"] = json!(agents);
            let said = output(&sent(&project, &["pre", "--mode", mode], &event));
            assert_eq!(said["permissionDecision"], "allow", "{mode} {agents}: {said}");
            let command = said["updatedInput"]["command"].as_str().unwrap();
            assert!(command.contains(" ps --session=s --root="), "{command}");
            event["tool_input"]["command"] = json!("stockade run -- make");
            assert!(
                mode != "plan" || decision(&project, &["pre", "--mode", mode], &event) != "allow"
            );
        }
    }
    let rules = policy(
        &project,
        "[rules]\ndeny = [\"Bash(stockade ps:*)\"]\nask = [\"Bash(stockade logs:*)\"]",
    );
    let pre = ["pre", "--mode", "auto", "--policy", &rules];
    let said = output(&sent(&project, &pre, &bash(&project, "stockade ps")));
    assert_eq!((&said["permissionDecision"], said.get("updatedInput")), (&"deny".into(), None));
    let reason = said["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("stockade ps:*"), "{reason}");
    let said = output(&sent(&project, &pre, &bash(&project, "stockade logs 3000")));
    assert_eq!(said["permissionDecision"], "ask", "{said}");
    assert!(said["updatedInput"]["command"].as_str().unwrap().contains(" logs --session=s "));
    assert_eq!(decision(&project, &pre, &bash(&project, "stockade kill 3000")), "allow");
}

#[test]
fn what_is_typed_about_a_session_is_not_replaced() {
    let project = Project::new();
    let input = json!({"session_id": 1, "chars": "stockade ps\n"});
    let typed = event(&project, "write_stdin", &input);
    silent(&sent(&project, &["pre", "--format", "codex", "--mode", "auto"], &typed));
}
