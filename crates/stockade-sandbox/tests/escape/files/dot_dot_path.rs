//! 1: reads a file outside the box through `..`.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 1,
    attempt: |_| fs::read_to_string("../outside/canary"),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    ..Attack::READ
};
