//! 61: opens a queue of messages of the machine by its name.

use stockade_sandbox::Mechanism::{IpcNamespace, Landlock};

use crate::support::{Attack, Need, Planted, Reason, address, call, done, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 61,
    needs: &[Need::Kernel(libc::ENOSYS)],
    plant: |scene| {
        let name = word(scene.unique());
        scene.tell("name", &scene.unique());
        let flags = (libc::O_CREAT | libc::O_RDWR) as usize;
        let at = address(name.as_c_str());
        let Ok(queue) = call(libc::SYS_mq_open, &[at, flags, 0o666, 0]) else { return };
        // The mask of this process may have taken rights away.
        call(libc::SYS_fchmod, &[queue, 0o666]).unwrap();
        call(libc::SYS_close, &[queue]).unwrap();
        scene.hold(Planted::new(move || {
            call(libc::SYS_mq_unlink, &[address(name.as_c_str())]).unwrap();
        }));
    },
    attempt: |aim| {
        let name = word(aim.fact("name"));
        done(call(libc::SYS_mq_open, &[address(name.as_c_str()), libc::O_RDWR as usize, 0, 0]))
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    locks: &[&[IpcNamespace], &[Landlock]],
    ..Attack::CALL
};
