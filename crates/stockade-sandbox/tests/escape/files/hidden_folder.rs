//! 39: reads a file in a hidden folder.

use std::fs;

use stockade_sandbox::Mechanism::HiddenPaths;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 39,
    attempt: |_| fs::read_to_string("keys/id"),
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[HiddenPaths]],
    ..Attack::READ
};
