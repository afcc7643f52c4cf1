//! Single ports that connect the loopback of a sandbox with that of the machine: `box.publish` and
//! `box.host_ports`.
//!
//! A socket belongs to the network in which it was created. So this process has sockets of the sandbox and
//! of the machine, and a thread for each call passes bytes from one to the other.

mod connection;
mod listener;
mod relay;
mod stop_signal;

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::io::Errno;
use stockade_sandbox::PreparedSandbox;

use self::listener::{Direction, PortListener, own_sockets};
use self::relay::{BATCH, Relay};
use self::stop_signal::StopSignal;
use super::spec::not_started;
use crate::confine::Ports;
use crate::guarantee::Guarantee;
use crate::outcome::{Failure, FailureKind};

/// The open ports of a call. Dropping it closes them.
#[derive(Debug)]
pub(super) struct OpenPorts {
    stop: Arc<StopSignal>,
    thread: Option<JoinHandle<()>>,
    notes: Vec<String>,
}

/// The result of opening a port that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakenPortPolicy {
    /// A failure, and nothing runs.
    Fail,
    /// A note: it is probably in use by another call of the session, and is opened once it is free.
    Note,
}

impl OpenPorts {
    /// Opens the ports of a sandbox in which nothing runs yet; none if there are none.
    pub(super) fn open(
        ports: &Ports,
        sandbox: &PreparedSandbox,
        taken: TakenPortPolicy,
    ) -> Result<Option<Self>, Failure> {
        if ports.is_empty() {
            return Ok(None);
        }
        let network = sandbox.network().map_err(|error| failure(error.to_string()))?;
        // If this is not possible here, that shows before anything runs.
        let to_connect = if ports.publish.is_empty() { 0 } else { BATCH };
        let to_listen = u32::try_from(ports.host.len()).unwrap_or_default();
        let count = to_connect.saturating_add(to_listen);
        let mut inside = network.sockets(count).map_err(not_started)?;
        let mut listeners = Vec::new();
        for port in &ports.publish {
            let sockets = own_sockets().map_err(|errno| failure(errno.to_string()))?;
            listeners.push(PortListener::new(*port, Direction::In, sockets));
        }
        for port in &ports.host {
            let sockets = inside.v4.pop().into_iter().chain(inside.v6.pop()).collect();
            listeners.push(PortListener::new(*port, Direction::Out, sockets));
        }
        let mut notes = Vec::new();
        for listener in &mut listeners {
            match listener.open() {
                Ok(()) => {}
                Err(Errno::ADDRINUSE) if taken == TakenPortPolicy::Note => {
                    notes.push(taken_by_others(listener));
                }
                Err(errno) => return Err(not_opened(listener, errno)),
            }
        }
        let stop = Arc::new(StopSignal::new().map_err(|errno| failure(errno.to_string()))?);
        let (relay, told) = (Relay::new(network, listeners, inside), Arc::clone(&stop));
        let thread = thread::Builder::new().name("stockade-ports".to_owned());
        let thread = thread.spawn(move || relay.run(&told));
        let thread =
            thread.map_err(|error| failure(format!("no thread can serve them: {error}")))?;
        Ok(Some(Self { stop, thread: Some(thread), notes }))
    }

    /// The ports that were in use, a sentence each.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for OpenPorts {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed, and its sockets are closed.
            let _panicked = thread.join().is_err();
        }
    }
}

fn failure(message: String) -> Failure {
    Failure::new(FailureKind::OpenPorts, message).with_guarantee(Guarantee::Network)
}

/// A port that others have, in a session.
fn taken_by_others(listener: &PortListener) -> String {
    let port = listener.port;
    match listener.direction {
        Direction::In => format!(
            "port {port} is not published by this call: 127.0.0.1:{port} of this machine is in use, \
             perhaps by another call of the session"
        ),
        Direction::Out => format!(
            "this call does not open port {port} of this machine in the sandbox: another call of the \
             session listens on it"
        ),
    }
}

/// A port that cannot be opened.
fn not_opened(listener: &PortListener, errno: Errno) -> Failure {
    let PortListener { port, direction, .. } = listener;
    let place = match direction {
        Direction::In => "on this machine",
        Direction::Out => "in the sandbox",
    };
    let message = format!("could not listen on 127.0.0.1:{port} {place}: {errno}");
    failure(message).with_remedy(match (errno, direction) {
        (Errno::ADDRINUSE, Direction::In) => {
            format!("stop the program that listens there (ss -ltnp 'sport = :{port}'), or publish another port")
        }
        (Errno::ACCESS, Direction::In) => "publish a port above 1023; those below need root".to_owned(),
        _ => "remove the port from the policy and the command line".to_owned(),
    })
}
