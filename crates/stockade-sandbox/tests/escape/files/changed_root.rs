//! 22: makes the project its root, which is the first step out of one.

use stockade_sandbox::Mechanism::{Filter, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 22,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(0);
            call(libc::SYS_chroot, &[address(c".")]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
