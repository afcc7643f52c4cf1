//! Files of the kernel, which are made while they are read.

use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// Reads a small file in as few calls as it takes.
pub(crate) fn read(path: &str) -> rustix::io::Result<String> {
    read_from(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The same of one that is open, and was not read yet.
pub(crate) fn read_from(file: impl AsFd) -> rustix::io::Result<String> {
    const ROOM: usize = 16 << 10;
    let mut bytes = Vec::new();
    loop {
        // The end is told by a read of its own, which needs no room.
        if bytes.capacity().saturating_sub(bytes.len()) < ROOM / 4 {
            bytes.reserve(ROOM);
        }
        match rustix::io::read(&file, spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(text(bytes)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
