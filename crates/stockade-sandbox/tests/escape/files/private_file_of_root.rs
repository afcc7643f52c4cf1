//! 16: reads a file of root in a folder that is shown.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use stockade_sandbox::Mechanism::{NoCapabilities, OtherUser, UserNamespace};

use crate::support::{Attack, Need, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 16,
    needs: &[Need::Root],
    plant: |scene| {
        fs::write(scene.at("tools/private"), scene.secret()).unwrap();
        fs::set_permissions(scene.at("tools/private"), Permissions::from_mode(0o600)).unwrap();
    },
    attempt: |aim| fs::read_to_string(aim.tool("private")),
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[UserNamespace, OtherUser], &[NoCapabilities, OtherUser]],
    ..Attack::READ
};
