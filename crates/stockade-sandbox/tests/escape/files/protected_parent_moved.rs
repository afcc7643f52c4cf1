//! 41: moves the folder of a protected file aside, and makes another.

use std::fs;

use stockade_sandbox::Mechanism::ProtectedPaths;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| {
        fs::rename(".git", "aside")?;
        fs::create_dir(".git")?;
        done(fs::write(".git/config", "evil"))
    },
    reached: |scene, _| scene.read("project/.git/config") == "evil",
    refused: &[Reason::Errno(libc::EBUSY)],
    locks: &[&[ProtectedPaths]],
    ..Attack::CALL
};
