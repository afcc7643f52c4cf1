//! 42: writes a file that can only be read.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, ReadOnlyBinds};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 42,
    attempt: |aim| done(fs::write(aim.shown("canary"), "evil")),
    reached: |scene, _| scene.read("shown/canary") == "evil",
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ReadOnlyBinds], &[Landlock]],
    ..Attack::CALL
};
