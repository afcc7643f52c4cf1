//! 61: opens memory that processes of the machine share.

use stockade_sandbox::Mechanism::IpcNamespace;

use crate::support::{Attack, Planted, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 61,
    plant: |scene| {
        let key = scene.number();
        scene.tell("key", &key);
        let id = call(libc::SYS_shmget, &[key, 4096, (libc::IPC_CREAT | 0o666) as usize]).unwrap();
        scene.hold(Planted::new(move || {
            call(libc::SYS_shmctl, &[id, libc::IPC_RMID as usize, 0]).unwrap();
        }));
    },
    attempt: |aim| done(call(libc::SYS_shmget, &[aim.number("key"), 4096, 0])),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[IpcNamespace]],
    ..Attack::CALL
};
