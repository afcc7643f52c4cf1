//! Single ports on the command line and in policy files.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use crate::conversation::{Scene, eventually};
use crate::support::{Project, Told};

/// A client: what `127.0.0.1` says on a port.
const ASK: &str = "import socket, sys
server = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 60)
server.sendall(b'hello'); server.shutdown(socket.SHUT_WR)
print(server.recv(100).decode())
";

/// A service of this machine that answers one client, and its port.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut client, mut said) = (listener.accept().unwrap().0, String::new());
        client.read_to_string(&mut said).unwrap();
        client.write_all(format!("host:{said}").as_bytes()).unwrap();
    });
    port.to_string()
}

#[test]
fn a_port_of_this_machine_is_opened_by_an_option_or_by_a_policy() {
    let project = Project::new();
    project.write("ask.py", ASK);
    let port = service();
    let typed = ["--net", "loopback", "--host-port", &port];
    let call = ["--", "python3", "ask.py", &port];
    let told = project.stockade(&[&["run"][..], &typed, &call].concat());
    assert_eq!((told.code, told.stdout.as_str()), (0, "host:hello\n"), "{told:?}");
    let port = service();
    let policy = project.beside("policy.toml");
    std::fs::write(&policy, format!("box.host_ports = [{port}]\n")).unwrap();
    let policy = ["--policy", policy.to_str().unwrap(), "--json"];
    let call = ["--", "python3", "ask.py", &port];
    let told = project.stockade(&[&["run"][..], &policy, &call].concat()).json();
    assert_eq!(told["stdout"], "host:hello\n", "{told:#}");
}

#[test]
fn a_port_that_cannot_be_opened_is_an_error_that_says_what_to_do() {
    let project = Project::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (options, says) in [
        (["--publish", &port].as_slice(), message!("ports.publish-another-port")),
        (&["--net", "none", "--publish", "3000"], "hint: add --net loopback"),
        (&["--net", "none", "--host-port", "3000"], "hint: add --net loopback"),
        (&["--tier", "process", "--publish", "3000"], message!("plan.use-tier-jail-remove")),
    ] {
        let told = project.stockade(&[&["run"][..], options, &["--", "touch", "ran"]].concat());
        assert_eq!(told.code, 125, "{told:?}");
        assert!(told.stderr.contains(says), "{options:?}: {told:?}");
    }
    for bad in ["0", "65536", "http", "-1"] {
        let told = project.stockade(&["run", &format!("--publish={bad}"), "--", "touch", "ran"]);
        assert!(told.code != 0 && told.stderr.contains("--publish"), "{told:?}");
    }
    assert!(!project.path("ran").exists());
}

#[test]
fn a_project_opens_no_port_before_it_is_trusted() {
    let project = Project::new();
    for key in ["publish", "host_ports"] {
        project.write("stockade.toml", &format!("# of the project\nbox.{key} = [3000]\n"));
        let told = project.stockade(&["run", "--", "touch", "ran"]);
        assert_eq!(told.code, 125, "{told:?}");
        let says = message!("load.would-loosen", 2, format!("box.{key}"));
        assert!(told.stderr.contains(says), "{told:?}");
    }
    assert!(!project.path("ran").exists());
}

/// What a report says of the network: how well it is kept, and the note.
fn network(told: &Told) -> (String, String) {
    let report = told.json();
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == "network").unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&line["kept"]), text(&line["note"]))
}

/// A call of a session with a port of its own, which leaves something running.
fn keep<'a>(session: &'a str, option: &'a str, port: &'a str) -> [&'a str; 7] {
    ["shell", "--mode=auto", "--session", session, option, port, "sleep 600 & :"]
}

#[test]
fn a_port_that_another_call_of_the_session_has_opened_is_told_and_can_be_forbidden() {
    let scene = Scene::new();
    let project = &scene.0;
    project.write("ask.py", ASK);
    let strict = project.beside("strict.toml");
    std::fs::write(&strict, "box.require = ['tier', 'network']\n").unwrap();
    let strict = ["--policy", strict.to_str().unwrap(), "--json"];
    let run = |session: &str, options: &[&str], argv: &[&str]| {
        let begin = ["run", "--session", session];
        project.stockade(&[&begin[..], options, &["--"], argv].concat())
    };
    let is_whole = |session: &str| {
        let told = run(session, &strict, &["true"]);
        assert_eq!((told.code, network(&told).0.as_str()), (0, "full"), "{told:?}");
    };
    is_whole("reach");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let host = service();
    for (session, option, port, says) in [
        ("reach", "--host-port", &host, message!("ports.machine-port", host)),
        ("serve", "--publish", &free, message!("ports.sandbox-port", free)),
    ] {
        let told = project.stockade(&keep(session, option, port));
        assert_eq!(told.code, 0, "{told:?}");
        // Without the option a call of the session is in the same network.
        let told = run(session, &["--json"], &["true"]);
        let (kept, note) = network(&told);
        assert!(kept == "partial" && note.contains(says), "{told:?}");
        let told = run(session, &strict, &["touch", "ran"]);
        let failure = &told.json()["failure"];
        assert_eq!((told.code, &failure["kind"]), (125, &"keep-required".into()), "{told:?}");
        assert!(failure["message"].as_str().unwrap().contains(says), "{told:?}");
        let remedy = failure["remedy"].as_str().unwrap();
        assert!(remedy.contains(&format!("stockade kill {session}")), "{told:?}");
        // Code in an interpreter of the session, too, in the first call and in a later one.
        for _ in 0..2 {
            let code = ["code", "--session", session, "--lang", "python", "-e", "1", "--json"];
            assert_eq!(network(&project.stockade(&code)).0, "partial");
        }
        // The control: other sessions have other networks.
        is_whole("other");
    }
    let told = run("reach", &["--json"], &["python3", "ask.py", &host]);
    assert_eq!(told.json()["stdout"], "host:hello\n", "the port is open, whoever has opened it");
    assert!(!project.path("ran").exists());
    // With the call that has opened it, it is closed.
    for session in ["reach", "serve"] {
        assert_eq!(project.stockade(&["kill", session]).code, 0);
        is_whole(session);
    }
}

#[test]
fn a_port_that_is_opened_while_a_call_of_the_session_runs_is_told_by_its_report() {
    let scene = Scene::new();
    let project = &scene.0;
    let wait = "touch started; until [ -e go ]; do sleep 0.05; done";
    let begin = |session: &str| {
        let call = ["shell", "--mode=auto", "--json", "--session", session, wait];
        project.command(&call).spawn().unwrap()
    };
    let port = service();
    for (session, expected) in [("work", "partial"), ("other", "full")] {
        let running = begin(session);
        assert!(eventually(|| project.path("started").exists()));
        // In the session of the call, and then, as the control, not.
        let told = project.stockade(&keep("work", "--host-port", &port));
        assert_eq!(told.code, 0, "{told:?}");
        project.write("go", "");
        let told = Told::from(running.wait_with_output().unwrap());
        assert_eq!(network(&told).0, expected, "{told:?}");
        for name in ["go", "started"] {
            std::fs::remove_file(project.path(name)).unwrap();
        }
        assert_eq!(project.stockade(&["kill", "work"]).code, 0);
    }
}
