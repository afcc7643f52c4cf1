//! The listening sockets of one port, and the direction of its connections.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, listen, socket_with, sockopt,
};

use super::connection::loopback;

/// How many connections can wait to be accepted. Beyond that the kernel makes clients wait.
const BACKLOG: i32 = 64;

/// The direction in which connections of a port are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the machine's loopback into the sandbox.
    In,
    /// From the sandbox to the machine's loopback.
    Out,
}

/// A port on which connections are accepted, once it is open.
#[derive(Debug)]
pub(super) struct PortListener {
    pub(super) port: NonZeroU16,
    pub(super) direction: Direction,
    /// For IPv4 and IPv6, until they listen.
    closed: Vec<OwnedFd>,
    listening: Vec<OwnedFd>,
}

impl PortListener {
    /// A port that is not open yet, with sockets for IPv4 and IPv6.
    pub(super) fn new(port: NonZeroU16, direction: Direction, sockets: Vec<OwnedFd>) -> Self {
        Self { port, direction, closed: sockets, listening: Vec::new() }
    }

    /// Listens on IPv4, and on IPv6 if that is possible too.
    pub(super) fn open(&mut self) -> rustix::io::Result<()> {
        let mut has_failed = Vec::new();
        for (socket, address) in self.closed.iter().zip(loopback(self.port)) {
            let listens = listen_at(socket, address);
            if address.is_ipv4() {
                listens?;
            }
            has_failed.push(listens.is_err());
        }
        // poll(2) would report a socket that does not listen all the time.
        let sockets = std::mem::take(&mut self.closed).into_iter().zip(has_failed);
        self.listening = sockets.filter(|(_, failed)| !failed).map(|(socket, _)| socket).collect();
        Ok(())
    }

    pub(super) fn is_open(&self) -> bool {
        !self.listening.is_empty()
    }

    /// The sockets that listen.
    pub(super) fn sockets(&self) -> &[OwnedFd] {
        &self.listening
    }
}

/// Accepts a connection, if one is waiting.
pub(super) fn accept(listener: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
    match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Ok(client) => Ok(Some(client)),
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Sockets of this machine for IPv4 and, if the kernel has it, IPv6.
pub(super) fn own_sockets() -> rustix::io::Result<Vec<OwnedFd>> {
    let mut sockets = vec![own_socket(AddressFamily::INET)?];
    sockets.extend(own_socket(AddressFamily::INET6).ok());
    Ok(sockets)
}

fn own_socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

fn listen_at(socket: &OwnedFd, address: SocketAddr) -> rustix::io::Result<()> {
    // Closed connections of an earlier call (TIME_WAIT) would block the port for a minute.
    sockopt::set_socket_reuseaddr(socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(socket, true)?;
    }
    match bind(socket, &address) {
        // An earlier attempt bound it, and then listen(2) failed.
        Ok(()) | Err(Errno::INVAL) => listen(socket, BACKLOG),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, TcpListener, TcpStream};

    use super::*;

    fn listener(port: u16) -> PortListener {
        let port = NonZeroU16::new(port).unwrap();
        PortListener::new(port, Direction::In, own_sockets().unwrap())
    }

    #[test]
    fn a_port_that_is_in_use_can_be_opened_once_it_is_free() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut listener = listener(taken.local_addr().unwrap().port());
        for _ in 0..2 {
            assert_eq!(listener.open(), Err(Errno::ADDRINUSE));
            assert!(!listener.is_open());
        }
        drop(taken);
        listener.open().unwrap();
        let _client = TcpStream::connect(loopback(listener.port).first().unwrap()).unwrap();
        assert!(accept(listener.sockets().first().unwrap()).unwrap().is_some());
        assert!(accept(listener.sockets().first().unwrap()).unwrap().is_none());
    }

    #[test]
    fn a_port_whose_ipv6_is_in_use_is_open_on_ipv4_and_nothing_else_is_polled() {
        let Ok(taken) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
        let mut listener = listener(taken.local_addr().unwrap().port());
        listener.open().unwrap();
        assert_eq!(listener.sockets().len(), 1);
    }
}
