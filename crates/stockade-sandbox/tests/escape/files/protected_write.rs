//! 41: writes a protected file.

use std::fs;

use stockade_sandbox::Mechanism::ProtectedPaths;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| done(fs::write(".git/config", "evil")),
    reached: |scene, _| scene.read("project/.git/config") == "evil",
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ProtectedPaths]],
    ..Attack::CALL
};
