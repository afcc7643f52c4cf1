//! 35: changes the times of a file that can only be read.

use std::fs::{self, File};
use std::time::UNIX_EPOCH;

use stockade_sandbox::Mechanism::ReadOnlyBinds;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    attempt: |aim| done(File::open(aim.shown("canary"))?.set_modified(UNIX_EPOCH)),
    reached: |scene, _| {
        fs::metadata(scene.at("shown/canary")).unwrap().modified().unwrap() == UNIX_EPOCH
    },
    refused: &[Reason::Errno(libc::EROFS)],
    // Landlock does not know times.
    locks: &[&[ReadOnlyBinds]],
    ..Attack::CALL
};
