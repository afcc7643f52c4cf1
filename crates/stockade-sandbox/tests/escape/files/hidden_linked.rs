//! 6: gives a hidden file another name, and reads that.

use std::fs;

use stockade_sandbox::Mechanism::HiddenPaths;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 6,
    attempt: |_| {
        fs::hard_link(".env", "uncovered")?;
        fs::read_to_string("uncovered")
    },
    refused: &[Reason::Errno(libc::EXDEV)],
    locks: &[&[HiddenPaths]],
    ..Attack::READ
};
