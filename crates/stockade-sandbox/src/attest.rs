//! Attests a sandbox from outside before its program is executed.
//!
//! The program's process waits with every lock on, so that nothing is read too early or too late.
//! Landlock and the broker do not show in `/proc`: for them the sandbox reports the results of its
//! own tests.

mod expect;
mod look;

use rustix::process::Pid;

pub(crate) use self::expect::Expectations;
pub(crate) use self::look::{Namespaces, ProgramNamespaces, ProgramView};
use crate::protocol::mechanism::Mechanism;

/// The mechanisms seen at work in a sandbox, compared with those requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attestation {
    /// Asked for, and seen from outside; for Landlock and the broker, seen by the sandbox's own
    /// tests.
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
    /// The mounts of the sandbox, as `mountinfo` shows them.
    pub mounts: String,
    /// Its cgroups, as `/proc` has them.
    pub cgroups: String,
}

/// The mechanisms made of mounts that a running sandbox no longer has.
pub(crate) fn lost(expected: &Expectations, first: Pid) -> rustix::io::Result<Vec<Mechanism>> {
    look::lost(expected, first)
}

/// The host's own namespaces, which a sandbox must not have.
pub(crate) fn look_at_host(expected: &Expectations) -> rustix::io::Result<Namespaces> {
    Namespaces::of_host(expected)
}

/// Looks at the namespaces of a program that is not yet ready.
pub(crate) fn look_at_spaces(
    expected: &Expectations,
    first: Pid,
    host: &Namespaces,
) -> rustix::io::Result<ProgramNamespaces> {
    look::spaces(expected, first, host)
}

/// Looks at what else is around it, once its mounts are there and no others.
pub(crate) fn look_around(spaces: ProgramNamespaces) -> rustix::io::Result<ProgramView> {
    look::around(spaces)
}

/// The results of the tests that a sandbox makes itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelfTests {
    /// Landlock refused to open a file.
    pub(crate) landlock: bool,
    /// The broker refused to make a name.
    pub(crate) broker: bool,
}

/// Looks at a program that waits. The word of Landlock and of the broker is that of the sandbox's
/// own tests.
pub(crate) fn look(
    expected: &Expectations,
    around: ProgramView,
    tests: SelfTests,
) -> rustix::io::Result<Attestation> {
    look::at(expected, around, tests)
}
