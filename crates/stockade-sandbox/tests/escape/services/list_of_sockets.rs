//! 59: reads the list of the machine's sockets.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use stockade_sandbox::Mechanism::NetworkNamespace;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 59,
    plant: |scene| {
        let name = scene.unique();
        scene.tell("name", &name);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        scene.hold(UnixListener::bind_addr(&address).unwrap());
    },
    attempt: |_| {
        let list = fs::read_to_string("/proc/net/unix")?;
        let lines = list.lines().filter(|line| line.contains("stockade-escape"));
        Ok(lines.collect::<Vec<_>>().join(" "))
    },
    reached: |scene, loot| loot.contains(&scene.unique()),
    refused: &[Reason::Nothing],
    locks: &[&[NetworkNamespace]],
    ..Attack::CALL
};
