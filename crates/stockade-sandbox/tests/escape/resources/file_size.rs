//! 92: writes a file that is larger than it may.

use std::fs;

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 92,
    attempt: |_| done(fs::write("large", vec![1_u8; 6 << 20])),
    reached: |scene, _| {
        fs::metadata(scene.at("project/large")).is_ok_and(|file| file.len() == 6 << 20)
    },
    refused: &[Reason::Signal(libc::SIGXFSZ)],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
