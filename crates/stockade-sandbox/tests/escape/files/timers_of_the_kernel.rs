//! 16: reads the kernel's timers, which show all processes.

use std::fs::File;

use stockade_sandbox::Mechanism::{NoCapabilities, OtherUser, UserNamespace};

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 16,
    needs: &[Need::Root, Need::Kernel(libc::ENOENT)],
    attempt: |_| done(File::open("/proc/timer_list")),
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[UserNamespace, OtherUser], &[NoCapabilities, OtherUser]],
    ..Attack::CALL
};
