//! 63: traces a process outside.

use stockade_sandbox::Mechanism::{Filter, Landlock, PidNamespace, UserNamespace};

use crate::support::{Attack, Need, Reason, Scene, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 63,
    needs: &[Need::Root],
    plant: Scene::plant_process,
    attempt: |aim| {
        // PTRACE_SEIZE of linux/ptrace.h.
        done(call(libc::SYS_ptrace, &[0x4206, aim.number("pid"), 0, 0]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[PidNamespace], &[Landlock], &[UserNamespace], &[Filter]],
    ..Attack::CALL
};
