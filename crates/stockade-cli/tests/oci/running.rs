//! Calls in containers and on gVisor that are started and not waited for at once.

use std::time::Duration;

use stockade::{OutputEvent, Policy, Running, Stockade, ToolCall};

use crate::support::{Project, Tier, eventually, marked, marker};

fn start(project: &Project, call: ToolCall) -> Running {
    let mut policy = Policy::from_file(&project.beside("policy.toml")).unwrap();
    if project.tier() == Tier::Gvisor {
        // The image of these tests is where only their command looks; this machine's programs will do.
        policy.oci.image = None;
    }
    let stockade = Stockade::open(&project.root(), policy, &project.beside("journal")).unwrap();
    stockade.start(call).map_err(|report| report.reason()).unwrap()
}

#[test]
fn output_comes_while_the_program_runs_and_input_reaches_it() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        let running = start(&project, ToolCall::exec(["cat"]).with_open_stdin());
        for word in ["one\n", "two\n"] {
            running.write_stdin(word.as_bytes()).unwrap();
            assert_eq!(running.next_event(), Some(OutputEvent::Stdout(word.into())));
        }
        running.close_stdin();
        assert_eq!(running.next_event(), None);
        let report = running.wait();
        assert!(report.ok(), "{:?}", report.reason());
        assert_eq!(report.outcome().unwrap().stdout.bytes, b"one\ntwo\n");
        project.nothing_is_left("none");
    }
}

#[test]
fn a_call_that_is_cancelled_or_dropped_ends_with_its_sandbox() {
    for tier in [Tier::Container, Tier::Gvisor] {
        for is_waited_for in [true, false] {
            let Some(project) = Project::new(tier) else { continue };
            let marker = marker();
            let running = start(&project, ToolCall::exec(["sleep", &marker]));
            let is_there = || tier == Tier::Gvisor || !marked(&marker).is_empty();
            assert!(eventually(Duration::from_secs(60), is_there), "never started");
            if is_waited_for {
                running.cancel();
                assert!(running.wait().is_cancelled());
            } else {
                drop(running);
            }
            project.nothing_is_left(&marker);
            let journal = std::fs::read_to_string(project.beside("journal")).unwrap();
            assert!(journal.lines().next_back().unwrap().contains("\"cancelled\""), "{journal}");
        }
    }
}
