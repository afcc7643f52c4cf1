//! 45: writes into a pipe of the host in a folder that can only be read.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

use stockade_sandbox::Mechanism::Landlock;

use crate::support::{Attack, Reason, address, call, done, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 45,
    plant: |scene| {
        let path = word(scene.at("shown/pipe"));
        let (here, mode) = (libc::AT_FDCWD as usize, (libc::S_IFIFO | 0o666) as usize);
        call(libc::SYS_mknodat, &[here, address(path.as_c_str()), mode, 0]).unwrap();
        let mode = Permissions::from_mode(0o666);
        fs::set_permissions(scene.at("shown/pipe"), mode).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        scene.hold(options.open(scene.at("shown/pipe")).unwrap());
    },
    attempt: |aim| {
        let mut pipe = OpenOptions::new().write(true).open(aim.shown("pipe"))?;
        done(pipe.write_all(b"evil"))
    },
    reached: |scene, _| {
        let mut bytes = [0; 4];
        scene.held::<File>().read(&mut bytes).is_ok() && bytes == *b"evil"
    },
    refused: &[Reason::Errno(libc::EACCES)],
    // A mount that cannot be written lets pipes be written.
    locks: &[&[Landlock]],
    ..Attack::CALL
};
