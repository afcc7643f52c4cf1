//! 68: enters a namespace through a handle on it.

use std::fs::File;
use std::os::fd::AsRawFd;

use stockade_sandbox::Mechanism::{Filter, LockedMounts, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 68,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWUTS);
            let namespace = File::open("/proc/self/ns/uts")?;
            let args = [namespace.as_raw_fd() as usize, libc::CLONE_NEWUTS as usize];
            call(libc::SYS_setns, &args).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, LockedMounts], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
