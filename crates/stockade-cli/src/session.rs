//! Sessions of separate commands. One small process for each user, the *session host*, keeps their
//! descriptors and the list of their calls; each call has a supervisor process of its own.
//!
//! ```text
//!  stockade run --session NAME      front end: waits, passes signals on, exits with the status
//!     └─fork─▶ supervisor           judges and runs the call; stays while the call has left something
//!                 └─socket─▶ host   namespaces of the session, its directory, its calls
//! ```
//!
//! The socket of a call stays open while the call, or what it left, is running: a closed socket is the end
//! of the call for the host, and the end of the host ends the call.
//!
//! An interpreter that keeps its state is what its first call leaves running, in the supervisor of that
//! call. The host passes later commands on to it; what they say to each other does not concern the host.

mod client;
mod host;
mod interpreter;
mod membership;
mod message;
mod place;
mod supervisor;
mod table;

use stockade::{Report, Stockade};

pub(crate) use self::client::Client;
pub(crate) use self::host::host;
pub(crate) use self::interpreter::code;
pub(crate) use self::membership::{Membership, Waits};
#[cfg(test)]
pub(crate) use self::message::ProcessInfo;
pub(crate) use self::message::{CallInfo, LeftInfo, SessionInfo};
pub(crate) use self::supervisor::{FrontEnd, supervised};
use crate::print;

/// Ends the sessions of the project after a call by whose handles its protected folders can be written: what
/// other supervisors watch may hold one.
pub(crate) fn end_if_unsealed(stockade: &Stockade, report: &Report) {
    if !report.is_unsealed() {
        return;
    }
    let end = || -> Result<(), SessionError> {
        let Some(client) = Client::find()? else { return Ok(()) };
        let sessions = client.list()?;
        for session in sessions.iter().filter(|one| one.root.path() == stockade.root()) {
            // The call itself may still be in its own.
            if report.session_name() == Some(&session.name) {
                client.kill_own_session(&session.name, stockade.root())?;
            } else {
                client.kill(&session.name, Some(&session.name), stockade.root())?;
            }
        }
        Ok(())
    };
    if let Err(error) = end() {
        print::error(&format!(
            "could not end the sessions of this project, whose processes may be able to write .git: {error}\n\
             hint: stockade ps; stockade kill SESSION"
        ));
    }
}

/// Anything that can go wrong with the host, in words for the person.
pub(crate) type SessionError = Box<dyn std::error::Error>;
