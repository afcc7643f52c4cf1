//! 67: makes a user namespace, in which it has every capability.

use stockade_sandbox::Mechanism::{Filter, NoNesting};

use crate::support::{Attack, Reason, call, done, in_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 67,
    attempt: |_| {
        done(in_child(|| call(libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]).map(drop)))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting]],
    ..Attack::CALL
};
