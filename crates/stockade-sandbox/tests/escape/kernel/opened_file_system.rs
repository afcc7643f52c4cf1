//! 75: opens a file system to mount it by the newer calls.

use stockade_sandbox::Mechanism::{Filter, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 75,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS);
            let kind = c"tmpfs";
            call(libc::SYS_fsopen, &[address(kind), 0]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
