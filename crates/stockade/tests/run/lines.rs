//! Shell lines: bash runs them in the box, as they were judged.

use std::fs;
use std::path::Path;
use std::process::Command;

use stockade::policy::Mode;
use stockade::tier::Tier;
use stockade::{Policy, ToolCall};

use crate::jail::project;
use crate::support::{Project, has, policy, skip, text};

/// A project and what a line says there; `None` where there is no bash to run it.
fn said(project: &Project, line: &str) -> Option<serde_json::Value> {
    if !has("bash") {
        skip("bash", "no bash on this machine");
        return None;
    }
    Some(project.run_with(Policy::shipped(), ToolCall::line(line)))
}

#[test]
fn pipes_loops_functions_and_substitutions_work() {
    let Some(project) = project() else { return };
    let line = "f() { echo \"$1-$2\"; }\nfor i in 1 2; do f \"$i\" $(printf %s b); done | sort -r; \
                [[ ab == a* ]] && echo $((2 + 3)) | tr 5 V";
    let Some(report) = said(&project, line) else { return };
    assert_eq!(text(&report, "stdout"), "2-b\n1-b\nV\n", "{report}");
    assert_eq!((&report["tool"], &report["tier"]), (&"Bash".into(), &"jail".into()));
}

#[test]
fn a_here_document_writes_a_file_of_the_project() {
    let Some(project) = project() else { return };
    let line = "cat > made.txt <<EOF\nin $(basename \"$PWD\")\nEOF\nwc -l < made.txt";
    let Some(report) = said(&project, line) else { return };
    assert_eq!(text(&report, "stdout").trim(), "1", "{report}");
    assert!(project.root().join("made.txt").exists());
}

#[test]
fn the_exit_code_is_the_lines() {
    let Some(project) = project() else { return };
    let Some(report) = said(&project, "true; (exit 7)") else { return };
    assert_eq!((&report["exit_code"], &report["ok"]), (&7.into(), &false.into()), "{report}");
}

#[test]
fn what_is_started_in_the_background_ends_with_the_line() {
    let Some(project) = project() else { return };
    let Some(report) = said(&project, "sleep 600 & echo started") else { return };
    assert_eq!(text(&report, "stdout"), "started\n", "{report}");
}

#[test]
fn no_file_of_a_person_is_read_before_the_line() {
    let Some(project) = project() else { return };
    fs::write(project.root().join(".bashrc"), "echo from the rc file\n").unwrap();
    let Some(report) = said(&project, "echo line") else { return };
    assert_eq!(text(&report, "stdout"), "line\n", "{report}");
}

#[test]
fn a_line_that_cannot_be_read_is_refused_with_its_place() {
    let Some(project) = project() else { return };
    let Some(report) = said(&project, "echo 'open") else { return };
    assert_eq!((&report["denied"], &report["exit_code"]), (&true.into(), &(-100).into()));
    assert_eq!(report["rule"], "shell/syntax", "{report}");
}

#[test]
fn what_nobody_takes_back_needs_a_person() {
    let Some(project) = project() else { return };
    for (line, rule) in [
        ("rm -rf /", "delete-root"),
        ("rm -rf ~", "delete-root"),
        ("rm -rf \"$PWD\"", "destroy-project"),
        ("rm -rf \"$UNSET\"/*", "delete-wide"),
        ("cd /; rm -rf *", "delete-root"),
        ("ls -A | xargs rm -rf", "destroy-project"),
    ] {
        let Some(report) = said(&project, line) else { return };
        assert_eq!(report["rule"], format!("Finding({rule})"), "{line}: {report}");
        assert_eq!(
            report["source"],
            message!("rules.shipped-policy-rule", rule),
            "{line}: {report}"
        );
        assert_eq!(report["denied"], true, "{line}: {report}");
    }
    assert!(project.root().exists());
}

#[test]
fn without_a_box_what_is_not_known_is_refused() {
    let project = Project::new();
    if !has("bash") {
        skip("bash", "no bash on this machine");
        return;
    }
    let process = || policy(|policy| policy.tier = Tier::Process);
    for (line, rule) in [
        ("$x y", Some("shell/dynamic")),
        ("rm -f nothing", Some("name/denylist")),
        ("LD_PRELOAD=./x ls", Some("environment/variable")),
        ("echo x > /etc/x", Some("path/outside")),
        ("ls | head -n 1", None),
    ] {
        let report = project.run_with(process(), ToolCall::line(line));
        assert_eq!(report["rule"].as_str(), rule, "{line}: {report}");
    }
}

#[test]
fn a_line_longer_than_the_kernel_takes_is_refused() {
    let Some(project) = project() else { return };
    let line = format!("echo {}", "a".repeat(200_000));
    let Some(report) = said(&project, &line) else { return };
    assert_eq!(report["denied"], true);
    assert!(text(&report, "reason").contains("131071"), "{report}");
}

/// A program that the configuration of the repository names runs within `git status`, which counts as
/// a command that changes nothing.
#[test]
fn a_line_that_runs_because_it_changes_nothing_gets_no_folder_to_write() {
    let Some(project) = project().filter(|_| has("bash") && has("git")) else { return };
    let setup = "git init -q . && git config core.fsmonitor 'echo x > pwned; false'";
    let status = Command::new("sh").args(["-ec", setup]).current_dir(project.root()).status();
    assert!(status.unwrap().success());
    let pwned = project.path("pwned");
    for mode in [Mode::Plan, Mode::Default, Mode::AcceptEdits, Mode::DontAsk] {
        let report = project.run_with(in_mode(mode), ToolCall::line("git status"));
        assert_eq!(report["exit_code"], 0, "{report}");
        assert!(!pwned.exists(), "{mode}: {report}");
    }
    // The attack works where the decision rests on the box, and where a person's rule allows it.
    let report = project.run_with(in_mode(Mode::Auto), ToolCall::line("git status"));
    assert!(pwned.exists(), "{report}");
    fs::remove_file(&pwned).unwrap();
    let text = "mode = 'plan'\n[rules]\nallow = ['Bash(git status)']\n";
    let policy = Policy::from_text(Path::new("rule.toml"), text).unwrap();
    let report = project.run_with(policy, ToolCall::line("git status"));
    assert!(pwned.exists(), "{report}");
}

/// Bash runs the command in the subscript, so that the line cannot be shown to change nothing.
#[test]
fn a_line_that_evaluates_data_does_not_run_unasked_in_plan_mode() {
    let Some(project) = project().filter(|_| has("bash")) else { return };
    fs::write(project.path("data"), "a[$(touch pwned)]\n").unwrap();
    let lines = [
        "x='a[$(touch pwned)]'; echo $((x))",
        "read OPTIND < data",
        "for RANDOM in \"$(cat data)\"; do :; done",
        "declare -i n; read n < data",
        "mapfile OPTIND < data",
        "n=$(cat data); [[ n -eq 1 ]]",
    ];
    for line in lines {
        let report = project.run_with(in_mode(Mode::Plan), ToolCall::line(line));
        assert!(!project.path("pwned").exists(), "{line}: {report}");
        // It does write the file where the box contains it.
        let report = project.run_with(in_mode(Mode::Auto), ToolCall::line(line));
        assert!(project.path("pwned").exists(), "{line}: {report}");
        fs::remove_file(project.path("pwned")).unwrap();
    }
}

fn in_mode(mode: Mode) -> Policy {
    Policy { mode, ..Policy::shipped() }
}
