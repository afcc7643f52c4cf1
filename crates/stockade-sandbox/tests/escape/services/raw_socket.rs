//! 58: opens a socket that makes packets of its own.

use stockade_sandbox::Mechanism::{Filter, LockedMounts, NoCapabilities, NoNesting};

use crate::support::{Attack, Need, Reason, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 58,
    needs: &[Need::Kernel(libc::EAFNOSUPPORT)],
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNET);
            let (family, kind) = (libc::AF_INET as usize, libc::SOCK_RAW as usize);
            call(libc::SYS_socket, &[family, kind, libc::IPPROTO_ICMP as usize]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter], &[NoNesting, LockedMounts], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
