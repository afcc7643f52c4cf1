//! 8: reads a file outside through `/proc/self/root`.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 8,
    attempt: |aim| {
        fs::read_to_string(format!("/proc/self/root{}", aim.outside("canary").display()))
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    ..Attack::READ
};
