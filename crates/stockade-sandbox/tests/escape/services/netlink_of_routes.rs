//! 59: opens a socket that lists the interfaces.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 59,
    needs: &[Need::Kernel(libc::EPROTONOSUPPORT)],
    attempt: |_| {
        done(call(
            libc::SYS_socket,
            &[libc::AF_NETLINK as usize, libc::SOCK_RAW as usize, libc::NETLINK_ROUTE as usize],
        ))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
