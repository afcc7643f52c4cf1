//! Registered tools whose declaration names one of these tiers, in a policy that has another.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{IMAGE, Project, Tier, eventually, kill, marked, marker, report, text};

const ECHO: &str = "read -r line\necho log >&2\nprintf '{\"got\":%s,\"extra\":\"%s\"}' \"$line\" \"$(cat \"$1\")\"\n";

/// A policy in the process tier, with a tool `t` in this one; its files are beside the project.
fn declare(project: &Project, more: &str) {
    let (tier, folder) = (project.tier().name(), project.beside("tool"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tool.sh"), ECHO).unwrap();
    std::fs::write(folder.join("data"), "of the tool").unwrap();
    std::fs::write(folder.join("secret"), "not of the tool").unwrap();
    let policy = format!(
        "[box]\ntier = 'process'\nimage = '{IMAGE}'\n[tool.t]\ntier = '{tier}'\n\
         command = ['sh', './tool/tool.sh', './tool/data']\n{more}"
    );
    std::fs::write(project.beside("policy.toml"), policy).unwrap();
}

fn call(project: &Project, tool: &str, input: &Value) -> std::process::Command {
    let (policy, journal) = (project.beside("policy.toml"), project.beside("journal"));
    let calls = project.beside("calls");
    std::fs::write(&calls, format!("{}\n", json!({"tool": tool, "input": input}))).unwrap();
    let words = ["call", "--policy", policy.to_str().unwrap(), "--journal"];
    let last = [journal.to_str().unwrap(), calls.to_str().unwrap()];
    project.command(&[words.as_slice(), &last].concat())
}

#[test]
fn a_tool_has_its_own_files_its_input_and_an_answer() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        declare(&project, "");
        let report = report(call(&project, "t", &json!({"a": [1, "two"]})));
        let answer = json!({"got": {"a": [1, "two"]}, "extra": "of the tool"});
        assert_eq!((&report["result"], &report["ok"]), (&answer, &true.into()), "{report}");
        assert_eq!((text(&report, "tier"), text(&report, "stderr")), (tier.name(), "log\n"));
        project.nothing_is_left("none");
    }
}

#[test]
fn a_tool_sees_nothing_else_beside_its_files() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        declare(&project, "");
        let script = format!("{ECHO}cat \"${{1%data}}secret\" >&2\nexit 0\n");
        std::fs::write(project.beside("tool/tool.sh"), script).unwrap();
        let report = report(call(&project, "t", &json!({})));
        assert!(report["result"].is_object(), "{report}");
        assert!(!text(&report, "stderr").contains("not of the tool"), "{report}");
    }
}

#[test]
fn errors_of_a_tool_say_whose_they_are() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        declare(&project, "timeout = '3s'\n");
        std::fs::write(project.beside("tool/tool.sh"), "echo broken >&2\nexit 3\n").unwrap();
        let told = report(call(&project, "t", &json!({})));
        assert_eq!(text(&told, "error"), "tool error: exit status 3: \"broken\"", "{told}");
        std::fs::write(project.beside("tool/tool.sh"), "sleep 60\n").unwrap();
        let told = report(call(&project, "t", &json!({})));
        assert_eq!(text(&told, "error"), "sandbox: timeout", "{told}");
        project.nothing_is_left("none");
    }
}

#[test]
fn what_a_killed_supervisor_left_of_a_tool_is_reaped_at_the_next_start() {
    let Some(project) = Project::new(Tier::Container) else { return };
    declare(&project, "");
    let marker = marker();
    std::fs::write(project.beside("tool/tool.sh"), format!("sleep {marker}\n")).unwrap();
    let mut child = call(&project, "t", &json!({})).spawn().unwrap();
    assert!(eventually(Duration::from_secs(60), || !marked(&marker).is_empty()), "never started");
    kill(child.id());
    child.wait().unwrap();
    assert!(eventually(Duration::from_secs(60), || marked(&marker).is_empty()), "it lives");
    assert_eq!(project.containers().len(), 1);
    // The policy itself is of another tier, and so is the next call.
    let told = report(call(&project, "Calc", &json!({"expression": "1 + 1"})));
    assert_eq!(told["result"], json!({"value": 2}), "{told}");
    project.nothing_is_left_but_scratch(&marker);
}
