//! 89: makes processes that end, and waits for none.

use std::io::{Error, Result};

use stockade_sandbox::Mechanism::{Cgroup, Rlimits};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 89,
    attempt: |_| {
        let result = (0..64).try_for_each(|_| ended());
        // SAFETY: waits for all children of this process and writes nothing.
        while unsafe { libc::wait(std::ptr::null_mut()) } > 0 {}
        done(result)
    },
    refused: &[Reason::Errno(libc::EAGAIN)],
    locks: &[&[Rlimits], &[Cgroup]],
    ..Attack::CALL
};

fn ended() -> Result<()> {
    // SAFETY: the child of this one call exits at once.
    match unsafe { libc::fork() } {
        -1 => Err(Error::last_os_error()),
        // SAFETY: _exit runs no destructor and no handler.
        0 => unsafe { libc::_exit(0) },
        _ => Ok(()),
    }
}
