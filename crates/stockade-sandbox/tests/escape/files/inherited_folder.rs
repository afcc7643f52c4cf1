//! 10: opens a file beneath a folder of the host that was left open.

use std::fs;

use stockade_sandbox::Mechanism::{ClosedDescriptors, Landlock};

use crate::support::{Attack, LEAKED, Reason, address, call};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 10,
    attempt: |_| {
        let (folder, name) = (LEAKED, c"canary");
        let file = call(libc::SYS_openat, &[folder, address(name), libc::O_RDONLY as usize])?;
        fs::read_to_string(format!("/proc/self/fd/{file}"))
    },
    refused: &[Reason::Errno(libc::EBADF)],
    locks: &[&[ClosedDescriptors], &[Landlock]],
    ..Attack::READ
};
