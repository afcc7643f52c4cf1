//! Holds the program until the host has looked at it from outside.

use super::boxed::gate;
use super::cell::Cell;
use super::locks::Seen;
use super::sys::{self, Errno, pr};

/// Tells the host that everything is in place, and waits for its word.
pub(crate) fn wait_in_child(cell: &Cell, seen: Seen) -> sys::Result<()> {
    let Some(socket) = cell.fd(cell.plan.gate) else { return Ok(()) };
    // The host may not look at the namespaces of a process that is not dumpable. This one has
    // nothing to hide, nothing else runs in the box, and execution would set it anyway.
    sys::prctl(pr::SET_DUMPABLE, 1)?;
    let word = match seen {
        Seen::Refusing => gate::READY | gate::LANDLOCK_REFUSES,
        Seen::Nothing => gate::READY,
    };
    sys::write(socket, &[word])?;
    let mut answer = [0];
    match sys::read(socket, &mut answer) {
        Ok(1) if answer == [gate::GO] => Ok(()),
        Ok(_) => Err(Errno::CANCELED),
        Err(errno) => Err(errno),
    }
}
