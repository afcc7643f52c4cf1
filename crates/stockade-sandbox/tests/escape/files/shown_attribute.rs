//! 35: gives an attribute to a file that can only be read.

use stockade_sandbox::Mechanism::ReadOnlyBinds;

use crate::support::{Attack, Need, Reason, address, call, done, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    needs: &[Need::Kernel(libc::EOPNOTSUPP)],
    attempt: |aim| {
        let path = word(aim.shown("canary"));
        let (name, value) = (c"user.evil", c"x");
        let args = [address(path.as_c_str()), address(name), address(value), 1, 0];
        done(call(libc::SYS_setxattr, &args))
    },
    reached: |scene, _| {
        let mut room = [0; 8];
        rustix::fs::getxattr(scene.at("shown/canary"), "user.evil", &mut room).is_ok()
    },
    refused: &[Reason::Errno(libc::EROFS)],
    // Landlock does not know attributes.
    locks: &[&[ReadOnlyBinds]],
    ..Attack::CALL
};
