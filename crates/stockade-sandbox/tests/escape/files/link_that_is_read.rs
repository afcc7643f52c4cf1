//! 3: makes a link in the project to a file outside, and reads through it.

use std::fs;
use std::os::unix::fs::symlink;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 3,
    attempt: |aim| {
        symlink(aim.outside("canary"), "link")?;
        fs::read_to_string("link")
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    ..Attack::READ
};
