//! The sessions that the host keeps, and their calls: what is noted and decided, without any socket.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use stockade::confine::Ports;
use stockade::launch::{SessionSpace, over_budget};
use stockade::limits::{ByteCount, LimitHit, SessionLimits};

use super::message::{
    CallInfo, CallStart, FolderInfo, HostReply, Joined, LeftInfo, ListPlace, PortsInfo, RawPath,
    Selector, SessionInfo, SessionStart, Visit,
};

/// No more sessions than this are kept.
const SESSIONS_MAX: usize = 64;
/// How many calls are in one piece of a list: of each up to 32 processes are named.
const LISTED_MAX: usize = 4;

/// The number of a connection.
pub(super) type ConnectionId = u64;

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    sessions: BTreeMap<(RawPath, String), KeptSession>,
}

#[derive(Debug)]
struct KeptSession {
    space: SessionSpace,
    limits: SessionLimits,
    begun: Instant,
    /// Since when nothing runs in it but interpreters that wait; none while something does.
    idle_since: Option<Instant>,
    total_calls: u64,
    folder: Option<FolderInfo>,
    calls: BTreeMap<ConnectionId, KeptCall>,
    /// The languages of interpreters that have ended between two calls.
    lost: BTreeSet<String>,
}

#[derive(Debug)]
struct KeptCall {
    start: CallStart,
    /// The ports that it opens itself; none if it does not share the network of the session.
    own_ports: Option<Ports>,
    /// Those that others have opened since it began, and before.
    ports_of_others: Ports,
    begun: Instant,
    /// Whether no other call has run at the same time.
    is_alone: bool,
    has_ended: bool,
    left: Option<LeftInfo>,
    log: Option<OwnedFd>,
    /// Whether it was told to end for a limit.
    is_ending: bool,
}

/// Connections that have to be told to end their calls, and why.
pub(super) type EndOrders = Vec<(ConnectionId, Option<LimitHit>)>;

impl SessionTable {
    pub(super) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// A call begins, in a session that is there.
    pub(super) fn join(&mut self, connection: ConnectionId, start: CallStart) -> HostReply {
        let key = (start.root.clone(), start.session.clone());
        let Some(session) = self.sessions.get_mut(&key) else { return HostReply::Absent };
        if start.interpreter.is_some()
            && session.calls.values().any(|call| call.start.interpreter == start.interpreter)
        {
            return HostReply::Kept;
        }
        let is_alone = session.calls.values().all(|call| call.has_ended);
        for call in session.calls.values_mut() {
            call.is_alone = false;
        }
        let own_ports = start.ports.clone().map(Ports::from);
        let mut ports_of_others = Ports::default();
        if let Some(own) = &own_ports {
            for call in session.calls.values_mut() {
                call.ports_of_others.add(own);
                call.own_ports.iter().for_each(|ports| ports_of_others.add(ports));
            }
        }
        let ports = PortsInfo::from(&ports_of_others);
        let is_after_loss =
            start.interpreter.as_ref().is_some_and(|language| session.lost.remove(language));
        let (calls, folder) = (session.total_calls, session.folder.clone());
        let joined = Joined { calls, folder, is_after_loss, ports };
        session.total_calls = session.total_calls.saturating_add(1);
        session.idle_since = None;
        let call = KeptCall {
            start,
            own_ports,
            ports_of_others,
            begun: Instant::now(),
            is_alone,
            has_ended: false,
            left: None,
            log: None,
            is_ending: false,
        };
        session.calls.insert(connection, call);
        HostReply::Joined(joined)
    }

    /// The same with the namespaces of a session, which are kept if there is none of this name.
    pub(super) fn begin(
        &mut self,
        connection: ConnectionId,
        (call, session): (CallStart, SessionStart),
        descriptors: Vec<OwnedFd>,
    ) -> HostReply {
        let key = (call.root.clone(), call.session.clone());
        if !self.sessions.contains_key(&key) {
            if self.sessions.len() >= SESSIONS_MAX {
                return refused(
                    &format!("there are {SESSIONS_MAX} sessions already"),
                    "stockade ps lists them; end one with: stockade kill SESSION",
                );
            }
            let Ok(space) = SessionSpace::from_descriptors(descriptors) else {
                return refused("these are not the namespaces of a session", "stockade doctor");
            };
            let limits = SessionLimits {
                idle: Duration::from_millis(session.idle_millis),
                processes: session.processes,
                memory: ByteCount::bytes(session.memory_bytes),
            };
            let kept = KeptSession {
                space,
                limits,
                begun: Instant::now(),
                idle_since: None,
                total_calls: 0,
                folder: None,
                calls: BTreeMap::new(),
                lost: BTreeSet::new(),
            };
            self.sessions.insert(key, kept);
        }
        self.join(connection, call)
    }

    /// The call whose supervisor keeps this interpreter.
    pub(super) fn keeper(&self, visit: &Visit) -> Option<ConnectionId> {
        let session = self.sessions.get(&(visit.root.clone(), visit.session.clone()))?;
        let keeps = |call: &KeptCall| call.start.interpreter.as_ref() == Some(&visit.language);
        session.calls.iter().find(|(_, call)| keeps(call)).map(|(id, _)| *id)
    }

    /// The namespaces of the session of a call.
    pub(super) fn space_of(&self, connection: ConnectionId) -> Option<&SessionSpace> {
        self.find(connection).map(|session| &session.space)
    }

    /// The program of a call has ended in a directory. Says whether that counts, and what ports of others were
    /// open meanwhile.
    pub(super) fn ended(
        &mut self,
        connection: ConnectionId,
        folder: Option<FolderInfo>,
    ) -> HostReply {
        let Some(session) = self.find_mut(connection) else { return not_joined() };
        let Some(call) = session.calls.get_mut(&connection) else { return not_joined() };
        call.has_ended = true;
        let ports = call.own_ports.as_ref().map(|own| call.ports_of_others.without(own));
        let ports = PortsInfo::from(&ports.unwrap_or_default());
        let counts = call.is_alone && call.start.sets_folder && folder.is_some();
        if counts {
            session.folder = folder;
        }
        HostReply::Noted { folder: counts, ports }
    }

    /// What a call has left running now; the call that has to end for that, if one has to.
    pub(super) fn left(
        &mut self,
        connection: ConnectionId,
        left: LeftInfo,
        log: Option<OwnedFd>,
    ) -> (HostReply, EndOrders) {
        let Some(session) = self.find_mut(connection) else { return (not_joined(), Vec::new()) };
        if let Some(call) = session.calls.get_mut(&connection) {
            call.left = Some(left);
            call.log = log.or(call.log.take());
        }
        session.note_idle();
        let noted = HostReply::Noted { folder: false, ports: PortsInfo::default() };
        (noted, session.over_budget().into_iter().collect())
    }

    /// A connection was closed: its call is over.
    pub(super) fn closed(&mut self, connection: ConnectionId) {
        if let Some(session) = self.find_mut(connection) {
            let closed = session.calls.remove(&connection).filter(|call| call.left.is_some());
            session.lost.extend(closed.and_then(|call| call.start.interpreter));
            session.note_idle();
        }
    }

    /// Ends sessions that were idle for too long, with the interpreters that wait in them.
    pub(super) fn expire(&mut self, now: Instant) -> EndOrders {
        let is_over = |session: &KeptSession| {
            let idle = session.idle_since.map(|since| now.saturating_duration_since(since));
            idle.is_some_and(|idle| idle >= session.limits.idle)
        };
        let over = self.sessions.extract_if(.., |_, session| is_over(session));
        over.flat_map(|(_, session)| session.calls.into_keys()).map(|id| (id, None)).collect()
    }

    /// When the next session expires.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let expiry = |session: &KeptSession| session.idle_since?.checked_add(session.limits.idle);
        self.sessions.values().filter_map(expiry).min()
    }

    /// One piece of the list of sessions.
    pub(super) fn list(&self, from: Option<ListPlace>, now: Instant) -> HostReply {
        let secs = |since: Instant| now.saturating_duration_since(since).as_secs();
        let (first, call) = match from {
            Some(place) => (Bound::Included((place.root, place.session)), place.call),
            None => (Bound::Unbounded, 0),
        };
        let mut sessions = self.sessions.range((first.clone(), Bound::Unbounded));
        let Some((key, session)) = sessions.next() else {
            return HostReply::Listed { session: None, next: None };
        };
        // Where the session of that place is gone, the next one is listed from its start.
        let call = if first == Bound::Included(key.clone()) { call } else { 0 };
        let place = |key: &(RawPath, String), call| ListPlace {
            root: key.0.clone(),
            session: key.1.clone(),
            call,
        };
        let mut calls = session.calls.range(call..);
        let info = |call: &KeptCall| CallInfo {
            call: call.start.call.clone(),
            command: call.start.command.clone(),
            age_secs: secs(call.begun),
            left: call.left.clone(),
        };
        let listed = calls.by_ref().take(LISTED_MAX).map(|(_, call)| info(call)).collect();
        let rest = calls.next().map(|(id, _)| place(key, *id));
        let next = rest.or_else(|| sessions.next().map(|(key, _)| place(key, 0)));
        let session = SessionInfo {
            name: key.1.clone(),
            root: key.0.clone(),
            age_secs: secs(session.begun),
            idle_secs: session.idle_since.map(secs),
            total_calls: session.total_calls,
            folder: session.folder.as_ref().map(|folder| folder.path.clone()),
            calls: listed,
        };
        HostReply::Listed { session: Some(Box::new(session)), next }
    }

    /// The log of a call.
    pub(super) fn log<'t>(
        &'t self,
        selector: &'t Selector,
    ) -> Result<(String, &'t OwnedFd), HostReply> {
        let mut found = self.calls(selector).filter(|(_, call)| selector.means(call));
        let (first, second) = (found.next(), found.next());
        match (first, second) {
            (Some((_, call)), None) => match &call.log {
                Some(log) => Ok((call.start.call.clone(), log)),
                None => Err(refused(
                    &format!("the program of {} is still running", call.start.call),
                    "its output goes to where it was called",
                )),
            },
            (Some(_), Some(_)) => Err(refused(
                &format!("{:?} means more than one call", selector.what),
                "stockade ps shows their names",
            )),
            (None, _) => Err(HostReply::Absent),
        }
    }

    /// Ends a call, what listens on a port, or a session with all its calls.
    pub(super) fn kill(&mut self, selector: &Selector) -> (HostReply, EndOrders) {
        let named: Vec<_> = self.keys(selector).filter(|key| key.1 == selector.what).collect();
        if named.len() > 1 {
            let why = format!("more than one project has a session {:?}", selector.what);
            return (refused(&why, "run it in the folder of the project"), Vec::new());
        }
        let ended = named.first().and_then(|key| self.sessions.remove(key));
        let (ended, session): (Vec<ConnectionId>, bool) = match ended {
            Some(session) => (session.calls.into_keys().collect(), true),
            None => {
                let calls = self.calls(selector).filter(|(_, call)| selector.means(call));
                (calls.map(|(id, _)| id).collect(), false)
            }
        };
        let calls = u32::try_from(ended.len()).unwrap_or(u32::MAX);
        let orders = ended.into_iter().map(|id| (id, None)).collect();
        (HostReply::Killed { calls, session }, orders)
    }

    fn keys<'t>(&'t self, selector: &'t Selector) -> impl Iterator<Item = (RawPath, String)> + 't {
        let has_own = self
            .sessions
            .keys()
            .any(|key| Some(&key.0) == selector.root.as_ref() && key.1 == selector.what);
        let is_meant = move |key: &&(RawPath, String)| {
            let is_named = selector.session.as_ref().is_none_or(|name| *name == key.1);
            // A session of this project goes first; where it has to be this project, no other counts.
            let is_strict = has_own || selector.session.is_some();
            is_named && (!is_strict || selector.root.as_ref().is_none_or(|root| *root == key.0))
        };
        self.sessions.keys().filter(is_meant).cloned()
    }

    fn calls<'t>(
        &'t self,
        selector: &'t Selector,
    ) -> impl Iterator<Item = (ConnectionId, &'t KeptCall)> + 't {
        let is_meant = move |((root, name), _): &(&(RawPath, String), &KeptSession)| {
            let Some(wanted) = &selector.session else { return true };
            wanted == name && selector.root.as_ref().is_none_or(|wanted| wanted == root)
        };
        let sessions = self.sessions.iter().filter(is_meant);
        sessions.flat_map(|(_, session)| session.calls.iter().map(|(id, call)| (*id, call)))
    }

    fn find(&self, connection: ConnectionId) -> Option<&KeptSession> {
        self.sessions.values().find(|session| session.calls.contains_key(&connection))
    }

    fn find_mut(&mut self, connection: ConnectionId) -> Option<&mut KeptSession> {
        self.sessions.values_mut().find(|session| session.calls.contains_key(&connection))
    }
}

impl KeptSession {
    /// Notes since when it is idle.
    fn note_idle(&mut self) {
        let waits = |call: &KeptCall| call.left.as_ref().is_some_and(|left| left.is_interpreter);
        if !self.calls.values().all(waits) {
            self.idle_since = None;
        } else if self.idle_since.is_none() {
            self.idle_since = Some(Instant::now());
        }
    }

    /// The call that has to end because all of them use too much.
    fn over_budget(&mut self) -> Option<(ConnectionId, Option<LimitHit>)> {
        let mut used = Vec::new();
        let mut ids = Vec::new();
        for (id, call) in self.calls.iter().filter(|(_, call)| !call.is_ending) {
            if let Some(left) = &call.left {
                used.push((left.tasks, ByteCount::bytes(left.memory_bytes)));
                ids.push(*id);
            }
        }
        let (largest, limit) = over_budget(self.limits, &used)?;
        let id = *ids.get(largest)?;
        self.calls.get_mut(&id)?.is_ending = true;
        Some((id, Some(limit)))
    }
}

impl Selector {
    /// Whether it means this call, by its name or by a port.
    fn means(&self, call: &KeptCall) -> bool {
        let port: Option<u16> = self.what.trim_start_matches(':').parse().ok();
        let listens = |port: u16| {
            let processes = call.left.iter().flat_map(|left| &left.processes);
            processes.filter_map(|process| process.ports.as_ref()).flatten().any(|one| *one == port)
        };
        call.start.call == self.what || port.is_some_and(listens)
    }
}

/// A refusal with a hint.
pub(super) fn refused(why: &str, hint: &str) -> HostReply {
    HostReply::Refused { why: why.to_owned(), hint: Some(hint.to_owned()) }
}

fn not_joined() -> HostReply {
    refused("this connection has no call in a session", "its session was ended")
}
