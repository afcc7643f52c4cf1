//! 16: reads in the list of keys what keys the host has.

use std::fs;

use stockade_sandbox::Mechanism::HiddenPaths;

use crate::support::{Attack, Need, Reason, Scene};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 16,
    needs: &[Need::Kernel(libc::ENOENT)],
    plant: Scene::plant_key,
    attempt: |_| {
        let keys = fs::read_to_string("/proc/keys")?;
        let own = keys.lines().filter(|line| line.contains("stockade-escape"));
        Ok(own.collect::<Vec<_>>().join(" "))
    },
    reached: |scene, loot| loot.contains(&scene.unique()),
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[HiddenPaths]],
    ..Attack::CALL
};
