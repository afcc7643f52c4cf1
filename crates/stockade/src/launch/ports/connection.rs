//! One relayed connection: two sockets, and a buffer of fixed size for each direction.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, connect, recv, send, shutdown, sockopt};

/// The size of a buffer. While it is full, the sender waits.
const BUFFER_BYTES: usize = 16 << 10;

/// The addresses of a loopback, in the order in which they are tried.
pub(super) fn loopback(port: NonZeroU16) -> [SocketAddr; 2] {
    let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    addresses.map(|address| SocketAddr::new(address, port.get()))
}

/// A client, and the server that it is connected with.
#[derive(Debug)]
pub(super) struct Connection {
    client: OwnedFd,
    server: OwnedFd,
    /// Tried if nothing accepts at the first address.
    other: Option<(OwnedFd, SocketAddr)>,
    is_connecting: bool,
    /// From the client to the server, and back.
    requests: HalfConnection,
    answers: HalfConnection,
    /// True if the server is in the sandbox, false if the client is.
    is_published: bool,
}

/// One direction of a connection.
#[derive(Debug)]
struct HalfConnection {
    buffer: Box<[u8]>,
    /// What has been received and not sent.
    pending: std::ops::Range<usize>,
    state: HalfState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HalfState {
    /// More may come.
    Open,
    /// No more comes.
    Ended,
    /// The sender has reset the connection.
    Reset,
    /// All was sent, and the receiver knows that no more comes.
    Done,
    /// The receiver is gone.
    Lost,
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It goes on.
    Open,
    /// It is closed.
    Closed,
}

/// The events for which a socket is polled; `None` if it is not polled.
pub(super) type Interest = Option<PollFlags>;

impl Connection {
    /// Connects a client with the first of these addresses that accepts, each with a socket for it. Resets
    /// the client if none does.
    pub(super) fn connect(
        client: OwnedFd,
        is_published: bool,
        targets: impl IntoIterator<Item = (OwnedFd, SocketAddr)>,
    ) -> Option<Self> {
        let mut targets = targets.into_iter();
        while let Some((server, address)) = targets.next() {
            if begin(&server, address) {
                let (other, is_connecting) = (targets.next(), true);
                let (requests, answers) = (HalfConnection::new(), HalfConnection::new());
                return Some(Self {
                    client,
                    server,
                    other,
                    is_connecting,
                    requests,
                    answers,
                    is_published,
                });
            }
        }
        reset(&client);
        None
    }

    /// The client's socket and the server's, and the events that each is polled for.
    pub(super) fn polled(&self) -> [(&OwnedFd, Interest); 2] {
        if self.is_connecting {
            // Without flags poll(2) still reports that the client is gone.
            let client = Some(PollFlags::empty());
            return [(&self.client, client), (&self.server, Some(PollFlags::OUT))];
        }
        let interest = |receives: &HalfConnection, sends: &HalfConnection| {
            let input = if receives.has_room() { PollFlags::IN } else { PollFlags::empty() };
            let output = if sends.is_pending() { PollFlags::OUT } else { PollFlags::empty() };
            // poll(2) reports an error until it is acted on, which takes room for what came before it.
            (receives.has_ended() || !(input | output).is_empty()).then_some(input | output)
        };
        [
            (&self.client, interest(&self.requests, &self.answers)),
            (&self.server, interest(&self.answers, &self.requests)),
        ]
    }

    /// Handles these events of the client and of the server.
    pub(super) fn step(&mut self, [of_client, of_server]: [PollFlags; 2]) -> Progress {
        let is_broken = |events: PollFlags| events.intersects(PollFlags::ERR | PollFlags::HUP);
        if self.is_connecting {
            if is_broken(of_client) {
                return self.abort();
            }
            return if of_server.is_empty() { Progress::Open } else { self.finish_connecting() };
        }
        let is_gone = |receives: &HalfConnection, events| receives.has_ended() && is_broken(events);
        if is_gone(&self.requests, of_client) || is_gone(&self.answers, of_server) {
            return self.abort();
        }
        let Self { client, server, requests, answers, .. } = self;
        for (half, from, to, events) in
            [(requests, &*client, &*server, of_client), (answers, &*server, &*client, of_server)]
        {
            if !events.is_empty() {
                half.receive(from);
            }
            half.send(to);
        }
        match [self.requests.state, self.answers.state] {
            [HalfState::Done, HalfState::Done] => Progress::Closed,
            _ if self.requests.is_reset() || self.answers.is_reset() => self.abort(),
            // One side is gone, and all that it had sent has been passed on.
            _ if self.requests.is_over() && self.answers.is_over() => self.abort(),
            _ => Progress::Open,
        }
    }

    /// Returns whether all that the sandbox had sent has been passed on.
    pub(super) fn is_drained(&self) -> bool {
        if self.is_published {
            self.is_connecting || self.answers.is_over()
        } else {
            self.requests.is_over()
        }
    }

    fn finish_connecting(&mut self) -> Progress {
        if sockopt::socket_error(&self.server) == Ok(Ok(())) {
            (self.is_connecting, self.other) = (false, None);
            for socket in [&self.client, &self.server] {
                // Otherwise small pieces would wait for more; a failure only delays them.
                let _delayed = sockopt::set_tcp_nodelay(socket, true).is_err();
            }
            return Progress::Open;
        }
        match self.other.take() {
            Some((server, address)) if begin(&server, address) => {
                self.server = server;
                Progress::Open
            }
            Some(_) | None => self.abort(),
        }
    }

    /// Resets both sides.
    fn abort(&self) -> Progress {
        reset(&self.client);
        reset(&self.server);
        Progress::Closed
    }
}

impl HalfConnection {
    fn new() -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { buffer, pending: 0..0, state: HalfState::Open }
    }

    fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn has_room(&self) -> bool {
        self.state == HalfState::Open && !self.is_pending()
    }

    /// Returns whether nothing more is received, so that an error of the sender is the end.
    fn has_ended(&self) -> bool {
        !matches!(self.state, HalfState::Open | HalfState::Reset)
    }

    fn is_over(&self) -> bool {
        matches!(self.state, HalfState::Done | HalfState::Lost)
    }

    /// Returns whether the connection must be reset, because all that came before has been sent.
    fn is_reset(&self) -> bool {
        self.state == HalfState::Reset && !self.is_pending()
    }

    fn receive(&mut self, from: &OwnedFd) {
        if !self.has_room() {
            return;
        }
        match recv(from, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => self.state = HalfState::Ended,
            Ok((_, count)) => self.pending = 0..count,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.state = HalfState::Reset,
        }
    }

    fn send(&mut self, to: &OwnedFd) {
        if self.is_pending() {
            let bytes = self.buffer.get(self.pending.clone()).unwrap_or_default();
            match send(to, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => self.pending.start = self.pending.start.saturating_add(count),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The receiver may have sent something before, which is still read.
                Err(_) => (self.pending, self.state) = (0..0, HalfState::Lost),
            }
        }
        if self.state == HalfState::Ended && !self.is_pending() {
            // If the receiver is gone, the other direction shows that.
            let _gone = shutdown(to, Shutdown::Write).is_err();
            self.state = HalfState::Done;
        }
    }
}

/// Begins to connect. Returns false if that fails at once.
fn begin(socket: &OwnedFd, address: SocketAddr) -> bool {
    matches!(connect(socket, &address), Ok(()) | Err(Errno::INPROGRESS))
}

/// Makes the close of a socket reset its connection, so that the peer does not take it for a regular end.
pub(super) fn reset(socket: &OwnedFd) {
    let _closed_anyway = sockopt::set_socket_linger(socket, Some(Duration::ZERO)).is_err();
}
