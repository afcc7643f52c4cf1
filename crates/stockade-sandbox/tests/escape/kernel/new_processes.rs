//! 67: makes process ids of its own.

use stockade_sandbox::Mechanism::{Filter, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 67,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(0);
            call(libc::SYS_unshare, &[libc::CLONE_NEWPID as usize]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
