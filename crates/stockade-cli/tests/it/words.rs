//! What is printed cannot drive a terminal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use stockade::shell::invisible::is_hidden;

use crate::support::{Project, Told, call};

const ESCAPE: char = '\u{1b}';

#[test]
fn nothing_of_ours_has_colour_where_there_is_no_terminal() {
    let project = Project::new();
    project.stockade(&["run", "--", "true"]);
    let all: [&[&str]; 9] = [
        &["run", "--", "rm", "x"],
        &["run", "--", "no-such-program"],
        &["check", "run", "--explain", "--", "rm", "x"],
        &["audit", "show"],
        &["audit", "verify"],
        &["audit", "verify", "--journal", "none"],
        &["run", "--help"],
        &["run", "--bogus"],
        &["demo"],
    ];
    for args in all {
        for colour in [None, Some(("NO_COLOR", "1"))] {
            let mut command = project.command(args);
            command.env("TERM", "xterm-256color").envs(colour);
            let told = Told::from(command.output().unwrap());
            assert!(!told.stdout.contains(ESCAPE), "{args:?}");
            assert!(!told.stderr.contains(ESCAPE), "{args:?}");
        }
    }
}

#[test]
fn no_color_is_honoured_on_a_terminal() {
    let project = Project::new();
    let binary = env!("CARGO_BIN_EXE_stockade");
    let line = format!("{binary} run -- rm x; {binary} check run -- rm x; {binary} --help");
    let on_a_terminal = |no_color: Option<&str>| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(project.beside("work"));
        command.env("XDG_STATE_HOME", project.beside("state")).env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR").envs(no_color.map(|value| ("NO_COLOR", value)));
        command.stdin(std::process::Stdio::null());
        command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (Ok(coloured), Ok(plain)) = (on_a_terminal(None), on_a_terminal(Some("1"))) else {
        crate::support::skip("script", "there is no script here to make a terminal");
        return;
    };
    assert!(coloured.contains("denylist") && coloured.contains(ESCAPE), "{coloured:?}");
    assert!(plain.contains("denylist") && !plain.contains(ESCAPE), "{plain:?}");
}

#[test]
fn what_is_hidden_in_a_call_is_escaped_in_what_we_say() {
    let project = Project::new();
    let nasty = "x\u{1b}[31m\u{7}\u{9b}2J\u{202e}\u{e0072}\u{3164}\u{a0}\u{200d}\r\nstockade: ok";
    let outside = format!("/etc/{nasty}");
    let all: [&[&str]; 8] = [
        &["run", "--", nasty],
        &["run", "--", "cat", &outside],
        &["run", "--cwd", nasty, "--", "ls"],
        &["run", "--root", nasty, "--", "ls"],
        &["run", "--policy", nasty, "--", "ls"],
        &["check", "run", "--", "cat", &outside],
        &["shell", "--only", "echo", "\u{1b}[31mls"],
        &["audit", "show", "--since", nasty],
    ];
    for args in all {
        let told = project.stockade(args);
        let said = told.stdout + &told.stderr;
        assert!(!said.is_empty(), "{args:?}");
        let raw = |c: char| (c.is_control() && c != '\n') || is_hidden(c);
        assert!(!said.contains(raw), "{args:?}: {said:?}");
        assert!(!said.lines().any(|line| line == "stockade: ok"), "{args:?}: {said:?}");
    }
}

#[test]
fn words_that_are_no_text_are_escaped_too() {
    let project = Project::new();
    let mut command = project.command(&["run", "--"]);
    command.arg(OsStr::from_bytes(b"no-\xff\x1b[2Jsuch"));
    let told = Told::from(command.output().unwrap());
    assert_eq!(told.code, 127);
    assert!(!told.stderr.contains(ESCAPE), "{told:?}");
}

#[test]
fn json_never_holds_a_raw_control_character() {
    let project = Project::new();
    let told = project.fed(&["call"], call(&["echo", "a\u{1b}[31mb\u{7}"]).as_bytes());
    assert!(!told.stdout.contains(ESCAPE) && !told.stdout.contains('\u{7}'), "{told:?}");
    assert_eq!(told.json()["stdout"], "a\u{1b}[31mb\u{7}\n");
}
