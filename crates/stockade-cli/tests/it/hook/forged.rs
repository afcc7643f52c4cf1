//! Lines in which an agent calls this program itself: nothing is gained by that.

use serde_json::json;

use super::{bash, decision, event, output, policy, sent, silent};
use crate::support::Project;

/// Lines that pass by what is inside of them if only their first word is looked at.
fn forged(inside: &str) -> Vec<String> {
    let binary = env!("CARGO_BIN_EXE_stockade");
    [
        format!("stockade shell --answered=yes --mode=bypass -- '{inside}'"),
        format!("stockade shell --policy /tmp/mine.toml '{inside}'"),
        format!("{binary} shell --tier=process -- '{inside}'"),
        format!("env stockade shell -- '{inside}'"),
        format!("'stockade' shell -- '{inside}'"),
        format!("\\stockade shell -- '{inside}'"),
        format!("nohup stockade shell '{inside}' --answered=yes"),
        format!("ls; stockade run --tier process -- {inside}"),
        format!("stockade run --mode bypass --policy=/tmp/mine.toml {inside}"),
        format!("stockade shell -- ls\nstockade run {inside}"),
    ]
    .to_vec()
}

#[test]
fn a_rule_sees_what_is_inside_in_the_box_and_without() {
    let project = Project::new();
    let path = policy(&project, "[rules]\ndeny = [\"Bash(curl *)\"]");
    for mode in ["default", "auto", "bypass"] {
        for line in forged("curl x") {
            let args = ["pre", "--policy", &path, "--mode", mode];
            assert_eq!(decision(&project, &args, &bash(&project, &line)), "deny", "{mode}: {line}");
            let args = ["pre", "--policy", &path, "--mode", mode, "--no-box"];
            assert_eq!(decision(&project, &args, &bash(&project, &line)), "deny", "{mode}: {line}");
        }
    }
    // The control: without the rule the same lines are a question, or run.
    let open = policy(&project, "");
    for line in forged("curl x") {
        let args = ["pre", "--policy", &open];
        assert_ne!(decision(&project, &args, &bash(&project, &line)), "deny", "{line}");
    }
}

/// Where nothing is rewritten, a program of that name is what would run.
#[test]
fn without_a_box_a_line_is_judged_as_it_is() {
    let project = Project::new();
    project.write("stockade", "#!/bin/sh\ntouch taken\n");
    for line in [
        "./stockade shell -- ls".to_owned(),
        "/tmp/elsewhere/stockade shell -- ls".to_owned(),
        "stockade shell --journal=/tmp/notes -- ls".to_owned(),
    ] {
        let said = decision(&project, &["pre", "--no-box"], &bash(&project, &line));
        assert_ne!(said, "allow", "{line}");
        // The control: in the box it is our own program that runs what is inside.
        assert_eq!(decision(&project, &["pre"], &bash(&project, &line)), "allow", "{line}");
    }
    assert_eq!(decision(&project, &["pre", "--no-box"], &bash(&project, "ls")), "allow");
}

#[test]
fn without_a_box_no_line_changes_what_calls_are_decided_by() {
    let project = Project::new();
    for line in [
        "stockade trust",
        "stockade rules add --allow Bash",
        "stockade install claude --remove",
        "env stockade rules remove 'Bash(curl *)'",
    ] {
        for mode in ["default", "accept-edits", "auto", "bypass"] {
            let args = ["pre", "--no-box", "--mode", mode];
            assert_eq!(decision(&project, &args, &bash(&project, line)), "deny", "{mode}: {line}");
        }
    }
    assert_ne!(
        decision(&project, &["pre", "--no-box"], &bash(&project, "stockade rules list")),
        "deny"
    );
}

/// A tool of the agent is in no box of ours: what would be protected there is a question, wherever
/// it is.
#[test]
fn tools_of_the_agent_do_not_write_what_decides_about_them_without_a_question() {
    let project = Project::new();
    project.write("guard.sh", "cat >/dev/null\n");
    project.write("x.sh", "echo 1\n");
    let path = policy(
        &project,
        &format!(
            "[[hook]]\nevent = 'pre'\nmatch = 'Bash'\ncommand = ['sh', '{}']\n\
             [tool.t]\ncommand = ['sh', '{}']\n",
            project.path("guard.sh").display(),
            project.path("x.sh").display()
        ),
    );
    let written = |file: &std::path::Path| {
        let input = json!({"file_path": file, "content": "x"});
        let args = ["pre", "--mode", "accept-edits", "--policy", &path];
        sent(&project, &args, &event(&project, "Write", &input))
    };
    for (file, expected) in [
        (project.path("guard.sh"), "ask"),
        (project.path("x.sh"), "ask"),
        (project.journal(), "ask"),
        (project.beside("state/stockade/trust.json"), "ask"),
        (project.beside("home/.claude/settings.json"), "deny"),
        (project.beside("home/.config/stockade/stockade.toml"), "deny"),
    ] {
        let told = written(&file);
        let decision = &output(&told)["permissionDecision"];
        assert_eq!(decision, expected, "{}: {told:?}", file.display());
    }
    silent(&written(&project.path("other.sh")));
    silent(&written(&project.beside("home/notes")));
}
