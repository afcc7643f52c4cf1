//! 19: mounts one folder over another.

use stockade_sandbox::Mechanism::{Filter, Landlock, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 19,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS);
            let (from, place) = (c".git", c"keys");
            let flags = (libc::MS_BIND | libc::MS_REC) as usize;
            call(libc::SYS_mount, &[address(from), address(place), 0, flags]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[Landlock], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
