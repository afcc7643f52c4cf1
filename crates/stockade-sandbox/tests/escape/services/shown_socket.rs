//! 45: connects to a socket in a folder that can only be read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

use crate::support::{Attack, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 45,
    plant: |scene| {
        let path = scene.at("shown/engine.sock");
        scene.hold(UnixListener::bind(&path).unwrap());
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    },
    attempt: |aim| done(UnixStream::connect(aim.shown("engine.sock"))),
    reached: |scene, _| {
        let listener = scene.held::<UnixListener>();
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    },
    known_gap: Some(
        "a socket in a folder that the box shows can be connected to, also where it can only be read",
    ),
    ..Attack::CALL
};
