//! 35: locks a file that can only be read, so that a program outside waits for it.

use std::fs::{self, File, TryLockError};

use crate::support::{Attack, Meanwhile, PATIENCE, done, within};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    plant: |scene| {
        let file = File::open(scene.at("shown/canary")).unwrap();
        let seen = scene.at("project/seen");
        scene.hold(Meanwhile::new(move || {
            let locked = file.try_lock();
            file.unlock().unwrap();
            let waits = matches!(locked, Err(TryLockError::WouldBlock));
            waits && fs::write(&seen, "").is_ok()
        }));
    },
    attempt: |aim| {
        let file = File::open(aim.shown("canary"))?;
        file.lock()?;
        // The harness says when it had to wait.
        within(PATIENCE, || aim.project("seen").exists());
        done(Ok(()))
    },
    reached: |scene, _| scene.held::<Meanwhile>().has_happened(),
    known_gap: Some("who can read a file can lock it, and whoever asks for its lock outside waits"),
    ..Attack::CALL
};
