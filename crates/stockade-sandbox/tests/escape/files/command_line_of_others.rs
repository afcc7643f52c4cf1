//! 13: reads the arguments of a process outside.

use std::fs;

use stockade_sandbox::Mechanism::PidNamespace;

use crate::support::{Attack, Reason, Scene};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 13,
    plant: Scene::plant_process,
    attempt: |aim| {
        let words = fs::read(format!("/proc/{}/cmdline", aim.number("pid")))?;
        Ok(String::from_utf8_lossy(&words).replace('\0', " "))
    },
    reached: |scene, loot| loot.contains(scene.secret()),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[PidNamespace]],
    ..Attack::CALL
};
