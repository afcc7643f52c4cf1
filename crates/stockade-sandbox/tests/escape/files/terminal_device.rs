//! 24: opens a terminal of the machine by its name, and writes there.

use std::fs::OpenOptions;
use std::io::Write;

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, Scene, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 24,
    plant: Scene::plant_terminal,
    attempt: |aim| {
        let terminal = OpenOptions::new().write(true).open(aim.fact("terminal"));
        done(terminal.and_then(|mut terminal| terminal.write_all(b"x")))
    },
    reached: |scene, _| scene.terminal_has_heard("x"),
    // The sandbox has terminals of its own, and none yet.
    refused: &[Reason::Errno(libc::ENOENT)],
    // Landlock allows what is beneath `/dev`, for that is made by the box.
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
