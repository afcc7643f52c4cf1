//! 15: opens the file that reboots and kills, and writes nothing.

use std::fs::OpenOptions;

use stockade_sandbox::Mechanism::{NoCapabilities, OtherUser, UserNamespace};

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 15,
    needs: &[Need::Root, Need::Kernel(libc::ENOENT)],
    attempt: |_| done(OpenOptions::new().write(true).open("/proc/sysrq-trigger")),
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[UserNamespace, OtherUser], &[NoCapabilities, OtherUser]],
    ..Attack::CALL
};
