//! 39: moves a hidden file from under its cover, and reads it.

use std::fs;

use stockade_sandbox::Mechanism::HiddenPaths;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 39,
    attempt: |_| {
        fs::rename(".env", "uncovered")?;
        fs::read_to_string("uncovered")
    },
    refused: &[Reason::Errno(libc::EBUSY)],
    locks: &[&[HiddenPaths]],
    ..Attack::READ
};
