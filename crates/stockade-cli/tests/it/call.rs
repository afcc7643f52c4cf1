//! `stockade call`: JSON lines in, reports out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Project, Told, call, eventually};

#[test]
fn a_hundred_calls_at_eight_a_time_come_back_in_order() {
    let project = Project::new();
    let calls: String = (0..100).map(|n| call(&["echo", &n.to_string()])).collect();
    project.write("calls", &calls);
    let told = project.stockade(&["call", "--jobs", "8", "calls"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    let got: Vec<String> =
        told.lines().iter().map(|one| one["stdout"].as_str().unwrap().trim().to_owned()).collect();
    assert_eq!(got, (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_slow_first_call_reorders_nothing() {
    let project = Project::new();
    project.script("slow.sh", "sleep 1\necho slow\n");
    let input = call(&["sh", "slow.sh"]) + &call(&["echo", "fast"]).repeat(20);
    let start = Instant::now();
    let reports = project.fed(&["call", "--jobs", "4"], input.as_bytes()).lines();
    let outs: Vec<&str> = reports.iter().map(|one| one["stdout"].as_str().unwrap()).collect();
    assert_eq!(outs.len(), 21);
    assert_eq!((outs[0], outs[1]), ("slow\n", "fast\n"));
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn calls_run_at_the_same_time() {
    let project = Project::new();
    // Each waits for the other's file: one after the other they would never end.
    project.script("meet.sh", "touch $1\nuntil [ -e $2 ]; do sleep 0.01; done\necho met\n");
    let input = call(&["sh", "meet.sh", "a", "b"]) + &call(&["sh", "meet.sh", "b", "a"]);
    let args = ["call", "--jobs", "2", "--timeout", "30s"];
    let reports = project.fed(&args, input.as_bytes()).lines();
    assert!(reports.iter().all(|one| one["stdout"] == "met\n"), "{reports:?}");
}

#[test]
fn a_line_that_is_no_call_is_refused_in_its_place() {
    let project = Project::new();
    let good = call(&["echo", "good"]);
    let bad = [
        "{",
        "null",
        "[]",
        "\"text\"",
        "{}",
        r#"{"tool":"Exec"}"#,
        r#"{"tool":"Exec","input":{}}"#,
        r#"{"tool":"Exec","input":{"argv":"ls"}}"#,
        r#"{"tool":"Exec","input":{"argv":["ls"],"shell":true}}"#,
        r#"{"tool":"Exec","input":{"argv":["ls"]},"extra":1}"#,
        r#"{"tool":"Exec","input":{"argv":["ls"]},"id":"a b"}"#,
        r#"{"tool":"Exec","input":{"argv":["echo","a\u0000b"]}}"#,
        r#"{"tool":"Exec","input":{"argv":[]}}"#,
        r#"{"tool":"WebFetch","input":{"url":"http://x"}}"#,
        r#"{"tool":"Bash","input":{"command":"echo 'open"}}"#,
    ];
    let mut input = Vec::new();
    for line in bad {
        input.extend_from_slice(format!("{line}\n{good}").as_bytes());
    }
    input.extend_from_slice(b"\xff\xfe not text\n");
    let told = project.fed(&["call", "--jobs", "3"], &input);
    let reports = told.lines();
    assert_eq!((told.code, reports.len()), (0, 2 * bad.len() + 1));
    for (index, report) in reports.iter().enumerate() {
        if index % 2 == 1 {
            assert_eq!(report["stdout"], "good\n");
        } else {
            let line = bad.get(index / 2);
            assert_eq!(
                (&report["denied"], &report["exit_code"]),
                (&true.into(), &(-100).into()),
                "{line:?}"
            );
            assert!(report["reason"].is_string() && report["instead"].is_string(), "{report}");
        }
    }
}

#[test]
fn an_unknown_tool_is_refused_by_its_name() {
    let project = Project::new();
    let report = project.fed(&["call"], b"{\"tool\":\"WebFetch\",\"input\":{}}\n").json();
    assert_eq!(
        (&report["tool"], &report["rule"]),
        (&"WebFetch".into(), &"call/unknown-tool".into())
    );
    assert!(report["reason"].as_str().unwrap().contains("WebFetch"));
}

#[test]
fn empty_lines_are_skipped_and_the_last_needs_no_newline() {
    let project = Project::new();
    let one = call(&["echo", "x"]);
    let input = format!("\n\n  \t \n{one}\r\n\n{}", one.trim_end());
    let told = project.fed(&["call"], input.as_bytes());
    assert_eq!(told.lines().len(), 2, "{told:?}");
    assert_eq!(project.fed(&["call"], b"").stdout, "");
}

#[test]
fn ids_folders_input_and_deadlines_are_the_callers() {
    let project = Project::new();
    std::fs::create_dir(project.path("sub")).unwrap();
    let calls = [
        json!({"tool": "Exec", "input": {"argv": ["pwd"]}, "id": "mine-1", "cwd": "sub"}),
        json!({"tool": "run", "input": {"argv": ["cat"], "stdin": "given"}}),
        json!({"tool": "exec", "input": {"argv": ["sleep", "60"], "timeout": 300}}),
        json!({"tool": "shell", "input": {"command": "echo hi", "description": "says hi"}}),
    ];
    let input = calls.map(|call| call.to_string()).join("\n");
    project.write("policy.toml", "[shell]\nonly = [\"echo\"]\n");
    let reports = project.fed(&["call", "--policy", "policy.toml"], input.as_bytes()).lines();
    assert_eq!(reports[0]["call"], "mine-1");
    assert!(reports[0]["stdout"].as_str().unwrap().ends_with("/sub\n"));
    assert_eq!(reports[1]["stdout"], "given");
    assert_eq!(reports[2]["timed_out"], true);
    assert_eq!(reports[3]["stdout"], "hi\n");
}

#[test]
fn a_line_beyond_all_measure_is_refused_and_the_next_one_runs() {
    let project = Project::new();
    let mut input = br#"{"tool":"Exec","input":{"argv":["echo",""#.to_vec();
    input.resize(17 << 20, b'x');
    input.extend_from_slice(b"\"]}}\n");
    input.extend_from_slice(call(&["echo", "next"]).as_bytes());
    let reports = project.fed(&["call"], &input).lines();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0]["denied"], true);
    assert!(reports[0]["reason"].as_str().unwrap().contains("16 MiB"), "{}", reports[0]["reason"]);
    assert_eq!(reports[1]["stdout"], "next\n");
}

#[test]
fn a_report_comes_as_soon_as_its_call_has_ended() {
    let project = Project::new();
    let mut child = project.command(&["call"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut reports = BufReader::new(child.stdout.take().unwrap()).lines();
    for word in ["first", "second"] {
        stdin.write_all(call(&["echo", word]).as_bytes()).unwrap();
        let report: Value = serde_json::from_str(&reports.next().unwrap().unwrap()).unwrap();
        assert_eq!(report["stdout"], format!("{word}\n"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// Calls wait for a reader that does not read; when it goes away, all of them must end.
#[test]
fn a_reader_that_goes_away_ends_it_however_many_calls_are_waiting() {
    let project = Project::new();
    project.write("calls", &call(&["rm", "x"]).repeat(3000));
    for jobs in ["1", "8"] {
        let mut child = project.command(&["call", "--jobs", jobs, "calls"]).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut first = [0; 100];
        stdout.read_exact(&mut first).unwrap();
        // The pipe is full once nothing more is judged.
        let mut size = 0;
        let quiet = || {
            std::thread::sleep(Duration::from_millis(200));
            let now = std::fs::metadata(project.journal()).unwrap().len();
            std::mem::replace(&mut size, now) == now
        };
        assert!(eventually(Duration::from_secs(30), quiet));
        assert!(child.try_wait().unwrap().is_none());
        drop(stdout);
        let ended = eventually(Duration::from_secs(60), || child.try_wait().unwrap().is_some());
        child.kill().ok();
        let told = Told::from(child.wait_with_output().unwrap());
        assert!(ended, "it hangs with {jobs} jobs");
        assert_eq!((told.code, told.stderr.as_str()), (125, ""));
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let project = Project::new();
    let told = project.stockade(&["call", "not-there"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("not-there"), "{told:?}");
}
