//! A command's connection to the session host.

use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use stockade::launch::LogRing;

use super::SessionError;
use super::message::{
    Envelope, FromHost, HostReply, HostRequest, PROTOCOL, Packet, RawPath, Selector, SessionInfo,
    send,
};
use super::place::HostPlace;

/// How long the host may take. It does nothing that could take long, so that it is stopped or gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked whether calls are gone.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A connection for one request after another.
#[derive(Debug)]
pub(crate) struct Client {
    socket: OwnedFd,
}

impl Client {
    /// A connection to the host of this user, if there is one.
    pub(crate) fn find() -> Result<Option<Self>, SessionError> {
        Ok(HostPlace::find()?.connect()?.map(|socket| Self { socket }))
    }

    /// A connection to the host that is there.
    #[cfg(test)]
    pub(super) fn at(place: &HostPlace) -> Result<Self, SessionError> {
        Ok(Self { socket: place.connect()?.ok_or("there is no host")? })
    }

    /// The same; the host is started if there is none.
    pub(super) fn start() -> Result<Self, SessionError> {
        Ok(Self { socket: HostPlace::find()?.connect_or_start()? })
    }

    /// Ends the connection for all who have it.
    pub(super) fn close(&self) {
        // One that is over needs no end.
        let _over = shutdown(&self.socket, Shutdown::Both).is_err();
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a request without waiting for its answer.
    pub(super) fn send(
        &self,
        request: HostRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let envelope = Envelope { protocol: PROTOCOL, request };
        send(&self.socket, &envelope, descriptors)
    }

    /// Asks for a `purpose`, which completes "could not …", and waits for the answer.
    pub(super) fn ask(
        &self,
        purpose: &str,
        request: HostRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(HostReply, Vec<OwnedFd>), SessionError> {
        self.send(request, descriptors)
            .map_err(|error| failed(purpose, &format!("the session host is gone: {error}")))?;
        self.receive(purpose)
    }

    /// Waits for the answer to a request.
    pub(super) fn receive(&self, purpose: &str) -> Result<(HostReply, Vec<OwnedFd>), SessionError> {
        let fail = |why: &dyn Display| failed(purpose, why);
        let lost = |error: io::Error| fail(&format!("the session host is gone: {error}"));
        let timeout = Timespec::try_from(PATIENCE).map_err(|error| fail(&error))?;
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        if poll(&mut polled, Some(&timeout)).map_err(|errno| fail(&errno))? == 0 {
            return Err(fail(
                &"the session host does not answer\nhint: end it, and its sessions with it: pkill -f \
                  'stockade session-host'",
            ));
        }
        let packet = Packet::receive(&self.socket).map_err(lost)?;
        let packet = packet.ok_or_else(|| fail(&"the session host has closed the connection"))?;
        match packet.read::<FromHost>().map_err(|error| fail(&error))? {
            FromHost::Reply(HostReply::Refused { why, hint }) => Err(match hint {
                Some(hint) => fail(&format!("{why}\nhint: {hint}")),
                None => fail(&why),
            }),
            FromHost::Reply(reply) => Ok((reply, packet.descriptors)),
            FromHost::End(_) | FromHost::Visit => Err(fail(&"the session was ended")),
        }
    }

    /// All sessions, with their calls.
    pub(crate) fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        let mut all: Vec<SessionInfo> = Vec::new();
        let mut from = None;
        loop {
            let (session, next) =
                match self.ask("list the sessions", HostRequest::List(from), &[])? {
                    (HostReply::Listed { session, next }, _) => (session, next),
                    (other, _) => return Err(unexpected(&other)),
                };
            if let Some(session) = session {
                match all.last_mut().filter(|last| last.is_same(&session)) {
                    Some(last) => last.calls.extend(session.calls),
                    None => all.push(*session),
                }
            }
            from = match next {
                Some(next) => Some(next),
                None => return Ok(all),
            };
        }
    }

    /// The last output of what a call has left running; nothing if nothing is of that name.
    pub(crate) fn log(
        &self,
        what: &str,
        session: Option<&str>,
        root: &Path,
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let selector = selector(what, session, root);
        let purpose = format!("show the output of {what:?}");
        match self.ask(&purpose, HostRequest::Log(selector), &[])? {
            (HostReply::Log { .. }, descriptors) => {
                let log = descriptors.into_iter().next();
                let log = log.ok_or_else(|| format!("{purpose}: it did not come along"))?;
                let read = LogRing::from_descriptor(log).and_then(|log| log.read());
                Ok(Some(read.map_err(|error| format!("{purpose}: {error}"))?))
            }
            (HostReply::Absent, _) => Ok(None),
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// Ends a call, what listens on a port, or a session: how many calls, and whether a session. Waits
    /// until they are gone, and fails if they are still there after a while.
    pub(crate) fn kill(
        &self,
        what: &str,
        session: Option<&str>,
        root: &Path,
    ) -> Result<(u32, bool), SessionError> {
        self.kill_but(0, &format!("end {what:?}"), selector(what, session, root))
    }

    /// Ends a session from within one of its calls, which it does not wait for.
    pub(super) fn kill_own_session(&self, name: &str, root: &Path) -> Result<(), SessionError> {
        let purpose = format!("end the session {name}");
        self.kill_but(1, &purpose, selector(name, Some(name), root)).map(drop)
    }

    /// The same; so many of the calls may stay.
    fn kill_but(
        &self,
        stay: u32,
        purpose: &str,
        selector: Selector,
    ) -> Result<(u32, bool), SessionError> {
        match self.ask(purpose, HostRequest::Kill(selector), &[])? {
            (HostReply::Killed { calls, session }, _) => {
                let until = Instant::now().checked_add(PATIENCE);
                loop {
                    match self.ending()? {
                        rest if rest <= stay => return Ok((calls, session)),
                        rest if until.is_none_or(|until| Instant::now() >= until) => {
                            let waited = PATIENCE.as_secs();
                            return Err(format!(
                                "{purpose}: {rest} of {calls} calls were told to end, and are still there \
                                 after {waited} s"
                            )
                            .into());
                        }
                        _ => thread::sleep(LOOK_PAUSE),
                    }
                }
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// How many of the calls that it has ended are not gone yet.
    fn ending(&self) -> Result<u32, SessionError> {
        match self.ask("wait for the end of calls", HostRequest::Ending, &[])? {
            (HostReply::Ending { calls }, _) => Ok(calls),
            (other, _) => Err(unexpected(&other)),
        }
    }
}

/// What could not be done, and why.
fn failed(purpose: &str, why: &dyn Display) -> SessionError {
    format!("{purpose}: {why}").into()
}

fn selector(what: &str, session: Option<&str>, root: &Path) -> Selector {
    let session = session.map(str::to_owned);
    Selector { what: what.to_owned(), session, root: Some(RawPath::of(root)) }
}

pub(super) fn unexpected(reply: &HostReply) -> SessionError {
    format!("understand the session host: it answered with something else: {reply:?}").into()
}
