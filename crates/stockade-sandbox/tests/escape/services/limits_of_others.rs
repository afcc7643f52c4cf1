//! 62: lowers a limit of a process outside.

use std::fs;

use stockade_sandbox::Mechanism::PidNamespace;

use crate::support::{Attack, Need, Reason, Scene, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 62,
    needs: &[Need::Kernel(libc::EPERM)],
    plant: Scene::plant_process,
    attempt: |aim| {
        let limit = [17_u64, 17];
        let args = [aim.number("pid"), libc::RLIMIT_NOFILE as usize, address(&limit), 0];
        done(call(libc::SYS_prlimit64, &args))
    },
    reached: |scene, _| {
        let limits = fs::read_to_string(format!("/proc/{}/limits", scene.process_id())).unwrap();
        let mut lines = limits.lines().filter(|line| line.starts_with("Max open files"));
        lines.any(|line| line.split_whitespace().nth(3) == Some("17"))
    },
    refused: &[Reason::Errno(libc::ESRCH)],
    // Landlock does not know limits.
    locks: &[&[PidNamespace]],
    ..Attack::CALL
};
