//! 75: copies a tree of mounts.

use stockade_sandbox::Mechanism::{Filter, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 75,
    attempt: |_| {
        const OPEN_TREE_CLONE: usize = 1;
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS);
            let (here, path) = (libc::AT_FDCWD as usize, c".");
            let flags = OPEN_TREE_CLONE | libc::AT_RECURSIVE as usize;
            call(libc::SYS_open_tree, &[here, address(path), flags]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
