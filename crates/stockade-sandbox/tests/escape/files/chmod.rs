//! 35: changes the permissions of a file that can only be read.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use stockade_sandbox::Mechanism::ReadOnlyBinds;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    attempt: |aim| done(fs::set_permissions(aim.shown("canary"), Permissions::from_mode(0o600))),
    reached: |scene, _| {
        let mode = fs::metadata(scene.at("shown/canary")).unwrap().mode();
        mode & 0o777 == 0o600
    },
    refused: &[Reason::Errno(libc::EROFS)],
    // Landlock does not know permissions.
    locks: &[&[ReadOnlyBinds]],
    ..Attack::CALL
};
