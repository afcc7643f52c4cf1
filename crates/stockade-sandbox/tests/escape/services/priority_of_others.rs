//! 62: lowers the priority of a process outside.

use stockade_sandbox::Mechanism::PidNamespace;

use crate::support::{Attack, Reason, Scene, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 62,
    plant: Scene::plant_process,
    attempt: |aim| {
        let args = [libc::PRIO_PROCESS as usize, aim.number("pid"), 19];
        done(call(libc::SYS_setpriority, &args))
    },
    reached: |scene, _| {
        let id = scene.process_id() as usize;
        // The kernel gives 20 less the value.
        call(libc::SYS_getpriority, &[libc::PRIO_PROCESS as usize, id]).unwrap() == 1
    },
    refused: &[Reason::Errno(libc::ESRCH)],
    // Landlock does not know priorities.
    locks: &[&[PidNamespace]],
    ..Attack::CALL
};
