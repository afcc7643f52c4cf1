//! 74: opens the socket to the rules of the firewall, a part of the kernel with a history.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 74,
    needs: &[Need::Kernel(libc::EPROTONOSUPPORT)],
    attempt: |_| {
        let (family, kind) = (libc::AF_NETLINK as usize, libc::SOCK_RAW as usize);
        done(call(libc::SYS_socket, &[family, kind, libc::NETLINK_NETFILTER as usize]))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
