//! 36: changes permissions through a handle that was opened for nothing.

use std::fs::{self, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};

use stockade_sandbox::Mechanism::ReadOnlyBinds;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 36,
    attempt: |aim| {
        let handle =
            OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(aim.shown("canary"))?;
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        done(fs::set_permissions(path, Permissions::from_mode(0o600)))
    },
    reached: |scene, _| fs::metadata(scene.at("shown/canary")).unwrap().mode() & 0o777 == 0o600,
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ReadOnlyBinds]],
    ..Attack::CALL
};
