//! The loop that relays the connections of one call.
//!
//! Everything in it is bounded: connections, what waits in each, and sockets that are kept for more. No
//! address or port comes from the sandbox.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use stockade_sandbox::{SandboxNetwork, SandboxSockets};

use super::connection::{Connection, Progress, loopback, reset};
use super::listener::{Direction, PortListener, accept, own_sockets};
use super::stop_signal::StopSignal;

/// The most connections at once; others wait to be accepted.
const CONNECTIONS_MAX: usize = 64;
/// How many sockets of each family are created in the sandbox at once.
pub(super) const BATCH: u32 = 16;
/// More are created when this few are left.
const BATCH_LOW: usize = 4;
/// How long nothing is accepted after a shortage, for example of descriptors.
const LACK_PAUSE: Duration = Duration::from_millis(100);
/// The time between two attempts to open a port that is in use.
const OPEN_PAUSE: Duration = Duration::from_millis(500);
/// The time to pass on what an ended sandbox had sent, to peers that read.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// The time after which peers that read nothing are given up.
const DRAIN_PAUSE: Duration = Duration::from_millis(250);

/// The ports of one call, and the connections through them.
#[derive(Debug)]
pub(super) struct Relay {
    network: SandboxNetwork,
    listeners: Vec<PortListener>,
    connections: Vec<Connection>,
    /// Sockets of the sandbox, not connected yet.
    inside: SandboxSockets,
    /// Until when nothing is accepted.
    lacks_until: Option<Instant>,
    tried_at: Instant,
}

/// The sockets that are polled, in this order.
struct PolledSockets {
    /// The listener, and which of its sockets.
    listeners: Vec<(usize, usize)>,
    /// The connection, and whether it is the client's socket or the server's.
    connections: Vec<(usize, usize)>,
}

impl Relay {
    pub(super) fn new(
        network: SandboxNetwork,
        listeners: Vec<PortListener>,
        inside: SandboxSockets,
    ) -> Self {
        Self {
            network,
            listeners,
            connections: Vec::new(),
            inside,
            lacks_until: None,
            tried_at: Instant::now(),
        }
    }

    /// Relays until it is told to stop, then passes on what the sandbox had sent before.
    pub(super) fn run(mut self, stop: &Arc<StopSignal>) {
        while !stop.is_set() {
            self.open_closed();
            self.turn(Some(stop), None);
        }
        self.listeners.clear();
        let since = Instant::now();
        let mut is_active = true;
        while is_active && since.elapsed() < DRAIN_MAX {
            self.connections.retain(|connection| !connection.is_drained());
            is_active = !self.connections.is_empty() && self.turn(None, Some(DRAIN_PAUSE));
        }
    }

    /// Waits for events and handles them. Returns false if the time is up.
    fn turn(&mut self, stop: Option<&StopSignal>, rest: Option<Duration>) -> bool {
        let mut fds = Vec::new();
        let mut polled = PolledSockets { listeners: Vec::new(), connections: Vec::new() };
        fds.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)));
        let first = fds.len();
        if self.has_room() {
            for (at, listener) in self.listeners.iter().enumerate() {
                for (which, socket) in listener.sockets().iter().enumerate() {
                    polled.listeners.push((at, which));
                    fds.push(PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN));
                }
            }
        }
        for (at, connection) in self.connections.iter().enumerate() {
            for (side, (socket, interest)) in connection.polled().into_iter().enumerate() {
                let Some(flags) = interest else { continue };
                polled.connections.push((at, side));
                fds.push(PollFd::from_borrowed_fd(socket.as_fd(), flags));
            }
        }
        let timeout = rest.or_else(|| self.pause()).and_then(|rest| Timespec::try_from(rest).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(Errno::INTR) => return true,
            // Out of memory, for a while.
            Err(_) => {
                std::thread::sleep(LACK_PAUSE);
                return true;
            }
        }
        let events: Vec<PollFlags> = fds.iter().skip(first).map(PollFd::revents).collect();
        drop(fds);
        let (of_listeners, of_connections) =
            events.split_at(polled.listeners.len().min(events.len()));
        self.relay(&polled.connections, of_connections);
        for ((at, which), events) in polled.listeners.into_iter().zip(of_listeners) {
            if !events.is_empty() {
                self.admit(at, which);
            }
        }
        true
    }

    fn relay(&mut self, polled: &[(usize, usize)], events: &[PollFlags]) {
        let mut of_connections = vec![[PollFlags::empty(); 2]; self.connections.len()];
        for ((at, side), events) in polled.iter().zip(events) {
            if let Some(place) = of_connections.get_mut(*at).and_then(|sides| sides.get_mut(*side))
            {
                *place = *events;
            }
        }
        let mut of_connections = of_connections.into_iter();
        self.connections.retain_mut(|connection| {
            let events = of_connections.next().unwrap_or([PollFlags::empty(); 2]);
            let is_idle = events.iter().all(PollFlags::is_empty);
            is_idle || connection.step(events) == Progress::Open
        });
    }

    /// Returns whether a connection can be accepted now.
    fn has_room(&self) -> bool {
        let lacks = self.lacks_until.is_some_and(|until| Instant::now() < until);
        self.connections.len() < CONNECTIONS_MAX && !lacks
    }

    /// The time until there is something to do without an event.
    fn pause(&self) -> Option<Duration> {
        let lack = self.lacks_until.map(|until| until.saturating_duration_since(Instant::now()));
        let lack = lack.filter(|rest| !rest.is_zero());
        let is_closed = self.listeners.iter().any(|listener| !listener.is_open());
        lack.into_iter().chain(is_closed.then_some(OPEN_PAUSE)).min()
    }

    /// Accepts a connection and connects to the other side.
    fn admit(&mut self, at: usize, which: usize) {
        let Some(listener) = self.listeners.get(at).filter(|_| self.has_room()) else { return };
        let Some(socket) = listener.sockets().get(which) else { return };
        let (port, direction) = (listener.port, listener.direction);
        let client = match accept(socket) {
            Ok(Some(client)) => client,
            Ok(None) => return,
            Err(_lack) => return self.pause_for_lack(),
        };
        let sockets = match direction {
            Direction::In => self.sockets_of_sandbox(),
            Direction::Out => own_sockets().unwrap_or_default(),
        };
        if sockets.is_empty() {
            reset(&client);
            return self.pause_for_lack();
        }
        let targets = sockets.into_iter().zip(loopback(port));
        self.connections.extend(Connection::connect(client, direction == Direction::In, targets));
    }

    /// Takes a socket of each family in the sandbox, and creates more if few are left.
    fn sockets_of_sandbox(&mut self) -> Vec<OwnedFd> {
        if self.inside.v4.len() <= BATCH_LOW {
            match self.network.sockets(BATCH) {
                Ok(more) => {
                    self.inside.v4.extend(more.v4);
                    self.inside.v6.extend(more.v6);
                }
                Err(_lack) => self.pause_for_lack(),
            }
        }
        self.inside.v4.pop().into_iter().chain(self.inside.v6.pop()).collect()
    }

    fn pause_for_lack(&mut self) {
        self.lacks_until = Instant::now().checked_add(LACK_PAUSE);
    }

    /// Tries again to open the ports that were in use.
    fn open_closed(&mut self) {
        if self.tried_at.elapsed() < OPEN_PAUSE {
            return;
        }
        self.tried_at = Instant::now();
        for listener in self.listeners.iter_mut().filter(|listener| !listener.is_open()) {
            // It is still in use.
            let _closed = listener.open().is_err();
        }
    }
}
