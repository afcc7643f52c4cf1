//! 24: reads a device file in the project.

use std::fs::File;
use std::io::Read;

use stockade_sandbox::Mechanism::MountFlags;

use crate::support::{Attack, Need, Reason, address, call, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 24,
    needs: &[Need::Root],
    plant: |scene| {
        let path = word(scene.at("project/device"));
        let (mode, zero) = ((libc::S_IFCHR | 0o666) as usize, libc::makedev(1, 5) as usize);
        let here = libc::AT_FDCWD as usize;
        call(libc::SYS_mknodat, &[here, address(path.as_c_str()), mode, zero]).unwrap();
    },
    attempt: |_| {
        let mut bytes = [1; 4];
        File::open("device")?.read_exact(&mut bytes)?;
        Ok(format!("{bytes:?}"))
    },
    reached: |_, loot| loot == "[0, 0, 0, 0]",
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[MountFlags]],
    ..Attack::CALL
};
