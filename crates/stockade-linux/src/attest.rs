//! What can be seen of a box from outside, before its program is executed.
//!
//! The program's process waits at a gate with every lock on, so that nothing is read too early or
//! too late. Landlock and the broker do not show in `/proc`: their word is that of the box's own tests.

mod expect;
mod look;

use rustix::process::Pid;

pub(crate) use self::expect::Expected;
pub(crate) use self::look::{Namespaces, Spaces, Surroundings};
use crate::keeper::mechanism::Mechanism;

/// What was seen of a box, beside what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attested {
    /// Asked for, and seen from outside; for Landlock and the broker, seen by the box's own tests.
    pub kept: Vec<Mechanism>,
    /// Asked for, and not there.
    pub missing: Vec<Mechanism>,
    /// Asked for, and such that it cannot be seen.
    pub unseen: Vec<Mechanism>,
    /// The user that the kernel knows the program as.
    pub uid: u32,
    /// All capabilities, of all five sets together.
    pub capabilities: u64,
    /// How many filters of system calls there are.
    pub filters: u32,
    /// The mounts of the box, as `mountinfo` shows them.
    pub mounts: String,
    /// Its cgroups, as `/proc` has them.
    pub cgroups: String,
}

/// The mechanisms made of mounts that a running box no longer has.
pub(crate) fn lost(expected: &Expected, first: Pid) -> rustix::io::Result<Vec<Mechanism>> {
    look::lost(expected, first)
}

/// The host's own namespaces, which a box must not have.
pub(crate) fn look_at_host(expected: &Expected) -> rustix::io::Result<Namespaces> {
    Namespaces::of_host(expected)
}

/// Looks at the namespaces of a program that is not yet ready.
pub(crate) fn look_at_spaces(
    expected: &Expected,
    first: Pid,
    host: &Namespaces,
) -> rustix::io::Result<Spaces> {
    look::spaces(expected, first, host)
}

/// Looks at what else is around it, once its mounts are there and no others.
pub(crate) fn look_around(spaces: Spaces) -> rustix::io::Result<Surroundings> {
    look::around(spaces)
}

/// What a box says of its own tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tested {
    /// Landlock refused to open a file.
    pub(crate) landlock: bool,
    /// The broker refused to make a name.
    pub(crate) broker: bool,
}

/// Looks at a program that waits. The word of Landlock and of the broker is that of the box's own
/// tests.
pub(crate) fn look(
    expected: &Expected,
    around: Surroundings,
    tested: Tested,
) -> rustix::io::Result<Attested> {
    look::at(expected, around, tested)
}
