//! 6: links a file outside into the project, and writes it there.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 6,
    attempt: |aim| {
        fs::hard_link(aim.outside("canary"), "link")?;
        done(fs::write("link", "evil"))
    },
    reached: |scene, _| scene.read("outside/canary") == "evil",
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    landlock_since: 2,
    ..Attack::CALL
};
