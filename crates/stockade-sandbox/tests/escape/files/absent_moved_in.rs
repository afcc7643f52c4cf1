//! 41: prepares a folder with a protected file that is not there, and moves it into place.

use std::fs;

use stockade_sandbox::Mechanism::Broker;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| {
        fs::create_dir("prepared")?;
        fs::write("prepared/tasks.json", "evil")?;
        done(fs::rename("prepared", ".vscode"))
    },
    reached: |scene, _| scene.read("project/.vscode/tasks.json") == "evil",
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[Broker]],
    forbids: &["project/.vscode/tasks.json"],
    ..Attack::CALL
};
