//! Interpreters of sessions, which outlive the command that begins them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::conversation::{self, ask, eventually, serve};
use crate::support::{Told, marked, marker, skip};

/// A project whose sessions end with the test.
struct Scene(conversation::Scene);

impl Scene {
    fn new() -> Option<Self> {
        let scene = conversation::Scene::new();
        let told = scene.0.stockade(&["run", "--", "true"]);
        if told.code == 125 && told.stderr.contains("namespace") {
            skip("userns", "user namespaces are forbidden here");
            return None;
        }
        assert_eq!(told.code, 0, "{told:?}");
        Some(Self(scene))
    }

    fn stockade(&self, args: &[&str]) -> Told {
        self.0.0.stockade(args)
    }

    fn python(&self, session: &str, source: &str, more: &[&str]) -> Told {
        self.stockade(&[&python(session, source)[..], more].concat())
    }

    /// A command that goes on in the background.
    fn begin(&self, session: &str, source: &str) -> Child {
        self.0.0.command(&python(session, source)).stdin(Stdio::null()).spawn().unwrap()
    }
}

/// The supervisor that keeps the interpreter which runs this process: the nearest above it that was
/// called as `stockade code`.
fn keeper_of(mark: &str) -> Pid {
    let is_marked = |bytes: &[u8]| bytes.windows(mark.len()).any(|part| part == mark.as_bytes());
    let read = |pid: &str, name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let mut found = None;
    assert!(eventually(|| {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().into_string().ok());
        found = pids.find(|pid| {
            let words = read(pid, "cmdline");
            words.starts_with(b"sleep\0") && is_marked(&words)
        });
        found.is_some()
    }));
    let mut pid = found.unwrap();
    loop {
        let status = String::from_utf8(read(&pid, "status")).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        parent.trim().clone_into(&mut pid);
        assert_ne!(pid, "0", "it has no supervisor");
        let words = read(&pid, "cmdline");
        if words.split(|byte| *byte == 0).nth(1) == Some(b"code") {
            return Pid::from_raw(pid.parse().unwrap()).unwrap();
        }
    }
}

fn python<'a>(session: &'a str, source: &'a str) -> [&'a str; 7] {
    ["code", "--lang", "python", "--session", session, "-e", source]
}

/// Starts a process of this name in the interpreter.
fn sleeper(mark: &str) -> String {
    format!("import subprocess\np = subprocess.Popen(['sleep', '{mark}'])")
}

#[test]
fn separate_commands_find_what_earlier_ones_left() {
    let Some(scene) = Scene::new() else { return };
    let told = scene.python("one", "x = 41\nprint('first')", &[]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "first\n"), "{told:?}");
    let told = scene.python("one", "x + 1", &["--json"]);
    let report = told.json();
    assert_eq!(report["stdout"], "42\n", "{report}");
    assert_eq!(
        (&report["session"]["new"], &report["session"]["calls"]),
        (&false.into(), &2.into())
    );
    let told = scene.python("two", "x", &[]);
    assert!(told.code == 1 && told.stderr.contains("NameError"), "{told:?}");
    let told = scene.python("one", "import sys\nprint('e', file=sys.stderr)\nsys.exit(7)", &[]);
    assert_eq!((told.code, told.stderr.as_str()), (7, "e\n"));
    let told = scene.python("one", "while True: pass", &["--timeout", "1s"]);
    assert_eq!(told.code, 124, "{told:?}");
    assert_eq!(scene.python("one", "x", &[]).stdout, "41\n", "an interruption leaves it as it was");
    let journal = fs::read_to_string(scene.0.0.journal()).unwrap();
    let decided = journal.lines().filter(|line| line.contains("\"Code\"")).count();
    assert!(decided >= 6, "every call is judged and written down: {decided}");
}

#[test]
fn a_session_is_listed_and_ended_by_name_and_nothing_is_left() {
    let Some(scene) = Scene::new() else { return };
    let mark = marker();
    scene.python("one", &sleeper(&mark), &[]);
    let has_sleeper = || {
        let sessions = scene.0.ps();
        let call = &sessions[0]["calls"][0];
        assert_eq!((sessions.len(), &call["command"]), (1, &"code python".into()));
        call["left_running"].to_string().contains(&mark)
    };
    assert!(eventually(has_sleeper), "{:?}", scene.0.ps());
    let told = scene.stockade(&["code", "--session", "one", "--end"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!((scene.0.ps().len(), marked(&mark)), (0, 0));
    let told = scene.stockade(&["code", "--session", "one", "--end"]);
    assert!(told.code == 125 && told.stderr.contains(message!("box-table.none")), "{told:?}");
    let told = scene.python("one", "'x' in globals()", &[]);
    assert_eq!(told.stdout, "False\n", "{told:?}");
    // By the call that has started it, the session stays.
    let call = scene.0.ps()[0]["calls"][0]["call"].as_str().unwrap().to_owned();
    assert_eq!(scene.stockade(&["kill", &call]).stdout, "1 call ended\n");
    let sessions = scene.0.ps();
    assert_eq!((&sessions[0]["name"], &sessions[0]["calls"]), (&"one".into(), &json!([])));
}

#[test]
fn whoever_kills_the_keeper_of_an_interpreter_ends_it_and_the_next_call_begins_anew() {
    let Some(scene) = Scene::new() else { return };
    let mark = marker();
    scene.python("one", &format!("x = 1\n{}", sleeper(&mark)), &[]);
    kill_process(keeper_of(&mark), Signal::KILL).unwrap();
    assert!(eventually(|| marked(&mark) == 0));
    let told = scene.python("one", "'x' in globals()", &["--json"]);
    let report = told.json();
    assert_eq!(
        (&report["stdout"], &report["session"]["new"]),
        (&"False\n".into(), &true.into()),
        "{told:?}"
    );
    assert!(report["notes"][0].as_str().unwrap().contains("begins anew"), "{report}");
    let killed = scene.python("one", "import os\nos.kill(os.getpid(), 9)", &[]);
    assert_eq!(killed.code, 137, "{killed:?}");
    // Its session ends without waiting for the call itself.
    assert!(killed.stderr.contains(message!("leased.call-ended-next-call")), "{killed:?}");
    assert_eq!(killed.stderr.lines().count(), 1, "{killed:?}");
    let first = scene.python("two", "import os\nos.kill(os.getpid(), 9)", &[]);
    assert_eq!((first.code, first.stderr.lines().count()), (137, 1), "{first:?}");
    let told = scene.python("one", "1 + 1", &[]);
    assert_eq!(told.stdout, "2\n", "{told:?}");
    // While it has a call, that is lost, and the command says so.
    let mark = marker();
    let busy = format!("{}\np.wait()", sleeper(&mark));
    let child = scene.0.0.command(&python("one", &busy)).spawn().unwrap();
    kill_process(keeper_of(&mark), Signal::KILL).unwrap();
    let told = Told::from(child.wait_with_output().unwrap());
    assert!(told.code == 125 && told.stderr.contains("the session one was lost"), "{told:?}");
}

#[test]
fn a_call_that_the_last_keeper_did_not_take_is_taken_by_the_next() {
    let Some(scene) = Scene::new() else { return };
    let mark = marker();
    scene.python("one", &format!("x = 1\n{}", sleeper(&mark)), &[]);
    let keeper = keeper_of(&mark);
    kill_process(keeper, Signal::STOP).unwrap();
    let child = scene.begin("one", "'x' in globals()");
    // Its call waits in front of a process that does nothing any more.
    std::thread::sleep(std::time::Duration::from_millis(500));
    kill_process(keeper, Signal::KILL).unwrap();
    let told = Told::from(child.wait_with_output().unwrap());
    assert_eq!((told.code, told.stdout.as_str()), (0, "False\n"), "{told:?}");
}

#[test]
fn all_commands_of_a_session_share_its_files_and_its_loopback() {
    let Some(scene) = Scene::new() else { return };
    let code = |source: &str| scene.python("one", source, &[]).stdout;
    assert_eq!(scene.0.shell_in("one", &serve(7271)).code, 0);
    code("open('/tmp/by-code', 'w').write('code')\nNone");
    let client = ask(7271);
    let connect = "import socket\nsocket.create_connection(('127.0.0.1', 7271), 5).recv(9)";
    assert_eq!(code(connect), "b'served'\n");
    let read = "cat /tmp/by-code";
    assert_eq!(scene.0.shell_in("one", &format!("{read}; {client}")).stdout, "codeserved\n");
    let line = format!("{read}; echo entered > /tmp/by-enter; {client}");
    let told = scene.stockade(&["enter", "--session", "one", "--", "sh", "-c", &line]);
    assert_eq!(told.stdout, "codeserved\n", "{told:?}");
    let call = json!({"tool": "Bash", "input": {"command": line}, "session": "one"});
    let told = scene.0.0.fed(&["call", "--mode", "auto"], call.to_string().as_bytes());
    assert_eq!(told.json()["stdout"], "codeserved\n", "{told:?}");
    let call = json!({
        "tool": "Code", "session": "one",
        "input": {"language": "python", "source": format!("{connect} + open('/tmp/by-enter', 'rb').read()")},
    });
    let told = scene.0.0.fed(&["call"], call.to_string().as_bytes());
    assert_eq!(told.json()["stdout"], "b'servedentered\\n'\n", "{told:?}");
    assert_eq!(code("open('/tmp/by-enter').read()"), "'entered\\n'\n");
    // And a server in the interpreter is reached and ended as any other.
    code(
        "import threading\nlistening = socket.create_server(('127.0.0.1', 7272))\n\
          def serve():\n    while True: listening.accept()[0].sendall(b'by code')\n\
          threading.Thread(target=serve, daemon=True).start()",
    );
    assert_eq!(scene.0.shell_in("one", &ask(7272)).stdout, "by code\n");
    assert!(eventually(|| scene.stockade(&["ps"]).stdout.contains(":7272")));
    assert_eq!(scene.stockade(&["kill", "7272"]).stdout, "1 call ended\n");
    assert_ne!(scene.0.shell_in("one", &ask(7272)).code, 0);
}

#[test]
fn calls_of_several_commands_wait_for_each_other() {
    let Some(scene) = Scene::new() else { return };
    // None is the first: all may become the keeper.
    let append = |number: u32| {
        format!(
            "import time\nseen = globals().get('seen', [])\n\
             time.sleep(0.1)\nseen.append({number})"
        )
    };
    let children: Vec<Child> = (0..6).map(|number| scene.begin("one", &append(number))).collect();
    for child in children {
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(told.code, 0, "{told:?}");
    }
    assert_eq!(scene.python("one", "sorted(seen)", &[]).stdout, "[0, 1, 2, 3, 4, 5]\n");
}

#[test]
fn a_command_that_is_killed_or_told_to_end_ends_its_call_and_not_the_interpreter() {
    let Some(scene) = Scene::new() else { return };
    scene.python("one", "x = 1", &[]);
    let mark = marker();
    let busy = format!("{}\nprint('busy', flush=True)\np.wait()", sleeper(&mark));
    for (signal, code) in
        [(Signal::KILL, None), (Signal::TERM, Some(143)), (Signal::INT, Some(130))]
    {
        let mut child = scene.0.0.command(&python("one", &busy)).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "busy\n");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let told = child.wait_with_output().unwrap();
        assert_eq!(told.status.code(), code, "{told:?}");
        assert_eq!(scene.python("one", "p.kill(); (p.wait(), x)", &[]).stdout, "(-9, 1)\n");
        assert!(eventually(|| marked(&mark) == 0));
    }
    let journal = fs::read_to_string(scene.0.0.journal()).unwrap();
    let cancelled = journal.lines().filter(|line| line.contains("\"cancelled\"")).count();
    assert_eq!(cancelled, 3, "{journal}");
}

#[test]
fn calls_that_are_over_are_listed_no_more() {
    let Some(scene) = Scene::new() else { return };
    let mut command = scene.0.0.command(&["call", "--mode", "auto"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut reports = BufReader::new(child.stdout.take().unwrap());
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..3 {
        let call = json!({"tool": "Bash", "input": {"command": "true"}, "session": "one"});
        std::io::Write::write_all(&mut stdin, format!("{call}\n").as_bytes()).unwrap();
        let mut report = String::new();
        reports.read_line(&mut report).unwrap();
        assert!(report.contains("\"exit_code\":0"), "{report}");
    }
    // The command that has made them still waits for others.
    assert!(eventually(|| scene.0.ps()[0]["calls"] == json!([])), "{:?}", scene.0.ps());
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn another_policy_is_told_so_and_the_session_goes_on() {
    let Some(scene) = Scene::new() else { return };
    scene.python("one", "x = 1", &[]);
    for other in [["--memory", "100M"], ["--mode", "bypass"], ["--net", "host"]] {
        let told = scene.python("one", "x", &other);
        assert!(told.code == 125 && told.stderr.contains("another policy"), "{told:?}");
    }
    scene.0.0.write("stockade.toml", "[rules]\ndeny = [\"Code\"]\n");
    let told = scene.python("one", "x", &[]);
    assert!(told.code == 125 && told.stderr.contains("another policy"), "{told:?}");
    fs::remove_file(scene.0.0.path("stockade.toml")).unwrap();
    assert_eq!(scene.python("one", "x", &[]).stdout, "1\n");
}

#[test]
fn a_session_with_nothing_to_do_ends_with_its_interpreter() {
    let Some(scene) = Scene::new() else { return };
    let policy = scene.0.0.beside("policy.toml");
    fs::write(&policy, "[session]\nidle = \"300ms\"\n").unwrap();
    let policy = ["--policy", policy.to_str().unwrap()];
    let mark = marker();
    scene.python("one", &format!("x = 1\n{}", sleeper(&mark)), &policy);
    assert!(eventually(|| scene.0.ps().is_empty() && marked(&mark) == 0));
    assert_eq!(scene.python("one", "'x' in globals()", &policy).stdout, "False\n");
}

#[test]
fn a_name_that_is_none_and_a_language_without_sessions_are_told() {
    let Some(scene) = Scene::new() else { return };
    let told = scene.python("../one", "1", &[]);
    assert!(told.code == 125 && told.stderr.contains("1 to 64 letters"), "{told:?}");
    let told = scene.stockade(&["code", "--lang", "bash", "--session", "one", "-e", "x=1"]);
    assert!(
        told.code == 125 && told.stderr.contains(message!("sessions.no-sessions", "bash")),
        "{told:?}"
    );
    let told = scene.stockade(&["code", "-e", "1"]);
    assert!(told.code == 125 && told.stderr.contains("--lang"), "{told:?}");
}
