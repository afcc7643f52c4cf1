//! 41: creates a new file in a protected folder.

use std::fs;

use stockade_sandbox::Mechanism::ProtectedPaths;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| done(fs::write(".git/hooks/pre-commit", "evil")),
    reached: |scene, _| scene.read("project/.git/hooks/pre-commit") == "evil",
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ProtectedPaths]],
    ..Attack::CALL
};
