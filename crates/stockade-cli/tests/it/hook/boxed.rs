//! What an agent runs in place of its line: in the box, and like the line itself.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{bash, decision, output, policy, sent};
use crate::support::{Project, Told};

/// The input that replaces that of a line.
#[track_caller]
fn rewritten(project: &Project, args: &[&str], line: &str) -> Value {
    output(&sent(project, args, &bash(project, line)))["updatedInput"].clone()
}

/// Runs a command as an agent would: by a shell of its own, in the folder of the session.
pub(super) fn run(project: &Project, command: &str) -> Told {
    let mut shell = Command::new("bash");
    let like = project.command(&[]);
    shell.args(["-c", command]).current_dir(project.path("")).env_clear();
    shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("SECRET", "s3cret").stdin(Stdio::null());
    Told::from(shell.output().unwrap())
}

#[track_caller]
fn boxed(project: &Project, args: &[&str], line: &str) -> Told {
    let input = rewritten(project, args, line);
    run(project, input["command"].as_str().unwrap())
}

#[test]
fn all_other_fields_stay() {
    let project = Project::new();
    let mut event = bash(&project, "ls");
    event["tool_input"] = json!({"command": "ls", "description": "d", "timeout": 7, "run_in_background": true, "dangerouslyDisableSandbox": false, "tomorrow": [1]});
    let input = output(&sent(&project, &["pre"], &event))["updatedInput"].clone();
    let mut expected = event["tool_input"].clone();
    expected["command"] = input["command"].clone();
    assert_eq!(input, expected);
    assert!(input["command"].as_str().unwrap().ends_with(" -- ls"));
}

#[test]
fn output_errors_and_exit_status_are_those_of_the_line() {
    let project = Project::new();
    let told = boxed(&project, &["pre"], "echo \"it's\"; echo 'e \"r\" $r' >&2; exit 7");
    assert_eq!(
        (told.code, told.stdout.as_str(), told.stderr.as_str()),
        (7, "it's\n", "e \"r\" $r\n")
    );
    let told = boxed(&project, &["pre", "--mode", "auto"], "no-such-program-here");
    assert_eq!(told.code, 127, "{told:?}");
    let told = boxed(&project, &["pre", "--mode", "auto"], "kill -TERM $$");
    assert_eq!(told.code, 143, "{told:?}");
}

#[test]
fn a_line_in_the_background_has_the_deadline_for_those_and_no_other() {
    let project = Project::new();
    let policy = project.beside("mine.toml");
    let args = ["pre", "--mode", "auto", "--policy", policy.to_str().unwrap()];
    let in_background = |limits: &str, line: &str| {
        std::fs::write(&policy, format!("[limits]\n{limits}\n")).unwrap();
        let mut event = bash(&project, line);
        event["tool_input"]["run_in_background"] = true.into();
        let input = output(&sent(&project, &args, &event))["updatedInput"].clone();
        run(&project, input["command"].as_str().unwrap())
    };
    let told = in_background("background_max = \"1s\"", "sleep 600");
    assert_eq!(told.code, 124, "{told:?}");
    let told = in_background("wall = \"1s\"\nwall_max = \"1s\"", "sleep 3; echo done");
    assert_eq!((told.code, told.stdout.as_str()), (0, "done\n"), "{told:?}");
    // The control: a line that is not in the background has these.
    let told = boxed(&project, &args, "sleep 600");
    assert_eq!(told.code, 124, "{told:?}");
}

#[test]
fn it_is_in_the_box() {
    let project = Project::new();
    std::fs::write(project.beside("home/private"), "key").unwrap();
    let look = format!("cat {}; echo \"[$SECRET]\"", project.beside("home/private").display());
    // The control: without the box both are there.
    let told = run(&project, &look);
    assert_eq!(told.stdout, "key[s3cret]\n");
    let told = boxed(&project, &["pre", "--mode", "bypass"], &look);
    assert_eq!(told.stdout, "[]\n", "{told:?}");
    let outside = format!("echo x > {}", project.beside("home/made").display());
    assert_eq!(run(&project, &outside).code, 0);
    std::fs::remove_file(project.beside("home/made")).unwrap();
    assert_ne!(boxed(&project, &["pre", "--mode", "bypass"], &outside).code, 0);
    assert!(!project.beside("home/made").exists());
}

#[test]
fn a_yes_in_the_agent_is_the_answer_and_lifts_no_refusal() {
    let project = Project::new();
    assert_eq!(decision(&project, &["pre"], &bash(&project, "touch made")), "ask");
    let told = boxed(&project, &["pre"], "touch made");
    assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
    assert!(project.path("made").exists());
    let shown = project.stockade(&["audit", "show", "--json"]);
    assert!(shown.stdout.contains("\"agent\""), "the answer is on record: {}", shown.stdout);
    // A rule that came in between is asked again when the line runs.
    let command = rewritten(&project, &["pre"], "touch other")["command"].clone();
    project.write("stockade.toml", "[rules]\ndeny = [\"Bash(touch *)\"]\n");
    let told = run(&project, command.as_str().unwrap());
    assert_eq!(told.code, 126, "{told:?}");
    assert!(told.stderr.contains("refused"), "{told:?}");
    assert!(!project.path("other").exists());
}

#[test]
fn what_was_allowed_without_a_question_runs_without_one() {
    let project = Project::new();
    let command = rewritten(&project, &["pre"], "ls")["command"].as_str().unwrap().to_owned();
    assert!(command.contains("--answered=none"));
    // With another line in its place there is a question, and nobody was asked.
    let forged = command.replace(" -- ls", " -- 'touch forged'");
    let told = run(&project, &forged);
    assert_eq!(told.code, 126, "{told:?}");
    assert!(!project.path("forged").exists());
}

#[test]
fn a_line_that_is_wrapped_already_is_judged_by_what_is_inside() {
    let project = Project::new();
    let path = policy(&project, "[rules]\ndeny = [\"Bash(curl *)\"]");
    let args = ["pre", "--policy", path.as_str()];
    let once = rewritten(&project, &args, "ls")["command"].as_str().unwrap().to_owned();
    assert_eq!(rewritten(&project, &args, &once)["command"], once.as_str(), "not twice");
    for forged in [
        once.replace(" -- ls", " -- 'curl x'"),
        "stockade shell --answered=yes --mode=bypass -- 'curl x'".to_owned(),
        format!("{} shell --tier=process -- 'curl x'", env!("CARGO_BIN_EXE_stockade")),
    ] {
        assert_eq!(decision(&project, &args, &bash(&project, &forged)), "deny", "{forged}");
    }
    let forged = "stockade shell --answered=yes --tier=process --mode=bypass -- 'touch x'";
    assert_eq!(decision(&project, &args, &bash(&project, forged)), "ask");
    let command = rewritten(&project, &args, forged)["command"].as_str().unwrap().to_owned();
    assert!(!command.contains("process") && !command.contains("bypass"), "{command}");
}

#[test]
fn it_runs_in_the_folder_of_the_event() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("sub dir")).unwrap();
    project.write("stockade.toml", "");
    let mut event = bash(&project, "pwd");
    event["cwd"] = json!(project.path("sub dir"));
    let input = output(&sent(&project, &["pre"], &event))["updatedInput"].clone();
    let told = run(&project, input["command"].as_str().unwrap());
    assert!(told.stdout.trim_end().ends_with("/work/sub dir"), "{told:?}");
}
