//! Calls of one session: what they share, where they begin, and what they leave running.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stockade::call::SessionName;
use stockade::limits::{ByteCount, LimitHit, Limits};
use stockade::policy::{Mode, Policy};
use stockade::{Report, Stockade, ToolCall};

use crate::support::{Project, eventually, is_root, json};

/// As long as anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn policy() -> Policy {
    Policy { mode: Mode::Auto, ..Policy::shipped() }
}

fn name(text: &str) -> SessionName {
    text.parse().unwrap()
}

fn line(text: &str) -> ToolCall {
    ToolCall::line(text).in_session(name("work"))
}

fn output(report: &Report) -> String {
    String::from_utf8(report.outcome().unwrap().stdout.bytes.clone()).unwrap()
}

/// Runs a line that has to end well; its output.
fn said(stockade: &Stockade, text: &str) -> String {
    let report = stockade.run(line(text));
    assert!(report.ok(), "{:#}", json(&report));
    output(&report)
}

/// A server on a port of the loopback, in the background, and a client of it.
fn serve(port: u16) -> String {
    format!(
        "python3 -c 'import socket
s = socket.socket(); s.bind((\"127.0.0.1\", {port})); s.listen()
open(\"/tmp/ready-{port}\", \"w\").close()
while True:
    c, _ = s.accept(); c.sendall(b\"served\"); c.close(); print(\"one\", flush=True)' & \
         while [ ! -e /tmp/ready-{port} ]; do sleep 0.01; done"
    )
}

fn ask(port: u16) -> String {
    format!(
        "python3 -c 'import socket
print(socket.create_connection((\"127.0.0.1\", {port}), 5).recv(9).decode())'"
    )
}

#[test]
fn calls_share_temporary_files_the_home_and_the_working_directory() {
    let project = Project::new();
    fs::create_dir_all(project.path("src/deep")).unwrap();
    let stockade = project.open(policy());
    said(&stockade, "echo kept > /tmp/x; echo home > ~/y; cd src/deep");
    let seen = said(&stockade, "pwd; cat /tmp/x ~/y; echo $STOCKADE $STOCKADE_SESSION");
    let deep = project.path("src/deep");
    assert_eq!(seen, format!("{}\nkept\nhome\n1 work\n", deep.display()));
    // Another session, and a call without one, have their own.
    for call in
        [ToolCall::line("pwd; ls /tmp").in_session(name("other")), ToolCall::line("pwd; ls /tmp")]
    {
        let report = stockade.run(call);
        assert_eq!(output(&report), format!("{}\nhome\n", project.root().display()));
    }
    let report = json(&stockade.run(line("cd ..")));
    assert_eq!(report["session"]["name"], "work");
    assert_eq!(report["session"]["cwd"], project.path("src").to_str().unwrap());
    assert_eq!(
        (&report["session"]["calls"], &report["session"]["new"]),
        (&3.into(), &false.into())
    );
    // A call that names a directory begins there.
    let report = stockade.run(line("pwd").in_folder(project.root()));
    assert_eq!(output(&report).trim_end(), project.root().to_str().unwrap());
}

#[test]
fn only_a_directory_beneath_the_root_is_carried_over() {
    let project = Project::new();
    let odd = "a $(touch pwned)\n'b";
    fs::create_dir_all(project.path(odd)).unwrap();
    fs::create_dir_all(project.path("real/in")).unwrap();
    std::os::unix::fs::symlink("real", project.path("link")).unwrap();
    let stockade = project.open(policy());
    let here = |text: &str| {
        let report = json(&stockade.run(line(text)));
        assert_eq!(report["denied"], false, "{report:#}");
        said(&stockade, "pwd -P; ls")
    };
    let at = |name: &str| format!("{}\n", project.path(name).display());
    assert!(here("cd a*b").starts_with(&at(odd)));
    // By the path that it really has.
    let seen = here("cd ../link/in");
    assert!(seen.starts_with(&at("real/in")), "{seen}");
    for outside in ["cd /tmp", "cd /", "cd ~", "cd /usr; exit 3"] {
        assert!(here(outside).starts_with(&at("real/in")), "{outside}");
    }
    assert!(!project.path("pwned").exists() && !project.path(odd).join("pwned").exists());
    // A child's directory, and that of a program, are their own.
    stockade.run(ToolCall::exec(["sh", "-c", "cd .."]).in_session(name("work")));
    assert!(here("(cd ..)").starts_with(&at("real/in")));
    // Neither does a line in the background set it.
    stockade.run(line("cd ..").in_background());
    assert!(said(&stockade, "pwd").starts_with(&at("real/in")));
    // One that is gone is said to be, and the root takes its place.
    fs::rename(project.path("real"), project.path("moved")).unwrap();
    let report = stockade.run(line("pwd"));
    let notes = &report.outcome().unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("is gone")), "{notes:?}");
    assert_eq!(output(&report).trim_end(), project.root().to_str().unwrap());
}

#[test]
fn lines_at_the_same_time_do_not_set_the_working_directory() {
    let project = Project::new();
    fs::create_dir(project.path("one")).unwrap();
    let stockade = project.open(policy());
    thread::scope(|scope| {
        let wait = "cd one; touch ../begun; while [ ! -e ../go ]; do sleep 0.01; done";
        let first = scope.spawn(|| stockade.run(line(wait)));
        assert!(eventually(LONG, || project.path("begun").exists()));
        let second = stockade.run(line("cd one"));
        fs::write(project.path("go"), "").unwrap();
        for report in [first.join().unwrap(), second] {
            assert!(report.ok());
            assert_eq!(json(&report)["session"]["cwd"], Value::Null);
        }
    });
    assert_eq!(said(&stockade, "pwd").trim_end(), project.root().to_str().unwrap());
}

#[test]
fn a_server_that_a_call_leaves_running_serves_the_next_ones_until_it_is_ended() {
    let project = Project::new();
    let stockade = project.open(policy());
    let report = json(&stockade.run(line(&serve(7070))));
    let left = &report["left_running"];
    assert_eq!(left[0]["ports"], serde_json::json!([7070]), "{report:#}");
    assert!(left[0]["command"].as_str().unwrap().starts_with("python3 -c"), "{left}");
    assert!(left[0]["pid"].as_u64().unwrap() > 1);
    let call = report["call"].as_str().unwrap();
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("left running: python3 -c import socket"), "{note}");
    assert!(note.contains(&format!("stockade kill {call}")), "{note}");
    assert_eq!(said(&stockade, &ask(7070)), "served\n");
    // Its later output is in a log, and no call of another session reaches it.
    let session = stockade.sessions().get(&name("work"));
    let kept = session.left();
    assert_eq!(kept[0].call().as_str(), call);
    assert!(eventually(LONG, || kept[0].log().read().unwrap() == b"one\n"));
    let other = stockade.run(ToolCall::line(ask(7070)).in_session(name("other")));
    assert!(!other.ok());
    let alone = stockade.run(ToolCall::line(ask(7070)));
    assert!(!alone.ok());
    // It is neither seen nor signalled by later calls.
    let seen =
        said(&stockade, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; pkill python3; kill -9 -1 || :");
    assert!(!seen.contains("7070"), "{seen}");
    assert_eq!(said(&stockade, &ask(7070)), "served\n");
    kept[0].kill();
    assert!(eventually(LONG, || session.left().is_empty()));
    assert!(!stockade.run(line(&ask(7070))).ok());
    // The end has a second line in the journal.
    let journal = fs::read_to_string(project.journal()).unwrap();
    let ended: Vec<Value> = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["event"] == "left_ended")
        .collect();
    assert_eq!(
        (ended.len(), &ended[0]["call"], &ended[0]["limit"]),
        (1, &call.into(), &"cancelled".into())
    );
}

#[test]
fn what_is_left_running_ends_with_its_session_and_with_its_host() {
    let project = Project::new();
    let stockade = project.open(policy());
    let leave = |mark: &str| {
        let alive = format!("(while :; do touch {mark}; sleep 0.05; done) & sleep 0.2");
        stockade.run(line(&alive))
    };
    let stops = |mark: &str| {
        let _removed = fs::remove_file(project.path(mark));
        thread::sleep(Duration::from_millis(300));
        !project.path(mark).exists()
    };
    assert!(!leave("a").outcome().unwrap().left_running.is_empty());
    fs::remove_file(project.path("a")).unwrap();
    assert!(eventually(LONG, || project.path("a").exists()), "the control: it goes on");
    assert!(stockade.sessions().end(&name("work")));
    assert!(stops("a"));
    assert!(!stockade.sessions().end(&name("work")));
    // The next call of that name begins anew.
    assert_eq!(json(&leave("b"))["session"]["new"], true);
    drop(stockade);
    assert!(stops("b"));
}

#[test]
fn nothing_is_left_running_without_a_session_in_plan_mode_or_after_a_limit() {
    let project = Project::new();
    let alive = "(while :; do touch mark; sleep 0.05; done) & sleep 0.2";
    let is_running = || {
        let _removed = fs::remove_file(project.path("mark"));
        thread::sleep(Duration::from_millis(300));
        project.path("mark").exists()
    };
    let stockade = project.open(policy());
    let report = stockade.run(ToolCall::line(alive));
    assert!(report.ok() && report.outcome().unwrap().left_running.is_empty());
    assert!(!is_running());
    // A deadline.
    let mut late = line(&format!("{alive}; sleep 60"));
    late.wall = Some(Duration::from_secs(1));
    let report = stockade.run(late);
    assert!(report.timed_out() && report.outcome().unwrap().left_running.is_empty());
    assert!(!is_running());
    // The caller.
    let running = stockade.start(line(&format!("{alive}; echo up; sleep 60"))).unwrap();
    assert!(running.next_event().is_some());
    running.cancel();
    assert!(running.wait().outcome().unwrap().left_running.is_empty());
    assert!(!is_running());
    // A mode that only looks.
    let stockade = project.open(Policy { mode: Mode::Plan, ..Policy::shipped() });
    let report = stockade.run(line("sleep 300 & true"));
    if let Some(outcome) = report.outcome() {
        assert!(outcome.left_running.is_empty(), "{:#}", json(&report));
    }
    assert!(stockade.sessions().get(&name("work")).left().is_empty());
}

#[test]
fn what_calls_leave_running_is_held_to_the_limits_of_their_session() {
    let project = Project::new();
    let mut policy = policy();
    policy.session.processes = 12;
    policy.session.memory = ByteCount::mib(256);
    let stockade = project.open(policy);
    let session = stockade.sessions().get(&name("work"));
    let sleeps = |count: u32| {
        let text = format!("for i in $(seq {count}); do sleep 300 & done");
        assert!(stockade.run(line(&text)).ok());
    };
    sleeps(4);
    let small = session.left()[0].call().clone();
    sleeps(10);
    // The larger of the two ends, and the smaller stays.
    assert!(eventually(LONG, || session.left().len() == 1));
    assert_eq!(session.left()[0].call(), &small);
    let hog = "python3 -c 'x = bytearray(400 << 20); open(\"up\", \"w\").close()
import time; time.sleep(300)' & while [ ! -e up ]; do sleep 0.05; done";
    assert!(stockade.run(line(hog)).ok());
    assert!(eventually(LONG, || session.left().len() == 1));
    assert_eq!(session.left()[0].call(), &small);
    session.left()[0].kill();
    session.wait();
    let journal = fs::read_to_string(project.journal()).unwrap();
    for limit in [LimitHit::Processes, LimitHit::Memory, LimitHit::Cancelled] {
        let told = format!("\"limit\":\"{}\"", limit.name());
        let ends = |line: &&str| line.contains("left_ended") && line.contains(&told);
        assert_eq!(journal.lines().filter(ends).count(), 1, "{}", limit.name());
    }
}

#[test]
fn a_call_that_stays_keeps_its_own_limits_but_its_deadline() {
    let project = Project::new();
    let mut policy = policy();
    policy.limits = Limits { wall: Duration::from_secs(10), processes: Some(16), ..policy.limits };
    let stockade = project.open(policy);
    let session = stockade.sessions().get(&name("work"));
    assert!(stockade.run(line("sleep 300 & :")).ok());
    thread::sleep(Duration::from_millis(10500));
    assert_eq!(session.left().len(), 1);
    // One that forks on does not get far.
    let forks = "(sleep 1; while :; do sleep 300 & done) 2>/dev/null & :";
    assert!(stockade.run(line(forks)).ok());
    assert!(eventually(LONG, || session.left().len() == 1));
}

#[test]
fn other_tiers_have_no_sessions_and_say_so() {
    let project = Project::new();
    let policy =
        Policy { tier: stockade::tier::Tier::Process, mode: Mode::Bypass, ..Policy::shipped() };
    let report = json(&project.open(policy).run(line("true")));
    assert_eq!(report["failure"]["kind"], "use-session");
    assert!(report["failure"]["remedy"].as_str().unwrap().contains("--tier jail"), "{report:#}");
}

#[test]
fn what_has_ended_is_not_left_running() {
    let project = Project::new();
    let stockade = project.open(policy());
    // A process that the shell has reaped, and one that has ended and that its parent does not reap.
    let unreaped = "exec python3 -c 'import os
pid = os.fork()
if pid == 0: os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)'";
    for text in ["sleep 0.05 & wait", unreaped] {
        let report = stockade.run(line(text));
        assert!(report.ok(), "{:#}", json(&report));
        assert_eq!(report.outcome().unwrap().left_running, []);
    }
    assert!(stockade.sessions().get(&name("work")).left().is_empty());
}

#[test]
fn git_on_the_host_does_not_end_what_is_left_running() {
    let project = Project::new();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(args).current_dir(project.root()).env("HOME", project.beside("home"));
        assert!(command.status().unwrap().success());
    };
    git(&["init", "-q"]);
    let stockade = project.open(policy());
    let waits = "(while [ ! -e go ]; do sleep 0.02; done; echo evil >> .git/config; \
                 echo evil > .git/hooks/pre-commit; echo tried > done; sleep 300) 2>/dev/null & :";
    assert!(stockade.run(line(waits)).ok());
    git(&["config", "user.name", "somebody"]);
    thread::sleep(Duration::from_millis(400));
    fs::write(project.path("go"), "").unwrap();
    assert!(eventually(LONG, || project.path("done").exists()));
    assert_eq!(stockade.sessions().get(&name("work")).left().len(), 1);
    let config = fs::read_to_string(project.path(".git/config")).unwrap();
    assert!(config.contains("somebody") && !config.contains("evil"), "{config}");
    assert!(!project.path(".git/hooks/pre-commit").exists());
}

/// Waits for the configuration of a repository in the working directory and adds a line to it.
const WRITES: &str = "(while [ ! -e .git/config ]; do :; done; echo evil >> .git/config; \
                      touch wrote; sleep 300) > /dev/null 2>&1 &";

#[test]
fn a_repository_that_appears_ends_what_is_left_running_beside_it() {
    let project = Project::new();
    let stockade = project.open(policy());
    let report = stockade.run(line("sleep 300 & touch here; true"));
    assert_eq!(json(&report)["left_running"].as_array().unwrap().len(), 1);
    let session = stockade.sessions().get(&name("work"));
    let left = session.left();
    // As long as there is none, other names end nothing.
    fs::create_dir(project.path("src")).unwrap();
    assert!(!left[0].wait_end(Duration::from_millis(1500)));
    fs::create_dir(project.path(".git")).unwrap();
    assert!(left[0].wait_end(LONG));
    assert_eq!(session.left().len(), 0);
}

#[test]
fn a_protected_path_that_the_host_creates_ends_what_is_left_running_beside_it() {
    for name_of in [".mcp.json", ".envrc"] {
        let project = Project::new();
        let stockade = project.open(policy());
        assert!(stockade.run(line("sleep 300 & :")).ok());
        let left = stockade.sessions().get(&name("work")).left();
        // Any other name ends nothing.
        fs::write(project.path("notes.json"), "").unwrap();
        assert!(!left[0].wait_end(Duration::from_millis(1500)));
        fs::write(project.path(name_of), "").unwrap();
        assert!(left[0].wait_end(LONG), "{name_of}");
        assert!(project.path(name_of).exists());
    }
}

#[test]
fn a_repository_that_is_replaced_ends_what_is_left_running_beside_it() {
    let project = Project::new();
    fs::create_dir(project.path(".git")).unwrap();
    fs::write(project.path(".git/config"), "good\n").unwrap();
    let stockade = project.open(policy());
    assert!(stockade.run(line("sleep 300 & :")).ok());
    let left = stockade.sessions().get(&name("work")).left();
    fs::rename(project.path(".git"), project.path("old")).unwrap();
    fs::create_dir(project.path(".git")).unwrap();
    assert!(left[0].wait_end(LONG));
}

#[test]
fn a_repository_under_another_name_is_read_only_for_what_is_left_running() {
    let project = Project::new();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(args).current_dir(project.root()).env("HOME", project.beside("home"));
        assert!(command.status().unwrap().success());
    };
    git(&["init", "-q", "--separate-git-dir=gd"]);
    let stockade = project.open(policy());
    let waits = "(while [ ! -e go ]; do sleep 0.02; done; echo evil >> gd/config; echo tried > done; \
                 sleep 300) 2>/dev/null & :";
    assert!(stockade.run(line(waits)).ok());
    git(&["config", "user.name", "somebody"]);
    fs::write(project.path("go"), "").unwrap();
    assert!(eventually(LONG, || project.path("done").exists()));
    let config = fs::read_to_string(project.path("gd/config")).unwrap();
    assert!(config.contains("somebody") && !config.contains("evil"), "{config}");
}

#[test]
fn a_call_that_makes_a_repository_leaves_nothing_running_beside_it() {
    let project = Project::new();
    let stockade = project.open(policy());
    let report = stockade.run(line(&format!("{WRITES} mkdir .git; true")));
    let report = json(&report);
    assert_eq!((&report["ok"], &report["left_running"]), (&true.into(), &Value::Null));
    fs::write(project.path(".git/config"), "good\n").unwrap();
    // The next call has a sandbox that protects it, and may leave something running.
    let report = json(&stockade.run(line(WRITES)));
    assert!(!report["left_running"].as_array().unwrap().is_empty(), "{report:#}");
    assert!(eventually(LONG, || project.path("wrote").exists()));
    assert_eq!(fs::read_to_string(project.path(".git/config")).unwrap(), "good\n");
}

#[test]
fn a_call_whose_git_folder_stays_writable_ends_its_session() {
    let project = Project::new();
    fs::create_dir(project.path(".git")).unwrap();
    fs::write(project.path(".git/config"), "good\n").unwrap();
    let stockade = project.open(policy());
    let holds = "python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind(\"/tmp/s\"); s.listen(); open(\"/tmp/up\", \"w\").close()
c, _ = s.accept(); held = c.recvmsg(9, 100); open(\"/tmp/held\", \"w\").close(); time.sleep(300)' \
                 > /dev/null 2>&1 & while [ ! -e /tmp/up ]; do sleep 0.01; done";
    let report = json(&stockade.run(line(holds)));
    assert_eq!(report["left_running"].as_array().unwrap().len(), 1, "{report:#}");
    let left = stockade.sessions().get(&name("work")).left();
    let passes = |flags: &str| {
        format!(
            "python3 -c 'import array, os, socket, time
s = socket.socket(socket.AF_UNIX); s.connect(\"/tmp/s\")
rights = array.array(\"i\", [os.open(\".git/{flags}, 0o600)])
s.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
while not os.path.exists(\"/tmp/held\"): time.sleep(0.02)'"
        )
    };
    let report = json(&stockade.run(line(&passes("index\", os.O_WRONLY | os.O_CREAT"))));
    assert_eq!(
        (&report["ok"], &report["session"]["alive"]),
        (&true.into(), &false.into()),
        "{report:#}"
    );
    assert!(left[0].wait_end(LONG));
    // The next call begins a session of its own.
    let report = json(&stockade.run(line("ls /tmp")));
    assert_eq!(
        (&report["session"]["new"], &report["session"]["alive"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn a_call_that_closes_the_folder_of_its_session_closes_it_to_no_other() {
    let project = Project::new();
    let stockade = project.open(policy());
    stockade.run(line("echo kept > /tmp/x; chmod 0 /tmp"));
    assert_eq!(said(&stockade, "cat /tmp/x; stat -c %a /tmp"), "kept\n1777\n");
    stockade.run(line("echo kept > ~/y; chmod 0 ~"));
    assert_eq!(
        said(&stockade, "cat ~/y; stat -c %a ~; touch ~/z && echo made"),
        "kept\n1777\nmade\n"
    );
    // The control: a folder of the call's own making stays as it was left.
    stockade.run(line("mkdir /tmp/own; chmod 0 /tmp/own"));
    assert_eq!(said(&stockade, "stat -c %a /tmp/own"), "0\n");
}

/// A process that hides its open files says nothing of its ports, and that is not to be read as none.
#[test]
fn ports_of_a_process_that_hides_its_open_files_are_not_known() {
    let project = Project::new();
    let stockade = project.open(policy());
    let server = |port: u16, hides: bool| {
        let hide = if hides { "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); " } else { "" };
        format!(
            "python3 -c 'import ctypes, socket, time
s = socket.socket(); s.bind((\"127.0.0.1\", {port})); s.listen(); {hide}
open(\"/tmp/ready-{port}\", \"w\").close(); time.sleep(600)' & \
             while [ ! -e /tmp/ready-{port} ]; do sleep 0.01; done"
        )
    };
    // The control: one that hides nothing.
    for (port, hides) in [(7311, false), (7312, true)] {
        let report = json(&stockade.run(line(&server(port, hides))));
        let expected = if hides && !is_root() { Value::Null } else { [port].into() };
        assert_eq!(report["left_running"][0]["ports"], expected, "{report:#}");
        if expected.is_null() {
            assert!(report["notes"].to_string().contains("ports unknown"), "{report:#}");
        }
    }
}
