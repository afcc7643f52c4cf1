//! 63: takes a descriptor out of another process of its own.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, call, done, with_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 63,
    attempt: |_| {
        done(with_child(|pid| {
            let handle = call(libc::SYS_pidfd_open, &[pid, 0])?;
            call(libc::SYS_pidfd_getfd, &[handle, 0, 0])
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
