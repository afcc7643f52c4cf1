//! 62: kills a process outside through a handle on it.

use stockade_sandbox::Mechanism::{Landlock, PidNamespace};

use crate::support::{Attack, Reason, Scene, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 62,
    plant: Scene::plant_process,
    attempt: |aim| {
        let handle = call(libc::SYS_pidfd_open, &[aim.number("pid"), 0])?;
        done(call(libc::SYS_pidfd_send_signal, &[handle, libc::SIGKILL as usize, 0, 0]))
    },
    reached: |scene, _| scene.is_process_dead(),
    refused: &[Reason::Errno(libc::ESRCH)],
    locks: &[&[PidNamespace], &[Landlock]],
    landlock_since: 6,
    ..Attack::CALL
};
