//! 23: asks for the number of a file, by which it could be opened anywhere.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, address, call, done, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 23,
    attempt: |_| {
        const ROOM: u32 = 128;
        let (mut handle, mut mount) = ([0_u32; 64], 0_u32);
        handle[0] = ROOM;
        let (path, here) = (c"/", libc::AT_FDCWD as usize);
        let args = [here, address(path), room(&mut handle), room(&mut mount), 0];
        done(call(libc::SYS_name_to_handle_at, &args))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
