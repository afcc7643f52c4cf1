//! A command's connection to the session host.

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

    /// Asks, and waits for the answer.
    pub(super) fn ask(
        &self,
        request: HostRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(HostReply, Vec<OwnedFd>), SessionError> {
        self.send(request, descriptors).map_err(|error| lost(&error))?;
        self.receive()
    }

    /// Waits for the answer to a request.
    pub(super) fn receive(&self) -> Result<(HostReply, Vec<OwnedFd>), SessionError> {
        let timeout = Timespec::try_from(PATIENCE)?;
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        if poll(&mut polled, Some(&timeout))? == 0 {
            return Err(
                "the session host does not answer; hint: end it, and its sessions with it: \
                        pkill -f 'stockade session-host'"
                    .into(),
            );
        }
        let packet = Packet::receive(&self.socket).map_err(|error| lost(&error))?;
        let packet = packet.ok_or("the session host has closed the connection")?;
        match packet.read::<FromHost>()? {
            FromHost::Reply(HostReply::Refused { why, hint }) => Err(match hint {
                Some(hint) => format!("{why}\nhint: {hint}").into(),
                None => why.into(),
            }),
            FromHost::Reply(reply) => Ok((reply, packet.descriptors)),
            FromHost::End(_) | FromHost::Visit => Err("the session was ended".into()),
        }
    }

    /// All sessions, with their calls.
    pub(crate) fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        let mut all: Vec<SessionInfo> = Vec::new();
        let mut from = None;
        loop {
            let (session, next) = match self.ask(HostRequest::List(from), &[])? {
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

    /// The last output of what a call has left running.
    pub(crate) fn log(
        &self,
        what: &str,
        session: Option<&str>,
        root: &Path,
    ) -> Result<Vec<u8>, SessionError> {
        let selector = selector(what, session, root);
        match self.ask(HostRequest::Log(selector), &[])? {
            (HostReply::Log { .. }, descriptors) => {
                let log = descriptors.into_iter().next().ok_or("the log did not come along")?;
                Ok(LogRing::from_descriptor(log)?.read()?)
            }
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
        self.kill_but(0, selector(what, session, root))
    }

    /// Ends a session from within a call, which may be one of its calls and does not wait for itself.
    pub(super) fn kill_own_session(&self, name: &str, root: &Path) -> Result<(), SessionError> {
        self.kill_but(1, selector(name, Some(name), root)).map(drop)
    }

    /// The same; so many of the calls may stay.
    fn kill_but(&self, stay: u32, selector: Selector) -> Result<(u32, bool), SessionError> {
        match self.ask(HostRequest::Kill(selector), &[])? {
            (HostReply::Killed { calls, session }, _) => {
                let until = Instant::now().checked_add(PATIENCE);
                loop {
                    match self.ending()? {
                        rest if rest <= stay => return Ok((calls, session)),
                        rest if until.is_none_or(|until| Instant::now() >= until) => {
                            let waited = PATIENCE.as_secs();
                            let what = "told to end, and still there after";
                            return Err(
                                format!("{rest} of {calls} calls: {what} {waited} s").into()
                            );
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
        match self.ask(HostRequest::Ending, &[])? {
            (HostReply::Ending { calls }, _) => Ok(calls),
            (other, _) => Err(unexpected(&other)),
        }
    }
}

fn selector(what: &str, session: Option<&str>, root: &Path) -> Selector {
    let session = session.map(str::to_owned);
    Selector { what: what.to_owned(), session, root: Some(RawPath::of(root)) }
}

fn lost(error: &io::Error) -> String {
    format!("talk to the session host: {error}")
}

pub(super) fn unexpected(reply: &HostReply) -> SessionError {
    format!("the session host answered with something else: {reply:?}").into()
}
