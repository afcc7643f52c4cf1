//! 26: runs a program that runs as its owner.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use stockade_sandbox::Mechanism::{MountFlags, NoNewPrivileges, UserNamespace};

use crate::support::{Attack, Need, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 26,
    needs: &[Need::Root],
    plant: |scene| {
        let tool = scene.at("tools/id");
        // Not by this process: what it forks would keep the copy open, and from being run.
        #[expect(clippy::disallowed_methods, reason = "the harness runs outside every box")]
        let copied = Command::new("/bin/cp").arg("/usr/bin/id").arg(&tool).status().unwrap();
        assert!(copied.success());
        chown(&tool, Some(OWNER), None).unwrap();
        fs::set_permissions(&tool, Permissions::from_mode(0o4755)).unwrap();
    },
    attempt: |aim| {
        #[expect(clippy::disallowed_methods, reason = "the attacker runs what it finds")]
        let output = Command::new(aim.tool("id")).arg("-u").output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    },
    reached: |_, loot| loot == OWNER.to_string(),
    refused: &[Reason::Nothing],
    locks: &[&[MountFlags], &[NoNewPrivileges], &[UserNamespace]],
    ..Attack::CALL
};

/// A user that is neither root nor the box.
const OWNER: u32 = 65_533;
