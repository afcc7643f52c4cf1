//! Sockets for the host in the network of a sandbox: a socket belongs to the network namespace in which it
//! was created, wherever it is used.
//!
//! This process enters that namespace, hands the sockets over, and ends. It does nothing with them.

use super::run::{At, CONTROL, StepError};
use super::sys::{self, Errno};
use crate::protocol::plan::{NONE, new};
use crate::protocol::step::Step;
use crate::protocol::{Report, SocketRequest, family, kind};

/// Creates the sockets that the next message asks for, and sends them one by one.
pub(crate) fn hand_out() -> Result<(), StepError> {
    let mut request = SocketRequest::default();
    let mut fds = [-1; 2];
    let (len, count) = loop {
        match sys::receive(CONTROL, &mut request, &mut fds) {
            Err(Errno::INTR) => {}
            other => break other.at(Step::ReadRequest)?,
        }
    };
    if len != size_of::<SocketRequest>() || count != fds.len() {
        return Err(StepError { step: Step::ReadRequest, errno: Errno::BADMSG });
    }
    let [user, network] = fds;
    enter(&request, user, network).at(Step::EnterNetwork)?;
    for family in [family::INET, family::INET6] {
        send(family, request.count).at(Step::MakeSockets)?;
    }
    Ok(())
}

/// Enters the namespaces. The user outside of the sandbox owns them, which is all that it takes.
fn enter(request: &SocketRequest, user: sys::Fd, network: sys::Fd) -> sys::Result<()> {
    if request.outer_uid != NONE && request.outer_gid != NONE {
        sys::spaces::become_user(request.outer_uid, request.outer_gid)?;
    }
    sys::spaces::enter(user, new::USER)?;
    sys::spaces::enter(network, new::NET)
}

fn send(family: u32, count: u32) -> sys::Result<()> {
    for _ in 0..count {
        let socket = match sys::tcp_socket(family) {
            // A kernel without IPv6.
            Err(Errno::AFNOSUPPORT) if family == family::INET6 => return Ok(()),
            other => other?,
        };
        let sent = Report { kind: kind::SOCKET, step: family, ..Report::default() };
        sys::send(CONTROL, &sent, Some(socket))?;
        sys::close(socket);
    }
    Ok(())
}
