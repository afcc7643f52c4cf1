//! 60: opens a socket that goes round the network stack.

use stockade_sandbox::Mechanism::{Filter, LockedMounts, NoCapabilities, NoNesting};

use crate::support::{Attack, Need, Reason, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 60,
    needs: &[Need::Kernel(libc::EAFNOSUPPORT)],
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNET);
            let (family, kind) = (libc::AF_XDP as usize, libc::SOCK_RAW as usize);
            call(libc::SYS_socket, &[family, kind, 0]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter], &[NoNesting, LockedMounts], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
