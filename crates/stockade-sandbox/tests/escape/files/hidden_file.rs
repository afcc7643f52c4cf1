//! 39: reads a hidden file.

use std::fs;

use stockade_sandbox::Mechanism::HiddenPaths;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 39,
    attempt: |_| fs::read_to_string(".env"),
    reached: |scene, loot| loot == scene.secret(),
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[HiddenPaths]],
    ..Attack::CALL
};
