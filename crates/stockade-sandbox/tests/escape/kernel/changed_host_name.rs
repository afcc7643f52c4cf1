//! 67: changes the name of its machine.

use stockade_sandbox::Mechanism::{Filter, LockedMounts, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 67,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWUTS);
            let name = c"evil";
            call(libc::SYS_sethostname, &[address(name), 4]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, LockedMounts], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
