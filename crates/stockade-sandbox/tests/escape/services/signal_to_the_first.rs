//! 62: sends the empty signal to the process that started it.

use std::os::unix::process::parent_id;

use stockade_sandbox::Mechanism::Landlock;

use crate::support::{Attack, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 62,
    attempt: |_| done(call(libc::SYS_kill, &[parent_id() as usize, 0])),
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Landlock]],
    landlock_since: 6,
    ..Attack::CALL
};
