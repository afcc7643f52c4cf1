//! 33: makes a file in the root folder.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, Root};

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 33,
    needs: &[Need::Root],
    plant: |scene| scene.tell("name", &scene.unique()),
    attempt: |aim| {
        let path = format!("/{}", aim.fact("name"));
        fs::write(&path, "")?;
        done(fs::remove_file(path))
    },
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[Root], &[Landlock]],
    ..Attack::CALL
};
