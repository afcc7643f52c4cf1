//! 41: removes a protected file.

use std::fs;

use stockade_sandbox::Mechanism::ProtectedPaths;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| done(fs::remove_file(".git/config")),
    reached: |scene, _| scene.read("project/.git/config").is_empty(),
    refused: &[Reason::Errno(libc::EBUSY)],
    locks: &[&[ProtectedPaths]],
    ..Attack::CALL
};
