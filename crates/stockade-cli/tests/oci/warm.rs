//! Containers that many calls share: how long they live, and what ends them.

use std::time::Duration;

use serde_json::Value;
use stockade::{Policy, Stockade, ToolCall};

use crate::support::{Project, Tier, eventually, marked, marker, text};

const VISIT: &str = "cat /tmp/visits 2>/dev/null\necho x >> /tmp/visits\n";

fn project(more: &str) -> Option<(Project, Stockade)> {
    let project = Project::new(Tier::Container)?;
    project.policy(&format!("warm = 3\n{more}"));
    project.write("visit.sh", VISIT);
    let stockade = open(&project);
    Some((project, stockade))
}

fn open(project: &Project) -> Stockade {
    let policy = Policy::from_file(&project.beside("policy.toml")).unwrap();
    Stockade::open(&project.root(), policy, &project.beside("journal")).unwrap()
}

fn run(stockade: &Stockade, argv: &[&str]) -> Value {
    serde_json::to_value(stockade.run(ToolCall::exec(argv.iter().copied()))).unwrap()
}

/// How many calls have been in the container before.
fn visits(stockade: &Stockade) -> usize {
    let report = run(stockade, &["sh", "visit.sh"]);
    assert_eq!(report["exit_code"], 0, "{report}");
    text(&report, "stdout").lines().count()
}

#[test]
fn calls_share_a_container_until_it_is_replaced() {
    let Some((project, stockade)) = project("") else { return };
    let seen: Vec<usize> = (0..5).map(|_| visits(&stockade)).collect();
    assert_eq!(seen, [0, 1, 2, 0, 1]);
    assert_eq!(project.containers().len(), 1);
    drop(stockade);
    project.nothing_is_left("none");
}

#[test]
fn a_call_that_leaves_a_process_ends_its_container() {
    let Some((project, stockade)) = project("") else { return };
    let marker = marker();
    project.write("leave.sh", &format!("sleep {marker} >/dev/null 2>&1 </dev/null &\nexit 3\n"));
    assert_eq!(visits(&stockade), 0);
    let report = run(&stockade, &["sh", "leave.sh"]);
    assert_eq!(report["exit_code"], 3, "{report}");
    assert!(eventually(Duration::from_secs(60), || marked(&marker).is_empty()));
    assert_eq!(visits(&stockade), 0, "the container was used again");
    drop(stockade);
    project.nothing_is_left(&marker);
}

#[test]
fn a_limit_ends_the_container_and_not_the_next_call() {
    let Some((project, stockade)) = project("[limits]\nwall = \"4s\"") else { return };
    assert_eq!(visits(&stockade), 0);
    let marker = marker();
    let report = run(&stockade, &["sleep", &marker]);
    assert_eq!(report["limit"], "wall", "{report}");
    assert!(eventually(Duration::from_secs(60), || marked(&marker).is_empty()));
    assert_eq!(visits(&stockade), 0);
    drop(stockade);
    project.nothing_is_left(&marker);
}

#[test]
fn two_policies_never_share_a_container() {
    let Some((project, first)) = project("") else { return };
    assert_eq!(visits(&first), 0);
    project.policy("warm = 3\nenv = [\"A=b\"]");
    let second = open(&project);
    assert_eq!((visits(&second), visits(&first)), (0, 1));
    assert_eq!(project.containers().len(), 2);
    drop((first, second));
    project.nothing_is_left("none");
}

#[test]
fn what_is_hidden_since_is_hidden_in_the_next_call() {
    let Some((project, stockade)) = project("hide = [\".env\"]") else { return };
    assert_eq!(visits(&stockade), 0);
    project.write(".env", "KEY=made later\n");
    let report = run(&stockade, &["cat", ".env"]);
    assert_eq!(text(&report, "stdout"), "", "{report}");
    drop(stockade);
    project.nothing_is_left("none");
}
