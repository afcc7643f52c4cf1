//! 7: moves a file outside into the project, and reads it there.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 7,
    attempt: |aim| {
        fs::rename(aim.outside("canary"), "stolen")?;
        fs::read_to_string("stolen")
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    landlock_since: 2,
    ..Attack::READ
};
