//! 54: sends a datagram to a name without a path, not connected.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use stockade_sandbox::Mechanism::{Landlock, NetworkNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 54,
    plant: |scene| {
        let name = scene.unique();
        scene.tell("name", &name);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        socket.set_nonblocking(true).unwrap();
        scene.hold(socket);
    },
    attempt: |aim| {
        let address = SocketAddr::from_abstract_name(aim.fact("name"))?;
        done(UnixDatagram::unbound()?.send_to_addr(b"evil", &address))
    },
    reached: |scene, _| scene.held::<UnixDatagram>().recv(&mut [0; 8]).is_ok(),
    refused: &[Reason::Errno(libc::ECONNREFUSED)],
    locks: &[&[NetworkNamespace], &[Landlock]],
    landlock_since: 6,
    ..Attack::CALL
};
