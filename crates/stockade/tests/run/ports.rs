//! Ports that connect the loopback of a sandbox with that of this machine, and nothing else.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stockade::call::{Language, SessionName};
use stockade::confine::Network;
use stockade::policy::Mode;
use stockade::tier::Tier;
use stockade::{OutputEvent, Policy, Report, Running, Stockade, ToolCall};

use crate::jail::{jailed, project};
use crate::support::{Project, copy_program, eventually, exec, has, is_root, json, kept, text};

/// As long as anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// A server in the sandbox: it says that it is up, and then, as told, sends what it gets back once that has
/// ended, never reads, or sends a lot and exits.
const SERVE: &str = "
import socket, sys, threading
family = socket.AF_INET6 if ':' in sys.argv[2] else socket.AF_INET
server = socket.create_server((sys.argv[2], int(sys.argv[1])), family=family, backlog=128)
print('up', flush=True)
kept = []
def echo(client):
    got = []
    while piece := client.recv(65536): got.append(piece)
    for piece in got: client.sendall(piece)
    client.close()
while True:
    client = server.accept()[0]
    if sys.argv[3] == 'deaf': kept.append(client)
    elif sys.argv[3] == 'rush':
        client.sendall(b'x' * (8 << 20)); sys.exit()
    else: threading.Thread(target=echo, args=[client], daemon=True).start()
";

/// A client in the sandbox: what each host says on a port.
const ASK: &str = "
import socket, sys
for host in ['127.0.0.1', '::1']:
    try:
        server = socket.create_connection((host, int(sys.argv[1])), 60)
        server.sendall(b'hello'); server.shutdown(socket.SHUT_WR)
        print(server.recv(100).decode())
    except OSError as error: print(error.errno)
";

fn port(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

/// A port of this machine that nobody has.
fn free() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn publishing(number: u16) -> Policy {
    jailed(|policy| policy.ports.publish = vec![port(number)])
}

fn reaching(number: u16) -> Policy {
    jailed(|policy| policy.ports.host = vec![port(number)])
}

/// A project for sandboxes with a server and a client in it.
fn ground() -> Option<Project> {
    let project = project()?;
    if !has("python3") {
        return None;
    }
    project.script("serve.py", SERVE);
    project.script("ask.py", ASK);
    Some(project)
}

/// A service of this machine that answers `host` to whoever has said all.
fn host_service() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut said) = (client.unwrap(), String::new());
            client.read_to_string(&mut said).unwrap();
            client.write_all(format!("host:{said}").as_bytes()).unwrap();
        }
    });
    port
}

/// Starts a server on a published port, which somebody else may have taken meanwhile.
fn serve(project: &Project, address: &str, how: &str) -> (Running, u16) {
    let try_one = |_| {
        let number = free();
        let stockade = project.open(publishing(number));
        let argv = ["python3", "serve.py", &number.to_string(), address, how];
        let running = stockade.start(exec(&argv)).inspect_err(|report| {
            assert_eq!(json(report)["failure"]["kind"], "open-ports");
        });
        Some((running.ok()?, number))
    };
    let (running, number) = (0..10).find_map(try_one).unwrap();
    assert_eq!(running.next_event(), Some(OutputEvent::Stdout(b"up\n".to_vec())));
    (running, number)
}

fn dial(number: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, number)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends all of this, says that it is all, and gives what comes back.
fn exchange(mut stream: TcpStream, sent: &[u8]) -> Vec<u8> {
    let mut writer = stream.try_clone().unwrap();
    let mut received = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            writer.write_all(sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        stream.read_to_end(&mut received).unwrap();
    });
    received
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| u8::try_from(at.wrapping_mul(31) % 251).unwrap()).collect()
}

fn note<'a>(report: &'a Value, guarantee: &str) -> &'a str {
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == guarantee).unwrap();
    line["note"].as_str().unwrap_or_default()
}

#[test]
fn a_published_port_is_reached_from_this_machines_loopback_and_no_other_is() {
    let Some(project) = ground() else { return };
    let (running, number) = serve(&project, "127.0.0.1", "echo");
    // Each side says that it has ended, and hears the other to its end.
    assert_eq!(exchange(dial(number), b"hello"), b"hello");
    assert_eq!(exchange(dial(number), b""), b"");
    let large = bytes(1 << 20);
    assert!(exchange(dial(number), &large) == large, "1 MiB arrives as it was sent, both ways");
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let over_v6 = TcpStream::connect((Ipv6Addr::LOCALHOST, number)).unwrap();
        assert_eq!(exchange(over_v6, b"six"), b"six");
    }
    // It listens on the loopback only.
    let listening = fs::read_to_string("/proc/net/tcp").unwrap();
    assert!(!listening.contains(&format!(" 00000000:{number:04X} ")), "{listening}");
    running.cancel();
    let report = json(&running.wait());
    assert_eq!(kept(&report, "network"), "partial", "{report:#}");
    let told = message!("ports.sandbox-port", number);
    assert!(note(&report, "network").contains(told), "{report:#}");
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, number)).is_err(), "it ends with the call");
}

#[test]
fn a_server_that_has_only_the_other_family_is_reached_too() {
    let Some(project) = ground() else { return };
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return crate::support::skip("ipv6", "there is no IPv6 here");
    }
    let (running, number) = serve(&project, "::1", "echo");
    assert_eq!(exchange(dial(number), b"hello"), b"hello");
    drop(running);
}

#[test]
fn many_connections_come_through_one_after_another_and_at_once() {
    let Some(project) = ground() else { return };
    let (running, number) = serve(&project, "127.0.0.1", "echo");
    for at in 0..200_u32 {
        assert_eq!(exchange(dial(number), &at.to_ne_bytes()), at.to_ne_bytes());
    }
    // All of them are open before the first is used, and more wait until there is room.
    let streams: Vec<TcpStream> = (0..80).map(|_| dial(number)).collect();
    thread::scope(|scope| {
        for (at, stream) in streams.into_iter().enumerate() {
            scope.spawn(move || {
                let sent = bytes(10_000 + at);
                assert!(exchange(stream, &sent) == sent);
            });
        }
    });
    drop(running);
}

#[test]
fn a_peer_that_never_reads_holds_up_the_sender_and_neither_memory_nor_the_end() {
    let Some(project) = ground() else { return };
    let (running, number) = serve(&project, "127.0.0.1", "deaf");
    let mut stream = dial(number);
    stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let (piece, mut sent) = (vec![7; 1 << 16], 0);
    let error = loop {
        match stream.write(&piece) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
        assert!(sent < 64 << 20, "somebody keeps what nobody reads");
    };
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    running.cancel();
    assert!(running.wait().is_cancelled());
}

#[test]
fn what_a_program_has_sent_arrives_after_its_end() {
    let Some(project) = ground() else { return };
    let (running, number) = serve(&project, "127.0.0.1", "rush");
    let received = exchange(dial(number), b"");
    assert_eq!(received.len(), 8 << 20);
    assert_eq!(running.wait().exit_code(), Some(0));
}

#[test]
fn a_port_without_a_server_resets_its_clients() {
    let Some(project) = ground() else { return };
    let number = free();
    let stockade = project.open(publishing(number));
    let running = stockade.start(exec(&["sleep", "600"])).unwrap();
    let mut client = dial(number);
    let ended = client.read(&mut [0; 8]);
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    drop(running);
}

#[test]
fn a_service_of_this_machine_is_reached_inside_and_others_are_not() {
    let Some(project) = ground() else { return };
    let (open, closed) = (host_service(), host_service());
    let ask = |policy: Policy, number: u16| {
        project.run_with(policy, exec(&["python3", "ask.py", &number.to_string()]))
    };
    let report = ask(reaching(open), open);
    assert_eq!(text(&report, "stdout"), "host:hello\nhost:hello\n", "{report:#}");
    assert_eq!(kept(&report, "network"), "partial");
    assert!(note(&report, "network").contains(message!("ports.machine-port", open)), "{report:#}");
    let report = ask(reaching(open), closed);
    assert_eq!(text(&report, "stdout"), "111\n111\n", "{report:#}");
    // The control: with the machine's network both are reached, and the ports do nothing.
    for number in [open, closed] {
        let host = Policy { network: Network::Host, ..reaching(open) };
        let report = ask(host, number);
        assert_eq!(text(&report, "stdout"), "host:hello\n111\n", "{report:#}");
        assert!(
            note(&report, "network").contains(message!("describe.policy-gives-machine-s")),
            "{report:#}"
        );
        assert!(note(&report, "network").contains("do nothing"), "{report:#}");
    }
}

#[test]
fn a_program_that_opens_as_many_connections_as_it_can_gets_64() {
    let Some(project) = ground() else { return };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let number = listener.local_addr().unwrap().port();
    let attack = "
import socket, sys
kept = []
for _ in range(3000):
    try:
        one = socket.socket(); one.setblocking(False); kept.append(one)
        one.connect_ex(('127.0.0.1', int(sys.argv[1])))
        one.send(b'x' * 100000)
    except OSError: pass
print(len(kept), flush=True)
sys.stdin.read()
";
    project.script("attack.py", attack);
    let stockade = project.open(reaching(number));
    let call = exec(&["python3", "attack.py", &number.to_string()]).with_open_stdin();
    let running = stockade.start(call).unwrap();
    let Some(OutputEvent::Stdout(opened)) = running.next_event() else { panic!("it says nothing") };
    assert!(String::from_utf8(opened).unwrap().trim().parse::<u32>().unwrap() > 200);
    let mut accepted = Vec::new();
    listener.set_nonblocking(true).unwrap();
    let mut count = || {
        while let Ok((client, _)) = listener.accept() {
            accepted.push(client);
        }
        accepted.len()
    };
    assert!(eventually(LONG, || count() >= 64));
    thread::sleep(Duration::from_millis(200));
    assert_eq!(count(), 64);
    running.cancel();
    assert!(running.wait().is_cancelled());
    assert_eq!(count(), 64);
}

#[test]
fn a_port_that_is_taken_is_a_failure_with_a_hint_before_anything_runs() {
    let Some(project) = ground() else { return };
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let number = taken.local_addr().unwrap().port();
    let report = project.run_with(publishing(number), exec(&["touch", "ran"]));
    let failure = &report["failure"];
    assert_eq!(failure["kind"], "open-ports", "{report:#}");
    assert!(text(failure, "message").contains(&format!("127.0.0.1:{number}")), "{report:#}");
    assert!(text(failure, "remedy").contains(message!("ports.publish-another-port")), "{report:#}");
    assert!(!project.path("ran").exists());
}

#[test]
fn tiers_without_such_ports_say_so_and_run_nothing() {
    let Some(project) = ground() else { return };
    for tier in [Tier::Process, Tier::Container, Tier::Gvisor] {
        let mut policy = Policy { tier, ..reaching(5432) };
        policy.oci.image = Some("localhost/none".parse().unwrap());
        let report = project.run_with(policy, exec(&["touch", "ran"]));
        assert_eq!(report["failure"]["kind"], "open-ports", "{report:#}");
        assert!(text(&report["failure"], "message").contains("box.host_ports"), "{report:#}");
        assert!(
            text(&report["failure"], "remedy").contains(message!("plan.use-tier-jail-remove")),
            "{report:#}"
        );
    }
    assert!(!project.path("ran").exists());
    // What requires the whole network says so of the ports.
    let mut strict = reaching(5432);
    strict.require.insert(stockade::guarantee::Guarantee::Network, stockade::guarantee::Kept::Full);
    let report = project.run_with(strict, exec(&["true"]));
    assert!(text(&report["failure"], "message").contains("network is required"), "{report:#}");
}

#[test]
fn code_reaches_a_service_of_this_machine_alone_and_in_a_session() {
    let Some(project) = ground() else { return };
    let number = host_service();
    let stockade = project.open(reaching(number));
    let source = format!(
        "import socket\ns = socket.create_connection(('127.0.0.1', {number}), 60)\n\
         s.sendall(b'code'); s.shutdown(socket.SHUT_WR); print(s.recv(100).decode())"
    );
    for _ in 0..2 {
        let report = json(&stockade.run(ToolCall::code(Language::Python, source.as_str())));
        assert_eq!(text(&report, "stdout"), "host:code\n", "{report:#}");
        let in_session = ToolCall::code(Language::Python, source.as_str()).in_session(name("work"));
        let report = json(&stockade.run(in_session));
        assert_eq!(text(&report, "stdout"), "host:code\n", "{report:#}");
    }
}

fn name(text: &str) -> SessionName {
    text.parse().unwrap()
}

fn line(text: &str) -> ToolCall {
    ToolCall::line(text).in_session(name("work"))
}

/// The line that leaves a server running, once it is up.
fn leave(number: u16) -> String {
    format!(
        "python3 serve.py {number} 127.0.0.1 echo > up & until grep -q up up; do sleep 0.01; done"
    )
}

/// A port that a call of a session publishes, with the call's report.
fn begin(project: &Project, text: impl Fn(u16) -> String) -> (Stockade, u16, Report) {
    let try_one = |_| {
        let number = free();
        let stockade = project.open(Policy { mode: Mode::Auto, ..publishing(number) });
        let report = stockade.run(line(&text(number)));
        assert!(report.ok(), "{:#}", json(&report));
        (!taken(&report)).then_some((stockade, number, report))
    };
    (0..10).find_map(try_one).unwrap()
}

fn taken(report: &Report) -> bool {
    report
        .outcome()
        .unwrap()
        .notes
        .iter()
        .any(|note| note.contains(message!("ports.not-published-call")))
}

#[test]
fn a_server_that_is_left_running_stays_published_and_later_calls_note_it() {
    let Some(project) = ground() else { return };
    let (stockade, number, report) = begin(&project, leave);
    assert_eq!(report.outcome().unwrap().left_running.len(), 1);
    assert_eq!(exchange(dial(number), b"after the call"), b"after the call");
    let second = stockade.run(line(&format!("python3 ask.py {number}")));
    assert!(second.ok() && taken(&second), "{:#}", json(&second));
    assert_eq!(exchange(dial(number), b"after the second"), b"after the second");
    let session = stockade.sessions().get(&name("work"));
    session.left()[0].kill();
    session.wait();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, number)).is_err());
}

#[test]
fn a_port_passes_to_the_next_call_when_the_one_that_has_it_ends() {
    let Some(project) = ground() else { return };
    let (stockade, number, _first) = begin(&project, |_| "sleep 600 & :".to_owned());
    let second = stockade.run(line(&leave(number)));
    assert!(second.ok() && taken(&second), "{:#}", json(&second));
    // The port is the session's: any call of it may serve there.
    assert_eq!(exchange(dial(number), b"by the first"), b"by the first");
    stockade.sessions().get(&name("work")).left()[0].kill();
    let serves = || {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, number));
        stream.is_ok_and(|mut stream| {
            let sent = stream.write_all(b"x").and_then(|()| stream.shutdown(Shutdown::Write));
            let mut received = Vec::new();
            sent.is_ok() && stream.read_to_end(&mut received).is_ok() && received == b"x"
        })
    };
    assert!(eventually(LONG, || stockade.sessions().get(&name("work")).left().len() == 1));
    assert!(eventually(LONG, serves));
}

#[test]
fn a_service_of_this_machine_is_reached_by_every_call_of_a_session() {
    let Some(project) = ground() else { return };
    let number = host_service();
    let stockade = project.open(Policy { mode: Mode::Auto, ..reaching(number) });
    let ask = format!("python3 ask.py {number}");
    for text in [ask.clone(), format!("sleep 600 & {ask}"), ask] {
        let report = stockade.run(line(&text));
        let stdout = String::from_utf8(report.outcome().unwrap().stdout.bytes.clone()).unwrap();
        assert_eq!(stdout, "host:hello\nhost:hello\n", "{:#}", json(&report));
    }
}

/// When the suite runs as root, these tests run once more without privileges.
#[test]
fn all_of_it_holds_for_an_ordinary_user_too() {
    const AGAIN: &str = "STOCKADE_TEST_PORTS_AGAIN";
    if !is_root() || std::env::var_os(AGAIN).is_some() || !has("setpriv") {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let copy = folder.path().join("run");
    copy_program(std::env::current_exe().unwrap(), &copy);
    for path in [folder.path(), Path::new(&copy)] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path, open).unwrap();
    }
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["ports::", "--test-threads=2"])
        .env(AGAIN, "1")
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("test result: ok"), "{said}");
}
