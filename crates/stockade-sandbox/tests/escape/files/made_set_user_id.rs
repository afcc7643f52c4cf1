//! 25: makes a file of the project run as its owner, whoever runs it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 25,
    attempt: |_| {
        fs::write("tool", "#!/bin/sh")?;
        done(fs::set_permissions("tool", Permissions::from_mode(0o4755)))
    },
    reached: |scene, _| {
        fs::metadata(scene.at("project/tool")).is_ok_and(|file| file.mode() & 0o4000 != 0)
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
