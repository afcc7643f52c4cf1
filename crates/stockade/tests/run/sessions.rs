//! Sessions: what one call leaves is there in the next, and limits are each call's own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stockade::call::{Language, SessionName};
use stockade::{Policy, Stockade, ToolCall};

use crate::jail::project;
use crate::support::{eventually, json as report_of, marked, marker, text, unboxed};
use crate::warm::node_runs;

fn name(text: &str) -> SessionName {
    text.parse().unwrap()
}

/// What source comes to in the session `work`.
fn step(stockade: &Stockade, language: Language, source: &str) -> Value {
    let call = ToolCall::code(language, source).in_session(name("work"));
    report_of(&stockade.run(call))
}

/// A step that does not end by itself, ended by a deadline of its own.
fn endless(stockade: &Stockade, language: Language, source: &str) -> Value {
    let mut call = ToolCall::code(language, source).in_session(name("work"));
    call.wall = Some(Duration::from_secs(3));
    report_of(&stockade.run(call))
}

fn python(stockade: &Stockade, source: &str) -> Value {
    step(stockade, Language::Python, source)
}

fn session_of(report: &Value) -> (bool, u64, bool) {
    let session = &report["session"];
    assert_eq!(session["name"], "work", "{report}");
    (
        session["new"].as_bool().unwrap(),
        session["calls"].as_u64().unwrap(),
        session["alive"].as_bool().unwrap(),
    )
}

#[test]
fn a_session_keeps_names_files_and_modules_and_shows_the_last_value() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    let first =
        python(&stockade, "import json\nx = [1]\nopen('kept', 'w').write('k')\nprint('said')");
    assert_eq!((text(&first, "stdout"), session_of(&first)), ("said\n", (true, 1, true)));
    let second = python(&stockade, "x.append(2)\njson.dumps(x)");
    assert_eq!((text(&second, "stdout"), session_of(&second)), ("'[1, 2]'\n", (false, 2, true)));
    let third = python(&stockade, "print(open('kept').read(), _)\nNone");
    assert_eq!(text(&third, "stdout"), "k [1, 2]\n");
    let fails = python(&stockade, "def f():\n    return x[9]\nf()");
    assert_eq!((&fails["exit_code"], session_of(&fails)), (&json!(1), (false, 4, true)));
    let stderr = text(&fails, "stderr");
    assert!(stderr.contains("line 2, in f") && stderr.contains("return x[9]"), "{stderr}");
    assert!(!stderr.contains("<string>"), "{stderr}");
    let leaves = python(&stockade, "import sys\nsys.exit(3)");
    assert_eq!((&leaves["exit_code"], session_of(&leaves)), (&json!(3), (false, 5, true)));
    assert_eq!(
        text(&python(&stockade, "input()"), "stderr").lines().last(),
        Some("EOFError: EOF when reading a line")
    );
    assert_eq!(
        text(&python(&stockade, "x"), "stdout"),
        "[1, 2]\n",
        "all of that left it as it was"
    );
}

#[test]
fn sessions_and_other_calls_know_nothing_of_each_other() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    python(&stockade, "x = 1\nopen('kept', 'w')");
    let look = "import os\nprint('x' in globals(), os.path.exists('kept'))";
    let other = ToolCall::code(Language::Python, look).in_session(name("other"));
    let other = report_of(&stockade.run(other));
    assert_eq!(text(&other, "stdout"), "False False\n");
    let plain = report_of(&stockade.run(ToolCall::code(Language::Python, look)));
    assert_eq!((text(&plain, "stdout"), &plain["session"]), ("False False\n", &Value::Null));
    let elsewhere = project.open(Policy::shipped());
    assert_eq!(text(&python(&elsewhere, look), "stdout"), "False False\n");
}

#[test]
fn a_call_that_takes_too_long_is_interrupted_and_what_was_there_stays() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    python(&stockade, "x = 7");
    for source in ["while True: pass", "import time\ntime.sleep(600)"] {
        let report = endless(&stockade, Language::Python, source);
        assert_eq!(
            (&report["timed_out"], &report["exit_code"]),
            (&json!(true), &json!(-101)),
            "{report}"
        );
        assert!(text(&report, "stderr").contains("KeyboardInterrupt"), "{report}");
        assert!(session_of(&report).2, "{report}");
    }
    assert_eq!(text(&python(&stockade, "x"), "stdout"), "7\n");
    let deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let report = endless(&stockade, Language::Python, deaf);
    assert_eq!((&report["limit"], session_of(&report).2), (&json!("wall"), false), "{report}");
    assert!(report["notes"][0].as_str().unwrap().contains("fresh one"), "{report}");
    let after = python(&stockade, "'x' in globals()");
    assert_eq!((text(&after, "stdout"), session_of(&after)), ("False\n", (true, 1, true)));
}

#[test]
fn limits_are_each_calls_own() {
    let Some(project) = project() else { return };
    let mut policy = Policy::shipped();
    policy.code_limits.cpu = Some(Duration::from_secs(1));
    policy.code_limits.flood = stockade::limits::ByteCount::mib(4);
    let stockade = project.open(policy);
    let work =
        "import time\nuntil = time.process_time() + 0.6\nwhile time.process_time() < until: pass";
    for _ in 0..4 {
        let report = python(&stockade, work);
        assert_eq!((&report["exit_code"], session_of(&report).2), (&json!(0), true), "{report}");
    }
    let report = python(&stockade, "while True: pass");
    assert_eq!((&report["limit"], session_of(&report).2), (&json!("cpu"), false), "{report}");
    let report = python(&stockade, "while True: print('x' * 10000)");
    assert_eq!(
        (&report["limit"], session_of(&report)),
        (&json!("output"), (true, 1, false)),
        "{report}"
    );
    let report = python(&stockade, "print('x' * 100000)");
    assert_eq!((&report["truncated"], session_of(&report)), (&json!(true), (true, 1, true)));
}

#[test]
fn an_interpreter_that_dies_is_said_and_the_session_begins_anew() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    python(&stockade, "x = 1");
    let report = python(&stockade, "import os\nos.kill(os.getpid(), 9)");
    assert_eq!(
        (&report["signal"], session_of(&report)),
        (&json!(9), (false, 2, false)),
        "{report}"
    );
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains(message!("leased.call-ended")), "{note}");
    let report = python(&stockade, "'x' in globals()");
    assert_eq!((text(&report, "stdout"), session_of(&report)), ("False\n", (true, 1, true)));
    // And from outside, between two calls.
    let mark = marker();
    python(&stockade, &format!("import subprocess\np = subprocess.Popen(['sleep', '{mark}'])"));
    assert!(eventually(Duration::from_secs(60), || !marked(&mark).is_empty()));
    let sleeper = *marked(&mark).first().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap();
    let parent =
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
    let parent = rustix::process::Pid::from_raw(parent).unwrap();
    rustix::process::kill_process(parent, rustix::process::Signal::KILL).unwrap();
    assert!(
        eventually(Duration::from_secs(60), || marked(&mark).is_empty()),
        "the box ends with it"
    );
    let report = python(&stockade, "1");
    assert_eq!(session_of(&report), (true, 1, true));
    assert!(report["notes"][0].as_str().unwrap().contains("begins anew"), "{report}");
}

#[test]
fn the_box_of_a_session_ends_with_the_session_and_with_its_stockade() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    let start =
        |mark: &str| format!("import subprocess\np = subprocess.Popen(['sleep', '{mark}'])");
    let (first, second) = (marker(), marker());
    python(&stockade, &start(&first));
    let goes_on = eventually(Duration::from_secs(60), || marked(&first).len() == 1);
    assert!(goes_on, "what a session started goes on between calls");
    assert!(stockade.sessions().end(&name("work")));
    assert!(!stockade.sessions().end(&name("work")));
    assert!(marked(&first).is_empty());
    python(&stockade, &start(&second));
    drop(stockade);
    assert!(marked(&second).is_empty());
}

#[test]
fn what_cannot_have_a_session_is_told_so() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    let report = step(&stockade, Language::Bash, "x=1");
    assert!(
        text(&report["failure"], "message").contains(message!("sessions.no-sessions", "bash")),
        "{report}"
    );
    python(&stockade, "x = 1");
    assert_eq!(text(&python(&stockade, "x"), "stdout"), "1\n");
    let process = project.open(Policy { mode: stockade::policy::Mode::Bypass, ..unboxed() });
    let report = python(&process, "1");
    assert!(
        text(&report["failure"], "message").contains(message!("sessions.tier-keeps-no-sessions")),
        "{report}"
    );
    for bad in ["", "a b", "../x", &"x".repeat(65)] {
        assert!(bad.parse::<SessionName>().is_err(), "{bad:?}");
    }
    for number in 0..20 {
        let call = ToolCall::code(Language::Python, "1").in_session(name(&format!("s{number}")));
        let report = report_of(&stockade.run(call));
        let failure = text(&report["failure"], "message");
        assert_eq!(
            failure.contains(message!("sessions.sessions-no-room-more")),
            number > 14,
            "{number}: {report}"
        );
    }
}

#[test]
fn calls_of_one_session_wait_for_each_other() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    python(&stockade, "seen = []");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let stockade = &stockade;
            scope.spawn(move || {
                python(stockade, &format!("import time\ntime.sleep(0.1)\nseen.append({number})"))
            });
        }
    });
    assert_eq!(text(&python(&stockade, "sorted(seen)"), "stdout"), "[0, 1, 2, 3]\n");
}

#[test]
fn a_word_that_code_forges_ends_its_own_call_and_nothing_else() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    let begun = Instant::now();
    let forged = "import os\nfor fd in range(3, 200):\n    try: os.write(fd, b'E 0 0 0 0\\nnonsense\\n')\n    except OSError: pass\nraise SystemExit(5)";
    let report = python(&stockade, forged);
    assert_eq!(report["denied"], false, "{report}");
    assert!(begun.elapsed() < Duration::from_secs(120));
    let report = python(&stockade, "print('next')");
    assert_eq!(text(&report, "stdout"), "next\n", "{report}");
}

#[test]
fn node_keeps_a_context_too() {
    let Some(project) = project() else { return };
    if !node_runs(&project) {
        return;
    }
    let stockade = project.open(Policy::shipped());
    let node = |source: &str| step(&stockade, Language::Node, source);
    node("let n = 1; const fs = require('fs')");
    assert_eq!(text(&node("n += 1; ({ n })"), "stdout"), "{ n: 2 }\n");
    let report = node("throw new Error('so')");
    assert_eq!(
        (&report["exit_code"], session_of(&report)),
        (&json!(1), (false, 3, true)),
        "{report}"
    );
    assert!(text(&report, "stderr").contains("Error: so"), "{report}");
    assert!(!text(&report, "stderr").contains("[eval]"), "{report}");
    assert_eq!(node("process.exit(4)")["exit_code"], 4);
    assert_eq!(text(&node("Promise.resolve(n * 10)"), "stdout"), "20\n");
    for source in ["while (true) {}", "new Promise(() => {})"] {
        let report = endless(&stockade, Language::Node, source);
        assert_eq!((&report["limit"], session_of(&report).2), (&json!("wall"), true), "{report}");
    }
    assert_eq!(text(&node("n"), "stdout"), "2\n");
    let report = node("process.kill(process.pid, 'SIGKILL'); while (true) {}");
    assert_eq!((&report["signal"], session_of(&report).2), (&json!(9), false), "{report}");
    assert_eq!(session_of(&node("1")), (true, 1, true));
}

#[test]
fn an_interpreter_shares_files_and_the_loopback_with_lines_of_its_session() {
    let Some(project) = project() else { return };
    let mut policy = Policy::shipped();
    policy.mode = stockade::policy::Mode::Auto;
    let stockade = project.open(policy);
    let line = |line: &str| {
        report_of(&stockade.run(ToolCall::line(line).in_session(name("work"))))["stdout"].clone()
    };
    // Names of one language stay with its interpreter, and those of another are beside it.
    python(&stockade, "import os\nx = 'py'\nopen('/tmp/from-code', 'w').write(x)");
    assert_eq!(line("cat /tmp/from-code; echo line > /tmp/from-line"), "py");
    assert_eq!(text(&python(&stockade, "open('from-line').read()"), "stdout"), "'line\\n'\n");
    assert_eq!(text(&python(&stockade, "os.environ['STOCKADE_SESSION']"), "stdout"), "'work'\n");
    let serve = "import socket, threading
listening = socket.create_server(('127.0.0.1', 7171))
def serve():
    while True:
        client, _ = listening.accept()
        client.sendall(b'served')
        client.close()
threading.Thread(target=serve, daemon=True).start()";
    python(&stockade, serve);
    let ask = "import socket\nprint(socket.create_connection(('127.0.0.1', 7171), 5).recv(9))";
    assert_eq!(line(&format!("python3 -c \"{ask}\"")), "b'served'\n");
    if node_runs(&project) {
        let connect = "new Promise((done) => require('net').connect(7171, '127.0.0.1')\
                       .on('data', (bytes) => done(String(bytes))))";
        assert_eq!(text(&step(&stockade, Language::Node, connect), "stdout"), "'served'\n");
    }
    // Outside of the session there is neither.
    let alone = ToolCall::code(Language::Python, ask);
    assert_ne!(report_of(&stockade.run(alone))["exit_code"], 0);
}

#[test]
fn an_interpreter_that_waits_is_listed_logged_and_ended_as_what_its_first_call_has_left() {
    let Some(project) = project() else { return };
    let stockade = project.open(Policy::shipped());
    let first = ToolCall::code(Language::Python, "x = 1").in_session(name("work"));
    let id = first.id.to_string();
    let report = report_of(&stockade.run(first));
    assert_eq!(
        (&report["left_running"], &report["notes"]),
        (&Value::Null, &Value::Null),
        "{report}"
    );
    let mark = marker();
    python(
        &stockade,
        &format!(
            "import subprocess\np = subprocess.Popen(['sh', '-c', 'echo late; sleep {mark}'])\nx = 2"
        ),
    );
    let session = stockade.sessions().get(&name("work"));
    let left = session.left();
    assert_eq!(left.len(), 1);
    let left = &left[0];
    assert!(left.is_interpreter() && left.call().as_str() == id);
    let has_sleeper = || left.processes().iter().any(|process| process.command.contains(&mark));
    assert!(eventually(Duration::from_secs(60), has_sleeper), "{:?}", left.processes());
    assert!(left.usage().0 >= 3);
    // What it prints while no call waits for it goes into the log, unless a call was quicker.
    python(
        &stockade,
        &format!("import time\nsubprocess.Popen(['sh', '-c', 'sleep 1; echo {mark}'])"),
    );
    let has_said = || String::from_utf8_lossy(&left.log().read().unwrap()).contains(&mark);
    assert!(eventually(Duration::from_secs(60), has_said));
    // Told to end, it ends with the call that it has.
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| python(&stockade, "import time\ntime.sleep(600)"));
        let is_busy = || session.left().iter().any(|one| one.usage().0 > 0);
        assert!(eventually(Duration::from_secs(60), is_busy));
        std::thread::sleep(Duration::from_millis(300));
        left.kill();
        let report = busy.join().unwrap();
        assert!(report["limit"] == "cancelled" || report["session"]["new"] == true, "{report}");
    });
    assert!(left.wait_end(Duration::from_secs(60)));
    assert!(eventually(Duration::from_secs(60), || marked(&mark).is_empty()));
    let journal = std::fs::read_to_string(stockade.journal()).unwrap();
    let ended = journal.lines().filter(|line| line.contains("\"left_ended\"")).collect::<Vec<_>>();
    assert!(ended.len() == 1 && ended[0].contains(&id), "{journal}");
}
