//! 45: connects to the socket of a container engine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 45,
    plant: |scene| {
        let path = scene.at("outside/engine.sock");
        scene.hold(UnixListener::bind(&path).unwrap());
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    },
    attempt: |aim| done(UnixStream::connect(aim.outside("engine.sock"))),
    reached: |scene, _| {
        let listener = scene.held::<UnixListener>();
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    // Landlock does not know sockets with a path.
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
