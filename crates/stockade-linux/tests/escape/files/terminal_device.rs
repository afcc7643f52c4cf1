//! 24: opens the device that makes terminals.

use std::fs::File;

use stockade_linux::Mechanism::MountNamespace;

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 24,
    needs: &[Need::Kernel(libc::ENOENT)],
    attempt: |_| done(File::open("/dev/ptmx")),
    refused: &[Reason::Errno(libc::ENOENT)],
    // Landlock allows what is beneath `/dev`, for that is made by the box.
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
