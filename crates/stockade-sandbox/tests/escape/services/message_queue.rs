//! 61: opens a queue of messages of the machine.

use stockade_sandbox::Mechanism::IpcNamespace;

use crate::support::{Attack, Planted, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 61,
    plant: |scene| {
        let key = scene.number();
        scene.tell("key", &key);
        let id = call(libc::SYS_msgget, &[key, (libc::IPC_CREAT | 0o666) as usize]).unwrap();
        scene.hold(Planted::new(move || {
            call(libc::SYS_msgctl, &[id, libc::IPC_RMID as usize, 0]).unwrap();
        }));
    },
    attempt: |aim| done(call(libc::SYS_msgget, &[aim.number("key"), 0])),
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[IpcNamespace]],
    ..Attack::CALL
};
