//! 39: makes a hidden file readable, and reads it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use stockade_sandbox::Mechanism::HiddenPaths;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 39,
    attempt: |_| {
        fs::set_permissions(".env", Permissions::from_mode(0o644))?;
        fs::read_to_string(".env")
    },
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[HiddenPaths]],
    ..Attack::READ
};
