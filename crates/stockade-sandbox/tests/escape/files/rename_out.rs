//! 7: moves a file of the project to a folder outside.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, MountNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 7,
    attempt: |aim| {
        fs::write("new", "evil")?;
        done(fs::rename("new", aim.outside("new")))
    },
    reached: |scene, _| scene.read("outside/new") == "evil",
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace], &[Landlock]],
    landlock_since: 2,
    ..Attack::CALL
};
