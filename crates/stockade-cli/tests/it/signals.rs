//! Signals to the command line end the tree.

use std::process::Command;
use std::time::Duration;

use crate::support::{Project, eventually, marked, marker};

#[test]
fn whatever_ends_the_command_line_ends_the_tree() {
    let project = Project::new();
    let script = "trap '' INT TERM HUP\nsleep $1 &\nsetsid sleep $1 &\n(nohup setsid sleep $1 >/dev/null 2>&1 &)\nsleep $1\n";
    project.script("many.sh", script);
    for signal in ["INT", "TERM", "HUP", "QUIT", "KILL"] {
        let marker = marker();
        let mut child = project.command(&["run", "--", "sh", "many.sh", &marker]).spawn().unwrap();
        assert!(eventually(Duration::from_secs(30), || marked(&marker) >= 5), "never started");
        let pid = child.id().to_string();
        assert!(
            Command::new("sh")
                .args(["-c", "kill -$0 $1", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let gone = eventually(Duration::from_secs(2), || marked(&marker) == 0);
        assert!(gone, "SIG{signal} left {} processes", marked(&marker));
        assert!(!child.wait().unwrap().success());
    }
    // The scratch folders of those five go with the next start.
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
    assert_eq!(project.scratch_folders(), Vec::<String>::new());
}

#[test]
fn calls_in_flight_end_with_it_too() {
    let project = Project::new();
    let marker = marker();
    project.write("calls", &crate::support::call(&["sleep", &marker]).repeat(4));
    let mut child = project.command(&["call", "--jobs", "4", "calls"]).spawn().unwrap();
    assert!(eventually(Duration::from_secs(30), || marked(&marker) == 4), "never started");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(eventually(Duration::from_secs(2), || marked(&marker) == 0));
}
