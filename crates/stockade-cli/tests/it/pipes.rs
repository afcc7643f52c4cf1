//! Readers that go away and disks that are full: never a panic.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::support::{Project, Told, call};

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

const COMMANDS: [&[&str]; 9] = [
    &["run", "--", "seq", "10000"],
    &["run", "--json", "--", "seq", "10000"],
    &["call", "calls"],
    &["check", "run", "--explain", "--", "ls"],
    &["audit", "show"],
    &["demo", "--json"],
    &["man"],
    &["completions", "bash"],
    &["run", "--help"],
];

fn project() -> Project {
    let project = Project::new();
    project.write("calls", &call(&["echo", "x"]).repeat(50));
    project.stockade(&["run", "--", "true"]);
    project
}

#[test]
fn a_reader_that_leaves_after_the_first_line_is_no_error_worth_a_word() {
    let project = project();
    for args in COMMANDS {
        let mut child = project.command(args).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().is_ok());
        drop(lines);
        let told = Told::from(child.wait_with_output().unwrap());
        // 141 is that of SIGPIPE, for output that is passed on as it comes.
        assert!([0, 125, 141].contains(&told.code), "{args:?}: {told:?}");
        assert_eq!(told.stderr, "", "{args:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_that_says_so() {
    let project = project();
    for args in COMMANDS {
        let output = project.command(args).stdout(full()).output().unwrap();
        let told = Told::from(output);
        assert_eq!(told.code, 125, "{args:?}: {told:?}");
        let says = told.stderr.contains(message!("print.write-standard-output"));
        assert!(says || args.contains(&"--help"), "{args:?}: {told:?}");
    }
}

#[test]
fn a_complaint_that_cannot_be_written_changes_no_status() {
    let project = project();
    let cases: [(&[&str], i32); 7] = [
        (&["run", "--", "rm", "x"], 126),
        (&["run", "--", "no-such-program"], 127),
        (&["run", "--timeout", "0.2", "--", "sleep", "60"], 124),
        (&["run", "--policy", "none.toml", "--", "true"], 125),
        (&["run", "--bogus"], 125),
        (&["audit", "verify", "--journal", "none"], 1),
        (&["call", "none"], 125),
    ];
    for (args, code) in cases {
        let told = Told::from(project.command(args).stderr(full()).output().unwrap());
        assert_eq!(told.code, code, "{args:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let told = Told::from(project.command(args).stderr(writer).output().unwrap());
        assert_eq!(told.code, code, "{args:?}");
    }
}

#[test]
fn closed_streams_are_no_reason_to_fail_in_odd_ways() {
    let project = project();
    project.script("closed.sh", "exec \"$@\" <&- >&- 2>&-\n");
    let script = project.path("closed.sh");
    let run = |args: &[&str]| {
        let binary = env!("CARGO_BIN_EXE_stockade");
        let mut command = std::process::Command::new("sh");
        command.arg(&script).arg(binary).args(args).current_dir(project.beside("work"));
        command.env("XDG_STATE_HOME", project.beside("state")).stdin(Stdio::null());
        command.status().unwrap().code()
    };
    assert_eq!(run(&["run", "--", "true"]), Some(0));
    assert_eq!(run(&["run", "--", "rm", "x"]), Some(126));
    assert_eq!(run(&["run", "--", "touch", "made"]), Some(0));
    assert!(project.path("made").exists());
}
