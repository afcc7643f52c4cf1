//! 20: makes a user namespace with mounts of its own, and mounts an empty folder there.

use stockade_sandbox::Mechanism::{Filter, Landlock, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 20,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS);
            let (kind, place) = (c"tmpfs", c"keys");
            call(libc::SYS_mount, &[address(kind), address(place), address(kind)]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[Landlock], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
