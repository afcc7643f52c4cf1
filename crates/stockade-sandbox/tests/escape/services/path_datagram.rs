//! 54: sends a datagram to a socket outside, not connected.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 54,
    plant: |scene| {
        let path = scene.at("outside/log.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        scene.hold(socket);
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    },
    attempt: |aim| done(UnixDatagram::unbound()?.send_to(b"evil", aim.outside("log.sock"))),
    reached: |scene, _| scene.held::<UnixDatagram>().recv(&mut [0; 8]).is_ok(),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
