//! 13: reads the environment of a process outside.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, PidNamespace, UserNamespace};

use crate::support::{Attack, Need, Reason, Scene};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 13,
    needs: &[Need::Root],
    plant: Scene::plant_process,
    attempt: |aim| {
        let environment = fs::read(format!("/proc/{}/environ", aim.number("pid")))?;
        Ok(String::from_utf8_lossy(&environment).replace('\0', " "))
    },
    reached: |scene, loot| loot.contains(scene.secret()),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[PidNamespace], &[Landlock], &[UserNamespace]],
    ..Attack::CALL
};
