//! 52: connects to an abstract socket of packets.

use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept, bind, connect, listen, socket,
    socket_with,
};
use stockade_sandbox::Mechanism::{Landlock, NetworkNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 52,
    plant: |scene| {
        let name = scene.unique();
        scene.tell("name", &name);
        let flags = SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        bind(&socket, &address).unwrap();
        listen(&socket, 1).unwrap();
        scene.hold(socket);
    },
    attempt: |aim| {
        let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)?;
        let address = SocketAddrUnix::new_abstract_name(aim.fact("name").as_bytes())?;
        connect(&socket, &address)?;
        done(Ok(()))
    },
    reached: |scene, _| accept(scene.held::<OwnedFd>()).is_ok(),
    refused: &[Reason::Errno(libc::ECONNREFUSED)],
    locks: &[&[NetworkNamespace], &[Landlock]],
    landlock_since: 6,
    ..Attack::CALL
};
