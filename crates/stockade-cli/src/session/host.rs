//! The session host: one loop over a listener and its connections. It keeps descriptors and a list, runs
//! nothing, and waits for nobody: a socket that would block is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{SocketFlags, accept_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stockade::launch::take_inherited;
use stockade::limits::LimitHit;

use super::message::{
    EndOrder, Envelope, FromHost, HostReply, HostRequest, PROTOCOL, Packet, Visit, send,
};
use super::place::{HostPlace, is_trusted, take_over};
use super::table::{ConnectionId, EndOrders, SessionTable, refused};
use crate::Answer;
use crate::exit_code::Status;

/// How long a connection has to say what it wants.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// More connections are closed at once.
const CONNECTIONS_MAX: usize = 1024;

/// How long the host waits.
#[derive(Debug, Clone, Copy)]
struct HostPauses {
    /// It ends when it has kept no session for so long.
    linger: Duration,
    /// How often it is looked whether the socket is still there.
    look: Duration,
}

const PAUSES: HostPauses =
    HostPauses { linger: Duration::from_secs(60), look: Duration::from_secs(5) };

/// Keeps sessions until there are none any more. The listener is standard input.
pub(crate) fn host() -> Answer {
    // The command that has started it may have inherited pipes that somebody reads to their end.
    take_inherited(None)?;
    let listener = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::process::setsid()?;
    raise_open_files();
    ioctl_fionbio(&listener, true)?;
    take_over(&listener)?;
    SessionHost::new(HostPlace::find()?, listener, PAUSES).serve()
}

/// It holds descriptors of each session and each call, which may be more than the command that has started it
/// could open.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, fewer sessions fit.
    let _kept = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).is_err();
}

struct SessionHost {
    pauses: HostPauses,
    place: HostPlace,
    /// The socket that was there at the start.
    socket: Option<(u64, u64)>,
    listener: OwnedFd,
    connections: BTreeMap<ConnectionId, Connection>,
    next: ConnectionId,
    table: SessionTable,
    /// Since when there is no session.
    empty_since: Option<Instant>,
}

struct Connection {
    socket: OwnedFd,
    opened: Instant,
    /// Whether it has asked for something.
    has_asked: bool,
    /// The calls that it has ended.
    ended: BTreeSet<ConnectionId>,
}

impl SessionHost {
    fn new(place: HostPlace, listener: OwnedFd, pauses: HostPauses) -> Self {
        Self {
            pauses,
            socket: identity(place.socket()),
            place,
            listener,
            connections: BTreeMap::new(),
            next: 0,
            table: SessionTable::default(),
            empty_since: Some(Instant::now()),
        }
    }

    fn serve(mut self) -> Answer {
        loop {
            self.wait();
            self.accept();
            let now = Instant::now();
            for id in self.connections.keys().copied().collect::<Vec<_>>() {
                self.read(id);
            }
            let is_silent = |connection: &Connection| {
                !connection.has_asked
                    && now.saturating_duration_since(connection.opened) > SILENCE_MAX
            };
            self.connections.retain(|_, connection| !is_silent(connection));
            let expired = self.table.expire(now);
            self.order(expired);
            if self.is_to_end(now)? {
                return Ok(Status::Ok);
            }
        }
    }

    /// Whether nobody needs it any more. Under the lock no command can find it meanwhile.
    fn is_to_end(&mut self, now: Instant) -> Result<bool, Box<dyn std::error::Error>> {
        if identity(self.place.socket()) != self.socket {
            // Its folder was removed, and nobody finds it.
            return Ok(true);
        }
        if !self.table.is_empty() {
            self.empty_since = None;
            return Ok(false);
        }
        let since = *self.empty_since.get_or_insert(now);
        if now.saturating_duration_since(since) < self.pauses.linger || !self.connections.is_empty()
        {
            return Ok(false);
        }
        let _lock = self.place.lock()?;
        self.accept();
        if !self.connections.is_empty() {
            return Ok(false);
        }
        fs::remove_file(self.place.socket())?;
        Ok(true)
    }

    fn wait(&self) {
        let now = Instant::now();
        let until =
            self.table.next_expiry().into_iter().chain(now.checked_add(self.pauses.look)).min();
        let rest = until.map(|until| until.saturating_duration_since(now));
        let timeout = rest.and_then(|rest| Timespec::try_from(rest).ok());
        let sockets = self.connections.values().map(|one| one.socket.as_fd());
        let all = std::iter::once(self.listener.as_fd()).chain(sockets);
        let mut polled: Vec<PollFd<'_>> =
            all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // Out of memory: the sockets are read all the same.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }

    fn accept(&mut self) {
        while let Ok(socket) =
            accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            if self.connections.len() >= CONNECTIONS_MAX || !is_trusted(&socket) {
                continue;
            }
            let (opened, ended) = (Instant::now(), BTreeSet::new());
            let connection = Connection { socket, opened, has_asked: false, ended };
            self.connections.insert(self.next, connection);
            self.next = self.next.saturating_add(1);
        }
    }

    /// Takes what one connection has sent.
    fn read(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let packet = match Packet::receive(&connection.socket) {
            Ok(Some(packet)) => packet,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(None) | Err(_) => return self.close(id),
        };
        connection.has_asked = true;
        let Outgoing { reply, descriptors, orders } = match packet.read::<Envelope>() {
            Ok(envelope) => self.answer(id, envelope, packet.descriptors),
            Err(_) => Outgoing::from(refused(OTHER_VERSION, OTHER_VERSION_HINT)),
        };
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        if !self.send(id, &FromHost::Reply(reply), &descriptors) {
            self.close(id);
        }
        self.order(orders);
    }

    fn answer(
        &mut self,
        id: ConnectionId,
        envelope: Envelope,
        descriptors: Vec<OwnedFd>,
    ) -> Outgoing {
        let Envelope { protocol, request } = envelope;
        if protocol != PROTOCOL {
            return refused(OTHER_VERSION, OTHER_VERSION_HINT).into();
        }
        match request {
            HostRequest::Join(start) => {
                let reply = self.table.join(id, start);
                self.with_space(id, reply)
            }
            HostRequest::Begin(call, session) => {
                let reply = self.table.begin(id, (call, session), descriptors);
                self.with_space(id, reply)
            }
            HostRequest::Visit(visit) => self.pass_on(&visit, &descriptors).into(),
            HostRequest::Ended(folder) => self.table.ended(id, folder).into(),
            HostRequest::Left(left) => {
                let (reply, orders) = self.table.left(id, left, descriptors.into_iter().next());
                Outgoing { reply, descriptors: Vec::new(), orders }
            }
            HostRequest::List(from) => self.table.list(from, Instant::now()).into(),
            HostRequest::Log(selector) => match self.table.log(&selector) {
                Ok((call, log)) => with_descriptors(HostReply::Log { call }, [log.as_fd()]),
                Err(reply) => reply.into(),
            },
            HostRequest::Kill(selector) => {
                let (reply, orders) = self.table.kill(&selector);
                if let Some(own) = self.connections.get_mut(&id) {
                    own.ended.extend(orders.iter().map(|(call, _)| *call));
                }
                Outgoing { reply, descriptors: Vec::new(), orders }
            }
            HostRequest::Ending => {
                let ended = self.connections.get(&id).into_iter().flat_map(|own| &own.ended);
                let there = ended.filter(|call| self.connections.contains_key(*call)).count();
                HostReply::Ending { calls: u32::try_from(there).unwrap_or(u32::MAX) }.into()
            }
        }
    }

    /// Passes the socket of a command on to the supervisor that keeps the interpreter.
    fn pass_on(&self, visit: &Visit, descriptors: &[OwnedFd]) -> HostReply {
        let Some(keeper) = self.table.keeper(visit) else { return HostReply::Absent };
        let sockets: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        if self.send(keeper, &FromHost::Visit, &sockets) {
            HostReply::Passed
        } else {
            HostReply::Absent
        }
    }

    /// Adds the namespaces of the session for a call that has joined it.
    fn with_space(&self, id: ConnectionId, reply: HostReply) -> Outgoing {
        match (self.table.space_of(id), &reply) {
            (Some(space), HostReply::Joined(_)) => with_descriptors(reply, space.descriptors()),
            _ => reply.into(),
        }
    }

    fn send(&self, id: ConnectionId, message: &FromHost, descriptors: &[BorrowedFd<'_>]) -> bool {
        let connection = self.connections.get(&id);
        connection.is_some_and(|one| send(&one.socket, message, descriptors).is_ok())
    }

    /// Tells calls to end. One that cannot be told ends because its connection closes.
    fn order(&mut self, orders: EndOrders) {
        for (id, limit) in orders {
            let limit = limit.map(LimitHit::name).map(str::to_owned);
            if !self.send(id, &FromHost::End(EndOrder { limit }), &[]) {
                self.close(id);
            }
        }
    }

    fn close(&mut self, id: ConnectionId) {
        self.connections.remove(&id);
        self.table.closed(id);
    }
}

/// What goes out for one request.
struct Outgoing {
    reply: HostReply,
    descriptors: Vec<OwnedFd>,
    /// Calls that have to end.
    orders: EndOrders,
}

impl From<HostReply> for Outgoing {
    fn from(reply: HostReply) -> Self {
        Self { reply, descriptors: Vec::new(), orders: Vec::new() }
    }
}

fn with_descriptors<'f>(
    reply: HostReply,
    descriptors: impl IntoIterator<Item = BorrowedFd<'f>>,
) -> Outgoing {
    let own: io::Result<Vec<OwnedFd>> =
        descriptors.into_iter().map(|fd| fd.try_clone_to_owned()).collect();
    own.map_or_else(
        |error| {
            let why = format!("the session host cannot pass a descriptor on: {error}");
            refused(&why, "end a session: stockade kill SESSION").into()
        },
        |descriptors| Outgoing { reply, descriptors, orders: Vec::new() },
    )
}

const OTHER_VERSION: &str = "the session host and this command are of different versions";
const OTHER_VERSION_HINT: &str =
    "end its sessions with the other version's stockade kill, or wait until it has none";

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::thread::{self, JoinHandle};

    use stockade::launch::SessionSpace;

    use super::super::client::Client;
    use super::super::message::{CallStart, RawPath, Selector, SessionStart};
    use super::*;

    const PAUSES: HostPauses =
        HostPauses { linger: Duration::from_millis(300), look: Duration::from_millis(20) };

    /// As long as anything takes on a busy machine.
    const LONG: Duration = Duration::from_secs(120);

    fn ask(client: &Client, request: HostRequest, descriptors: &[BorrowedFd<'_>]) -> HostReply {
        client.ask("test", request, descriptors).unwrap().0
    }

    /// A host in a folder, which ends well, and a connection to it.
    fn begin(folder: &Path) -> (JoinHandle<bool>, Client) {
        let place = HostPlace::in_folder(folder);
        let listener = place.listen().unwrap();
        ioctl_fionbio(&listener, true).unwrap();
        // Before the host starts, which ends soon if nobody comes.
        let client = Client::at(&place).unwrap();
        let host = SessionHost::new(place, listener, PAUSES);
        client.send(HostRequest::List(None), &[]).unwrap();
        let host = thread::spawn(move || host.serve().is_ok_and(|status| status.code() == 0));
        assert!(matches!(
            client.receive("test").unwrap(),
            (HostReply::Listed { session: None, .. }, _)
        ));
        (host, client)
    }

    fn ends(host: JoinHandle<bool>) -> bool {
        let begun = Instant::now();
        while !host.is_finished() && begun.elapsed() < LONG {
            thread::sleep(Duration::from_millis(10));
        }
        host.is_finished() && host.join().unwrap()
    }

    #[test]
    fn the_host_ends_some_time_after_its_last_session_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let (host, client) = begin(folder.path());
        let place = HostPlace::in_folder(folder.path());
        // Nor while somebody is connected.
        thread::sleep(PAUSES.linger * 3);
        let (root, session) = (RawPath::of(folder.path()), "work".to_owned());
        let call = CallStart {
            root: root.clone(),
            session: session.clone(),
            call: "call".to_owned(),
            command: "true".to_owned(),
            sets_folder: false,
            interpreter: None,
            ports: None,
        };
        let limits = SessionStart { idle_millis: 3_600_000, processes: 9, memory_bytes: 1 << 30 };
        let space = SessionSpace::create(stockade::launch::FOLDER_LIMITS).unwrap();
        let begun = ask(&client, HostRequest::Begin(call, limits), &space.descriptors());
        assert!(matches!(begun, HostReply::Joined(_)), "{begun:?}");
        // The session stays, and the host with it, when no call and no connection is left.
        drop(client);
        thread::sleep(PAUSES.linger * 3);
        assert!(!host.is_finished());
        let client = Client::at(&place).unwrap();
        let since = Instant::now();
        let selector = Selector { what: session, session: None, root: Some(root) };
        let killed = ask(&client, HostRequest::Kill(selector), &[]);
        assert!(matches!(killed, HostReply::Killed { calls: 0, session: true }), "{killed:?}");
        drop(client);
        assert!(ends(host));
        assert!(since.elapsed() >= PAUSES.linger);
        assert!(!place.socket().exists());
        assert!(place.connect().unwrap().is_none());
    }
}
