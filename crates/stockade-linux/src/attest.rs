//! What can be seen of a box from outside, before its program is executed.
//!
//! The program's process waits at a gate with every lock on, so that nothing is read too early or
//! too late. Landlock does not show in `/proc`: its word is that of the box's own test.

mod expect;
mod look;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

pub(crate) use self::expect::Expected;
use crate::keeper::boxed::gate;
use crate::keeper::mechanism::Mechanism;

/// What was seen of a box, beside what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attested {
    /// Asked for, and seen from outside; for Landlock, seen by the box's own test.
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
    /// Every mount of the box.
    pub mounts: Vec<SeenMount>,
    /// The lines of its cgroups, as `/proc` has them.
    pub cgroups: Vec<String>,
}

/// One mount, as `mountinfo` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenMount {
    /// Its path in the box, with `\040` for a space.
    pub target: String,
    /// Its flags, as `ro` or `nosuid`.
    pub flags: Vec<String>,
    /// The kind of file system.
    pub kind: String,
}

/// The mechanisms made of mounts that a running box no longer has.
pub(crate) fn lost(expected: &Expected, first: Pid) -> rustix::io::Result<Vec<Mechanism>> {
    look::lost(expected, first)
}

/// The two ends of the gate.
#[derive(Debug)]
pub(crate) struct Gate {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Gate {
    pub(crate) fn new() -> rustix::io::Result<Self> {
        let kind = SocketType::STREAM;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        Ok(Self { ours, theirs })
    }

    /// The end that the program's process waits at.
    pub(crate) fn theirs(&self) -> BorrowedFd<'_> {
        self.theirs.as_fd()
    }

    /// Keeps our end only, so that the other's closing is seen.
    pub(crate) fn ours(self) -> HostSide {
        HostSide(self.ours)
    }
}

/// The host's end of the gate. Dropping it lets nobody through.
#[derive(Debug)]
pub(crate) struct HostSide(OwnedFd);

impl HostSide {
    /// Waits for the program's process and looks at it. `None` if it did not come, which the
    /// keeper explains.
    pub(crate) fn look(
        &self,
        expected: &Expected,
        first: Pid,
    ) -> rustix::io::Result<Option<Attested>> {
        let mut word = [0];
        loop {
            match read(&self.0, &mut word) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
        let [word] = word;
        let landlock = word & gate::READY != 0 && word & gate::LANDLOCK_REFUSES != 0;
        look::at(expected, first, landlock).map(Some)
    }

    /// Lets the program be executed.
    pub(crate) fn release(self) -> rustix::io::Result<()> {
        write(&self.0, &[gate::GO]).map(drop)
    }
}
