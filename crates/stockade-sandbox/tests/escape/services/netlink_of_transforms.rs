//! 43: opens the socket to the transforms of packets, a part of the kernel with a history.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 43,
    needs: &[Need::Kernel(libc::EPROTONOSUPPORT)],
    attempt: |_| {
        done(call(
            libc::SYS_socket,
            &[libc::AF_NETLINK as usize, libc::SOCK_RAW as usize, libc::NETLINK_XFRM as usize],
        ))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
