//! Engines that are missing, lack the image or die: each a clear failure, and nothing is left.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use stockade::gate::{Examiner, Gate, Verdict};
use stockade::inspect::Root;
use stockade::journal::{Durability, Journal};
use stockade::launch;
use stockade::plan::Plan;
use stockade::{Policy, ToolCall};

use crate::support::{
    Project, Tier, eventually, kill, marked, marker, processes_with, report, text,
};

#[test]
fn without_its_program_a_tier_says_what_it_would_have_run() {
    for (tier, command, install) in [
        (Tier::Container, "podman create --name stockade-", message!("engine.install-one-apt-get")),
        (Tier::Gvisor, "runsc --root=", message!("gvisor.install-gvisor-apt-get")),
    ] {
        let Some(project) = Project::new(tier) else { continue };
        let args = project.run_args(&[], &["true"]);
        let mut bare = project.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        bare.env("PATH", project.beside("tmp"));
        let report = report(bare);
        let failure = &report["failure"];
        assert!(text(failure, "message").contains(command), "{report}");
        assert!(text(failure, "remedy").contains(install), "{report}");
        assert_eq!(report["exit_code"], Value::Null);
        project.nothing_is_left("none");
    }
}

#[test]
fn an_image_that_is_not_there_is_a_failure_with_the_remedy() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        let report = project.run_with(&["--image", "localhost/not-there"], &["true"]);
        let failure = &report["failure"];
        assert_eq!(failure["kind"], "find-image", "{report}");
        let remedy = message!("image.stockade-image-import-dir", "localhost/not-there");
        assert!(text(failure, "remedy").contains(remedy), "{report}");
        project.nothing_is_left("none");
    }
}

/// Starts a call that does not end, has something killed, and gives the report.
fn killed(project: &Project, words: &[&str]) -> (Value, String) {
    let marker = marker();
    let child = project.spawn(&["sleep", &marker]);
    let is_up = || !marked(&marker).is_empty() || !processes_with(&["runsc-sandbox"]).is_empty();
    assert!(eventually(Duration::from_secs(30), is_up), "never started");
    std::thread::sleep(Duration::from_millis(500));
    let root = project.runtime();
    let words: Vec<&str> = words
        .iter()
        .map(|word| if *word == "TMP" { root.to_str().unwrap() } else { word })
        .collect();
    let victims = processes_with(&words);
    assert!(!victims.is_empty(), "nothing like {words:?}");
    victims.into_iter().for_each(kill);
    let output = child.wait_with_output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    assert!(report.is_ok(), "{output:?}");
    (report.unwrap(), marker)
}

#[test]
fn an_engine_that_dies_while_the_program_runs_is_a_failure() {
    let Some(project) = Project::new(Tier::Container) else { return };
    // Its name is in the label, which no other test has.
    let marker = marker();
    let child = project.spawn(&["sleep", &marker]);
    assert!(eventually(Duration::from_secs(30), || !marked(&marker).is_empty()), "never started");
    let id = project.containers().into_iter().next().unwrap();
    let name = crate::support::podman(&["container", "inspect", "--format", "{{.Name}}", &id]);
    let name = String::from_utf8(name.stdout).unwrap();
    let clients = processes_with(&["start", "--attach", name.trim()]);
    assert!(!clients.is_empty(), "{name}");
    clients.into_iter().for_each(kill);
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = text(&report["failure"], "message");
    assert!(
        message.contains(message!("ended.killed-signal", "9")) && message.contains("removed"),
        "{report}"
    );
    assert!(report["failure"]["remedy"].is_string(), "{report}");
    project.nothing_is_left(&marker);
}

#[test]
fn a_runsc_that_dies_while_the_program_runs_is_a_failure() {
    let Some(project) = Project::new(Tier::Gvisor) else { return };
    let (report, marker) = killed(&project, &["runsc", "--root=", "TMP", "run", "--bundle="]);
    let message = text(&report["failure"], "message");
    assert!(message.contains(message!("ended.runsc-ended-before-program")), "{report}");
    project.nothing_is_left(&marker);
}

#[test]
fn what_a_killed_supervisor_left_is_reaped_at_the_next_start_and_no_other() {
    let Some(project) = Project::new(Tier::Container) else { return };
    let other = Project::new(Tier::Container).unwrap();
    let (marker, lives) = (marker(), marker());
    let mut child = project.spawn(&["sleep", &marker]);
    let mut alive = other.spawn(&["sleep", &lives]);
    let both = || !marked(&marker).is_empty() && !marked(&lives).is_empty();
    assert!(eventually(Duration::from_secs(60), both), "never started");
    kill(child.id());
    child.wait().unwrap();
    // The shim ends the processes; the engine still has the container.
    assert!(eventually(Duration::from_secs(60), || marked(&marker).is_empty()), "it lives");
    assert_eq!(project.containers().len(), 1);
    let third = Project::new(Tier::Container).unwrap();
    assert_eq!(third.run(&["true"])["exit_code"], 0);
    assert_eq!((project.containers().len(), other.containers().len()), (0, 1));
    assert!(!marked(&lives).is_empty(), "a living supervisor lost its container");
    alive.kill().unwrap();
    alive.wait().unwrap();
    assert_eq!(third.run(&["true"])["exit_code"], 0);
    other.nothing_is_left_but_scratch(&lives);
}

#[test]
fn a_run_that_is_dropped_is_killed_and_removed() {
    let Some(project) = Project::new(Tier::Container) else { return };
    let marker = marker();
    let policy = Policy::from_file(&project.beside("policy.toml")).unwrap();
    let journal = Journal::open(&project.beside("journal"), Durability::default()).unwrap();
    let gate = Gate::new(Examiner::new(Root::open(&project.root()).unwrap(), policy), journal);
    let permit = match gate.judge(&ToolCall::exec(["sleep", &marker])) {
        Verdict::Allowed(permit) => Some(*permit),
        Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
    };
    let plan = Plan::new(permit.unwrap(), launch::probe()).unwrap();
    let running = launch::start(plan, &launch::WarmState::cold()).unwrap();
    assert!(eventually(Duration::from_secs(30), || !marked(&marker).is_empty()), "never started");
    assert_eq!(project.containers().len(), 1);
    drop(running);
    project.nothing_is_left(&marker);
}

#[test]
fn a_program_of_the_project_that_was_replaced_after_the_verdict_does_not_run() {
    let Some(project) = Project::new(Tier::Container) else { return };
    project.write("tool.sh", "#!/bin/sh\necho judged\n");
    let path = project.root().join("tool.sh");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let policy = Policy::from_file(&project.beside("policy.toml")).unwrap();
    let journal = Journal::open(&project.beside("journal"), Durability::default()).unwrap();
    let gate = Gate::new(Examiner::new(Root::open(&project.root()).unwrap(), policy), journal);
    let permit = match gate.judge(&ToolCall::exec(["./tool.sh"])) {
        Verdict::Allowed(permit) => Some(*permit),
        Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
    };
    let plan = Plan::new(permit.unwrap(), launch::probe()).unwrap();
    fs::rename(&path, project.root().join("aside")).unwrap();
    project.write("tool.sh", "#!/bin/sh\necho another\n");
    let failure = launch::start(plan, &launch::WarmState::cold()).unwrap_err();
    assert!(failure.message().contains("judged"), "{failure:?}");
    project.nothing_is_left("none");
}
