//! 41: moves another file over a protected one.

use std::fs;

use stockade_sandbox::Mechanism::ProtectedPaths;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| {
        fs::write(".git/new", "evil")?;
        done(fs::rename(".git/new", ".git/config"))
    },
    reached: |scene, _| scene.read("project/.git/config") == "evil",
    refused: &[Reason::Errno(libc::EBUSY)],
    locks: &[&[ProtectedPaths]],
    ..Attack::CALL
};
