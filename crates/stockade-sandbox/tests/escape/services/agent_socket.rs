//! 48: connects to the socket of an agent with keys, in the temporary folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 48,
    plant: |scene| {
        let path = scene.plant_folder("/tmp").join("agent.sock");
        scene.hold(UnixListener::bind(&path).unwrap());
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    },
    attempt: |aim| done(UnixStream::connect(format!("{}/agent.sock", aim.fact("folder")))),
    reached: |scene, _| {
        let listener = scene.held::<UnixListener>();
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
