//! 24: opens the device by which programs make file systems.

use std::fs::OpenOptions;

use stockade_sandbox::Mechanism::{MountNamespace, NoCapabilities, OtherUser, UserNamespace};

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 24,
    needs: &[Need::Root, Need::Kernel(libc::ENOENT)],
    attempt: |_| done(OpenOptions::new().read(true).write(true).open("/dev/fuse")),
    refused: &[Reason::Errno(libc::ENOENT)],
    // Landlock allows what is beneath `/dev`, for that is made by the box.
    locks: &[&[MountNamespace], &[UserNamespace, OtherUser], &[NoCapabilities, OtherUser]],
    ..Attack::CALL
};
