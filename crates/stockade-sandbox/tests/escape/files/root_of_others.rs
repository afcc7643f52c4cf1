//! 9: reads a file outside through the root of a process outside.

use std::fs;

use stockade_sandbox::Mechanism::{Landlock, PidNamespace, UserNamespace};

use crate::support::{Attack, Need, Reason, Scene};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 9,
    needs: &[Need::Root],
    plant: Scene::plant_process,
    attempt: |aim| {
        let (pid, canary) = (aim.number("pid"), aim.outside("canary"));
        fs::read_to_string(format!("/proc/{pid}/root{}", canary.display()))
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    // The own mounts are no lock on this way.
    locks: &[&[PidNamespace], &[Landlock], &[UserNamespace]],
    ..Attack::READ
};
