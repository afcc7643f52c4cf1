//! 92: makes a file without content that is larger than it may.

use std::fs::{self, File};

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 92,
    attempt: |_| done(File::create("large")?.set_len(1 << 40)),
    reached: |scene, _| {
        fs::metadata(scene.at("project/large")).is_ok_and(|file| file.len() == 1 << 40)
    },
    refused: &[Reason::Signal(libc::SIGXFSZ)],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
