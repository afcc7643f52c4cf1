//! Sockets of this process in the network of a sandbox: there they listen and connect, and nowhere else.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SocketFlags, accept_with, bind, connect, listen, send};
use stockade_sandbox::{
    CgroupLimits, Errno, Filter, Jail, Leftovers, Network, Origin, PoolSize, PreparedSandbox,
    Program, Running, SandboxPool, Sockets, Status,
};

use crate::boxes::closed;
use crate::sessions::{joined, session};
use crate::support::{finish, shell, text, within};

/// As long as anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(120);
const PORT: u16 = 7171;

fn networked() -> Jail {
    let mut jail = closed("/bin/sh");
    jail.network = Network::Loopback;
    jail.filter = jail.filter.map(|filter| Filter { sockets: Sockets::Internet, ..filter });
    jail
}

fn ready(pool: &SandboxPool, jail: Jail) -> PreparedSandbox {
    pool.ready(jail, CgroupLimits::default()).unwrap()
}

fn made(jail: Jail) -> PreparedSandbox {
    ready(&SandboxPool::new(PoolSize::NoTemplates), jail)
}

fn start(sandbox: PreparedSandbox, line: &str) -> Running {
    sandbox.run(Program::new(shell(line), c"/bin/sh", &text("/"))).unwrap()
}

/// A program that says what it gets from a server of its own loopback.
fn ask(host: &str) -> String {
    format!(
        "python3 -c 'import socket
print(socket.create_connection((\"{host}\", {PORT}), 60).recv(9).decode())'"
    )
}

fn listening(socket: &OwnedFd, address: SocketAddr) {
    bind(socket, &address).unwrap();
    listen(socket, 4).unwrap();
}

fn wait(socket: &OwnedFd, events: PollFlags) {
    poll(&mut [PollFd::new(socket, events)], None).unwrap();
}

#[test]
fn a_socket_listens_in_the_sandbox_that_it_was_made_for_whatever_way_that_came_to_be() {
    let pool = SandboxPool::new(PoolSize::Templates { spares: 1 });
    let mut seen = BTreeSet::new();
    let all = [Origin::Made, Origin::Copied, Origin::Waiting].map(|one| format!("{one:?}"));
    let came = within(LONG, || {
        let sandbox = ready(&pool, networked());
        if seen.insert(format!("{:?}", sandbox.origin())) {
            let sockets = sandbox.network().unwrap().sockets(2).unwrap();
            assert_eq!(sockets.v4.len(), 2);
            listening(&sockets.v4[0], (Ipv4Addr::LOCALHOST, PORT).into());
            let mut asked = vec![(&sockets.v4[0], "127.0.0.1")];
            if let Some(v6) = sockets.v6.first() {
                listening(v6, (Ipv6Addr::LOCALHOST, PORT).into());
                asked.push((v6, "::1"));
            }
            // The same port of this machine is another one.
            let outside = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, PORT));
            assert_eq!(outside.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
            let lines: Vec<String> = asked.iter().map(|(_, host)| ask(host)).collect();
            let mut run = start(sandbox, &lines.join("; "));
            for (listener, _) in asked {
                wait(listener, PollFlags::IN);
                let client = accept_with(listener, SocketFlags::CLOEXEC).unwrap();
                send(&client, b"from here", rustix::net::SendFlags::empty()).unwrap();
            }
            let (ended, stdout, stderr) = finish(&mut run);
            assert_eq!((ended.status, stderr.as_str()), (Status::Code(0), ""));
            assert!(stdout.lines().all(|line| line == "from here"), "{stdout}");
        }
        all.iter().all(|one| seen.contains(one))
    });
    assert!(came, "{seen:?}");
}

#[test]
fn a_socket_connects_in_the_network_of_the_session() {
    let space = session();
    let serve = format!(
        "python3 -c 'import socket
s = socket.create_server((\"127.0.0.1\", {PORT})); print(\"up\", flush=True)
print(s.accept()[0].recv(9).decode())'"
    );
    let mut run = start(made(joined(closed("/bin/sh"), &space, Leftovers::End)), &serve);
    wait_for_output(&run);
    // By the sandbox of another call.
    let other = made(joined(closed("/bin/sh"), &space, Leftovers::End));
    let sockets = other.network().unwrap().sockets(1).unwrap();
    let address: SocketAddr = (Ipv4Addr::LOCALHOST, PORT).into();
    assert!(matches!(connect(&sockets.v4[0], &address), Ok(()) | Err(Errno::INPROGRESS)));
    wait(&sockets.v4[0], PollFlags::OUT);
    send(&sockets.v4[0], b"from here", rustix::net::SendFlags::empty()).unwrap();
    assert_eq!(finish(&mut run).1, "up\nfrom here\n");
}

fn wait_for_output(run: &Running) {
    poll(&mut [PollFd::from_borrowed_fd(run.stdout(), PollFlags::IN)], None).unwrap();
}

#[test]
fn a_sandbox_with_the_machines_network_has_none_to_be_entered() {
    let mut jail = networked();
    jail.network = Network::Host;
    let error = made(jail).network().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::INVAL.raw_os_error()), "{error}");
}

#[test]
fn nothing_stays_behind_that_made_the_sockets() {
    let sandbox = made(networked());
    let network = sandbox.network().unwrap();
    let children = || fs::read_to_string("/proc/thread-self/children").unwrap();
    let before = children();
    assert_eq!(network.sockets(20).unwrap().v4.len(), 20);
    assert_eq!(children(), before);
    // It can be entered as long as it is held, also when the sandbox is gone.
    drop(sandbox);
    assert_eq!(network.sockets(1).unwrap().v4.len(), 1);
}
