//! How the program's process hands over its listener, and sees the broker refuse a name.

use super::super::cell::Cell;
use super::super::locks::Seen;
use super::super::mechanism::Mechanism;
use super::super::step::Step;
use super::super::sys::{self, Errno, Fd, mounts, pr};
use super::super::watch::{At, Failed};
use super::super::wire::Failure;

/// A name at the root of the box that nobody may make. Without the broker the root is read-only,
/// which is another error.
pub(super) const NAME: &[u8] = b".stockade-name";

/// Sends the listener to the first process.
pub(crate) fn send_listener_in_child(cell: &Cell, listener: Fd) -> sys::Result<()> {
    let sent = sys::send(cell.desk, &Failure::default(), Some(listener));
    sys::close(listener);
    sent
}

/// Sends the listener to the first process, and tries to make a name that must be refused.
pub(crate) fn see_it_refuse_in_child(cell: &Cell, listener: Fd) -> Result<Seen, Failed> {
    send_listener_in_child(cell, listener).at(Step::TestBroker)?;
    // The broker may not read the memory of a process that is not dumpable. This one has nothing
    // to hide, nothing else runs in the box, and execution would set it anyway.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::TestBroker)?;
    match mounts::make_folder(sys::AT_FDCWD, c"/.stockade-name", 0o700) {
        Err(Errno::ACCES) => Ok(Seen::Refusing).at(Step::TestBroker),
        _ if cell.leaves_out(Mechanism::Broker) => Ok(Seen::Nothing),
        Ok(()) => Err(Failed { step: Step::TestBroker, errno: Errno::INVAL }),
        Err(errno) => Err(Failed { step: Step::TestBroker, errno }),
    }
}
