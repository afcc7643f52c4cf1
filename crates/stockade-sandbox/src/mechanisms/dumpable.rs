//! Hides this process's memory and environment from other processes of the same user.

use std::io;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Makes the calling process non-dumpable: no core file, and no look into its `/proc` entry or
/// its memory for another process of the same user without privileges.
///
/// It lasts until the process executes another program. Meant for the command line; in a library
/// it would surprise the host's debugger.
pub fn forbid_dumps() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
