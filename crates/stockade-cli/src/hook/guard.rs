//! A parent for the process that decides: however that one ends, an agent gets a status that it heeds. It
//! takes any other for a hook that has nothing to say, and goes on.

use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::OnceLock;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{WaitOptions, WaitStatus, waitpid};
use stockade::launch::{ForkSide, fork_supervisor};

use super::event::Kind;
use super::{KIND, refuse};
use crate::exit_code::Status;

/// The socket to the parent.
static PARENT: OnceLock<OwnedFd> = OnceLock::new();

/// Goes on in a child of this process, and returns in the parent when the child has ended. Without a second
/// process the first decides alone: where none can be had, that is as much as there is.
pub(crate) fn guard() -> Option<ExitCode> {
    let (child, socket) = match fork_supervisor() {
        Ok(ForkSide::FrontEnd { supervisor, socket }) => (supervisor, socket),
        Ok(ForkSide::Supervisor(socket)) => {
            PARENT.get_or_init(|| socket);
            return None;
        }
        Err(_none) => return None,
    };
    let ended = loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => break ended,
        }
    };
    let status = ended.ok().flatten().map(|(_, status)| status);
    match status.and_then(WaitStatus::exit_status) {
        Some(0) => return Some(Status::Ok.into()),
        Some(2) => return Some(Status::Blocked.into()),
        Some(_) | None => {}
    }
    let mut word = [0];
    if let Ok((1.., _)) = recv(&socket, &mut word, RecvFlags::DONTWAIT) {
        KIND.get_or_init(|| if word == [1] { Kind::PermissionRequest } else { Kind::PreToolUse });
    }
    let how = match status.and_then(WaitStatus::terminating_signal) {
        Some(signal) => format!("was ended by signal {signal}"),
        None => "has ended without an answer".to_owned(),
    };
    Some(refuse(&format!("the process that decides {how}")))
}

/// Tells the parent which kind of answer is waited for.
pub(super) fn tell(kind: Kind) {
    if let Some(parent) = PARENT.get() {
        let word = [u8::from(kind == Kind::PermissionRequest)];
        // A parent that is gone refuses nothing any more.
        let _gone = send(parent, &word, SendFlags::NOSIGNAL).is_err();
    }
}
