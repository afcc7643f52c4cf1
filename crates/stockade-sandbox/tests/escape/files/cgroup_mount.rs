//! 18: mounts the control groups of the machine.

use stockade_sandbox::Mechanism::{Filter, Landlock, LockedMounts, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 18,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS | libc::CLONE_NEWCGROUP);
            let (kind, place) = (c"cgroup2", c"keys");
            call(libc::SYS_mount, &[address(kind), address(place), address(kind)]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[Landlock], &[NoNesting, LockedMounts], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
