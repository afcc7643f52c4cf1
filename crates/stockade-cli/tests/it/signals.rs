//! Signals to the command line end the tree.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Project, eventually, marked, marker};

#[test]
fn whatever_ends_the_command_line_ends_the_tree() {
    let project = Project::new();
    let script = "trap '' INT TERM HUP\nsleep $1 &\nsetsid sleep $1 &\n(nohup setsid sleep $1 >/dev/null 2>&1 &)\nsleep $1\n";
    project.script("many.sh", script);
    for signal in ["INT", "TERM", "HUP", "QUIT", "KILL"] {
        let marker = marker();
        let run = project.command(&["run", "--", "sh", "many.sh", &marker]);
        let mut child = heeding_signals(&run).spawn().unwrap();
        assert!(eventually(Duration::from_secs(30), || marked(&marker) >= 5), "never started");
        let pid = child.id().to_string();
        assert!(
            Command::new("sh")
                .args(["-c", "kill -$0 $1", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let gone = eventually(Duration::from_secs(60), || marked(&marker) == 0);
        assert!(gone, "SIG{signal} left {} processes", marked(&marker));
        assert!(!child.wait().unwrap().success());
    }
    // The scratch folders of those five go with the next start.
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
    assert_eq!(project.scratch_folders(), Vec::<String>::new());
}

/// The same command with no signal ignored: one that a shell starts in the background ignores some, and
/// hands that on.
fn heeding_signals(command: &Command) -> Command {
    let mut heeding = Command::new("env");
    heeding.args(["-i", "--default-signal"]);
    for (name, value) in command.get_envs() {
        let mut assignment = name.to_owned();
        assignment.push("=");
        assignment.push(value.unwrap());
        heeding.arg(assignment);
    }
    heeding.arg(command.get_program()).args(command.get_args());
    heeding.current_dir(command.get_current_dir().unwrap());
    heeding.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    heeding
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
    assert!(eventually(Duration::from_secs(60), || marked(&marker) == 0));
}

#[test]
fn a_shim_that_somebody_kills_is_named() {
    let project = Project::new();
    let marker = marker();
    let child = project.command(&["run", "--", "sleep", &marker]).spawn().unwrap();
    assert!(eventually(Duration::from_secs(30), || marked(&marker) == 1), "never started");
    let line = "for p in /proc/[0-9]*; do
        case \"$(tr '\\0' ' ' < $p/cmdline)\" in \"sleep $0 \") awk '{print $4}' $p/stat;; esac
    done 2>/dev/null | xargs kill -9";
    assert!(Command::new("sh").args(["-c", line, &marker]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains(message!("left.shim-tree-killed")), "{stderr}");
    assert_eq!(marked(&marker), 0);
}
