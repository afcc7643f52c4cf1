//! Single ports on the command line and in policy files.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::support::Project;

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
