//! 84: fills the folder of shared memory.

use std::fs;
use std::path::PathBuf;

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 84,
    plant: |scene| scene.tell("folder", &format!("/dev/shm/{}", scene.unique())),
    attempt: |aim| {
        let folder = PathBuf::from(aim.fact("folder"));
        fs::create_dir_all(&folder)?;
        let part = vec![1_u8; 3 << 20];
        let filled =
            (0..4).try_for_each(|number| fs::write(folder.join(number.to_string()), &part));
        fs::remove_dir_all(&folder)?;
        done(filled)
    },
    refused: &[Reason::Errno(libc::ENOSPC)],
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
