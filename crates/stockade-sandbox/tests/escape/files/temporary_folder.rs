//! 33: reads a file in the temporary folder of the machine.

use std::fs;

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 33,
    plant: |scene| {
        let folder = scene.plant_folder("/tmp");
        fs::write(folder.join("canary"), scene.secret()).unwrap();
    },
    attempt: |aim| fs::read_to_string(format!("{}/canary", aim.fact("folder"))),
    refused: &[Reason::Errno(libc::ENOENT)],
    // Landlock allows this folder, for it is made by the box.
    locks: &[&[MountNamespace]],
    ..Attack::READ
};
