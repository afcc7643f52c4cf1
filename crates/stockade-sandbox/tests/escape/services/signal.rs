//! 62: kills a process outside.

use stockade_sandbox::Mechanism::{Landlock, PidNamespace};

use crate::support::{Attack, Reason, Scene, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 62,
    plant: Scene::plant_process,
    attempt: |aim| done(call(libc::SYS_kill, &[aim.number("pid"), libc::SIGKILL as usize])),
    reached: |scene, _| scene.is_process_dead(),
    refused: &[Reason::Errno(libc::ESRCH)],
    locks: &[&[PidNamespace], &[Landlock]],
    landlock_since: 6,
    ..Attack::CALL
};
