//! Output as it comes, input as it comes, one pipe for both outputs, and signals that end a run.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Project, Told, eventually};

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn last_outcome(project: &Project) -> Value {
    let journal = std::fs::read_to_string(project.journal()).unwrap();
    let last = journal.lines().last().unwrap();
    serde_json::from_str(last).unwrap()
}

#[test]
fn output_is_there_while_the_program_runs_and_input_reaches_it() {
    let project = Project::new();
    // It prints only what it was given, and ends only when it was given all.
    let mut command =
        project.command(&["shell", "while read -r word; do echo \"got $word\"; done"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for word in ["one", "two"] {
        writeln!(stdin, "{word}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("got {word}\n"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn all_output_is_passed_on_however_much_a_report_keeps() {
    let project = Project::new();
    let told = project.stockade(&["shell", "seq 200000"]);
    assert_eq!(told.stdout.lines().count(), 200_000, "{}", told.stderr);
    let report = project.stockade(&["shell", "--json", "seq 200000"]).json();
    assert_eq!(report["truncated"], true);
}

#[test]
fn two_outputs_that_are_one_file_keep_their_order() {
    let project = Project::new();
    let line = "for i in $(seq 500); do echo o$i; echo e$i >&2; done";
    let path = project.beside("both");
    let file = File::create(&path).unwrap();
    let mut command = project.command(&["shell", line]);
    command.stdout(file.try_clone().unwrap()).stderr(file);
    assert!(command.status().unwrap().success());
    let both = std::fs::read_to_string(&path).unwrap();
    let all = |letters: &[&str]| {
        let numbered = |i: u32| letters.iter().map(move |letter| format!("{letter}{i}"));
        (1..=500).flat_map(numbered).collect::<Vec<_>>()
    };
    assert_eq!(both.lines().collect::<Vec<_>>(), all(&["o", "e"]));
    // The other half: apart, each has its own.
    let told = project.stockade(&["shell", line]);
    assert_eq!(told.stdout.lines().collect::<Vec<_>>(), all(&["o"]));
    assert_eq!(told.stderr.lines().collect::<Vec<_>>(), all(&["e"]));
}

#[test]
fn a_report_says_that_the_outputs_were_one() {
    let project = Project::new();
    let call = r#"{"tool":"Bash","merge":true,"input":{"command":"echo a; echo b >&2; echo c"}}"#;
    let report = project.fed(&["call"], call.as_bytes()).json();
    assert_eq!((&report["stdout"], &report["stderr"]), (&"a\nb\nc\n".into(), &"".into()));
    assert_eq!(report["merged"], true);
    let report = project.stockade(&["shell", "--json", "echo a; echo b >&2"]).json();
    assert_eq!((&report["stdout"], &report["stderr"]), (&"a\n".into(), &"b\n".into()));
    assert!(report["merged"].is_null(), "{report}");
}

#[test]
fn input_decides_what_a_line_that_runs_it_is() {
    let project = Project::new();
    let told = project.fed(&["shell", "--no-ask", "--profile", "strict", "bash"], b"echo ran\n");
    assert_eq!(told.code, 126, "nobody has seen these commands: {told:?}");
    let told = project.stockade(&["shell", "--no-ask", "bash -c 'echo ran'"]);
    assert_eq!(told.stdout, "ran\n");
}

#[test]
fn a_call_streams_events_with_its_id_before_its_report() {
    let project = Project::new();
    let call = r#"{"tool":"Bash","id":"x1","stream":true,"input":{"command":"echo a; sleep 0.3; printf '\\377'"}}"#;
    let lines = project.fed(&["call"], call.as_bytes()).lines();
    assert_eq!(lines[0], serde_json::json!({"call": "x1", "event": "stdout", "text": "a\n"}));
    assert_eq!((&lines[1]["event"], &lines[1]["base64"]), (&"stdout".into(), &"/w==".into()));
    assert_eq!((lines.len(), &lines[2]["ok"]), (3, &Value::from(true)));
}

#[test]
fn a_reader_that_goes_away_ends_the_call() {
    let project = Project::new();
    let mut child = project.command(&["run", "--", "yes"]).spawn().unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(141));
}

#[test]
fn signals_end_a_run_with_its_outcome_on_record() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let project = Project::new();
        let line = "echo begun; sleep 600 & sleep 600";
        let mut child = project.command(&["shell", "--timeout", "none", line]).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        kill_process(pid(&child), signal).unwrap();
        let begun = Instant::now();
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(told.code, code, "{told:?}");
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert_eq!(last_outcome(&project)["limit"], "cancelled");
    }
}

#[test]
fn signals_end_calls_with_their_reports_and_a_hangup_reads_the_policy_again() {
    let project = Project::new();
    let policy = project.beside("mine.toml");
    std::fs::write(&policy, "").unwrap();
    let mut command = project.command(&["call", "--policy", policy.to_str().unwrap()]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut report = |stdin: &mut dyn std::io::Write, line: &str| -> Value {
        let call = serde_json::json!({"tool": "Bash", "input": {"command": line}});
        writeln!(stdin, "{call}").unwrap();
        let mut report = String::new();
        stdout.read_line(&mut report).unwrap();
        serde_json::from_str(&report).unwrap()
    };
    assert_eq!(report(&mut stdin, "echo a")["ok"], true);
    std::fs::write(&policy, "rules.deny = ['Bash(echo *)']\n").unwrap();
    kill_process(pid(&child), Signal::HUP).unwrap();
    let mut note = String::new();
    stderr.read_line(&mut note).unwrap();
    assert!(note.contains("read again"), "{note}");
    assert_eq!(report(&mut stdin, "echo a")["denied"], true);
    // One that cannot be read changes nothing.
    std::fs::write(&policy, "rules.deny = 7\n").unwrap();
    kill_process(pid(&child), Signal::HUP).unwrap();
    let said = || {
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        line.contains(message!("call.policy-stays"))
    };
    let mut said = said;
    while !said() {}
    assert_eq!(report(&mut stdin, "echo a")["denied"], true);
    // The next one runs when the signal comes, and standard input stays open.
    writeln!(stdin, r#"{{"tool":"Bash","input":{{"command":"sleep 600"}}}}"#).unwrap();
    let is_running = || {
        let journal = std::fs::read_to_string(project.journal()).unwrap();
        journal.lines().last().is_some_and(|line| line.contains("sleep"))
    };
    assert!(eventually(Duration::from_secs(60), is_running));
    std::thread::sleep(Duration::from_millis(300));
    kill_process(pid(&child), Signal::TERM).unwrap();
    let mut last = String::new();
    stdout.read_line(&mut last).unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["ok"], &last["limit"]), (&false.into(), &"cancelled".into()), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_call_can_ask_for_more_time_than_the_default_and_no_more_than_the_most() {
    let project = Project::new();
    let policy = project.beside("mine.toml");
    std::fs::write(&policy, "limits.wall = '300ms'\nlimits.wall_max = '2s'\n").unwrap();
    let args = ["call", "--policy", policy.to_str().unwrap()];
    let call = |input: &str| {
        project.fed(&args, format!("{{\"tool\":\"Bash\",\"input\":{input}}}").as_bytes()).json()
    };
    let report = call(r#"{"command":"sleep 1"}"#);
    assert_eq!(report["timed_out"], true, "{report}");
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("limits.wall_max"), "{reason}");
    let report = call(r#"{"command":"sleep 1","timeout":60000}"#);
    assert_eq!(report["ok"], true, "{report}");
    let report = call(r#"{"command":"sleep 60","timeout":60000}"#);
    assert_eq!(report["timed_out"], true, "{report}");
}
