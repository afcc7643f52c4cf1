//! 55: sends a datagram to a service of the machine.

use std::net::UdpSocket;

use stockade_sandbox::Mechanism::{Filter, NetworkNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 55,
    plant: |scene| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        scene.tell("port", &socket.local_addr().unwrap().port());
        scene.hold(socket);
    },
    attempt: |aim| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        done(socket.send_to(b"evil", format!("127.0.0.1:{}", aim.fact("port"))))
    },
    reached: |scene, _| scene.held::<UdpSocket>().recv(&mut [0; 8]).is_ok(),
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter], &[NetworkNamespace]],
    ..Attack::CALL
};
