//! 44: makes more files in a temporary folder than the box may hold in memory.

use std::fs;
use std::path::PathBuf;

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 44,
    plant: |scene| scene.tell("folder", &format!("/tmp/{}", scene.unique())),
    attempt: |aim| {
        let folder = PathBuf::from(aim.fact("folder"));
        fs::create_dir_all(&folder)?;
        let made = (0..600)
            .try_for_each(|number| fs::write(folder.join(number.to_string()), "").map(drop));
        fs::remove_dir_all(&folder)?;
        done(made)
    },
    refused: &[Reason::Errno(libc::ENOSPC)],
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
