//! 37: takes an open file from a program outside, and reads it.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use crate::support::{Attack, Meanwhile, take};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 37,
    plant: |scene| {
        let listener = UnixListener::bind(scene.at("project/hand")).unwrap();
        fs::set_permissions(scene.at("project/hand"), Permissions::from_mode(0o777)).unwrap();
        let given = File::open(scene.at("outside/canary")).unwrap();
        scene.hold(Meanwhile::hand_over(listener, given.into()));
    },
    attempt: |aim| {
        let mut content = String::new();
        File::from(take(&aim.project("hand"))?).read_to_string(&mut content)?;
        Ok(content)
    },
    known_gap: Some(
        "a program outside that listens in a folder of the box may hand over what it likes",
    ),
    ..Attack::READ
};
