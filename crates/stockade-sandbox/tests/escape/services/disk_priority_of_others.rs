//! 62: lowers the priority on disk of a process outside.

use stockade_sandbox::Mechanism::PidNamespace;

use crate::support::{Attack, Reason, Scene, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 62,
    plant: Scene::plant_process,
    attempt: |aim| done(call(libc::SYS_ioprio_set, &[PROCESS, aim.number("pid"), IDLE])),
    reached: |scene, _| {
        call(libc::SYS_ioprio_get, &[PROCESS, scene.process_id() as usize]).unwrap() == IDLE
    },
    refused: &[Reason::Errno(libc::ESRCH)],
    // Landlock does not know priorities.
    locks: &[&[PidNamespace]],
    ..Attack::CALL
};

/// From `linux/ioprio.h`.
const PROCESS: usize = 1;
const IDLE: usize = 3 << 13;
