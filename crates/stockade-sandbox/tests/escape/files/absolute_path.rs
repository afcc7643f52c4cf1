//! 2: reads a file outside the box by its path.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 2,
    attempt: |aim| fs::read_to_string(aim.outside("canary")),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    ..Attack::READ
};
