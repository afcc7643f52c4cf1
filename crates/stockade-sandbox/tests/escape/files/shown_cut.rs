//! 35: cuts a file that can only be read.

use stockade_sandbox::Mechanism::{Landlock, ReadOnlyBinds};

use crate::support::{Attack, Reason, address, call, done, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    attempt: |aim| {
        let path = word(aim.shown("canary"));
        done(call(libc::SYS_truncate, &[address(path.as_c_str()), 0]))
    },
    reached: |scene, _| scene.read("shown/canary").is_empty(),
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ReadOnlyBinds], &[Landlock]],
    landlock_since: 3,
    ..Attack::CALL
};
