//! 35: removes a file that can only be read.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, ReadOnlyBinds};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    attempt: |aim| done(fs::remove_file(aim.shown("canary"))),
    reached: |scene, _| !scene.at("shown/canary").exists(),
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ReadOnlyBinds], &[Landlock]],
    ..Attack::CALL
};
