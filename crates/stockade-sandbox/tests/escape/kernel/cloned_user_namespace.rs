//! 67: makes a process in a user namespace of its own.

use stockade_sandbox::Mechanism::{Filter, NoNesting};

use crate::support::{Attack, Reason, call, done, in_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 67,
    attempt: |_| {
        done(in_child(|| {
            let flags = (libc::CLONE_NEWUSER | libc::SIGCHLD) as usize;
            call(libc::SYS_clone, &[flags, 0, 0, 0, 0]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting]],
    ..Attack::CALL
};
