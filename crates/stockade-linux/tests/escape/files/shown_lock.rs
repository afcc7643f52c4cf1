//! 35: locks a file that can only be read, so that a program outside waits for it.

use std::fs::{File, TryLockError};
use std::thread;
use std::time::Duration;

use crate::support::{Attack, Meanwhile, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    plant: |scene| {
        let file = File::open(scene.at("shown/canary")).unwrap();
        scene.hold(Meanwhile::new(move || {
            let locked = file.try_lock();
            file.unlock().unwrap();
            matches!(locked, Err(TryLockError::WouldBlock))
        }));
    },
    attempt: |aim| {
        let file = File::open(aim.shown("canary"))?;
        file.lock()?;
        thread::sleep(Duration::from_millis(100));
        done(Ok(()))
    },
    reached: |scene, _| scene.held::<Meanwhile>().has_happened(),
    known_gap: Some("who can read a file can lock it, and whoever asks for its lock outside waits"),
    ..Attack::CALL
};
