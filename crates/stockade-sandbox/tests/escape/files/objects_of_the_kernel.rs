//! 17: reads one of the kernel's objects.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 17,
    attempt: |_| done(fs::read("/sys/kernel/uevent_seqnum")),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    ..Attack::CALL
};
