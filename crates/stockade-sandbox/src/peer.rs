//! Who is at the other end of a local socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// The user at the other end, as this process sees users.
///
/// The process id that the kernel has beside it is 0 where this process cannot see the other one (unix(7)),
/// which is no process id for `rustix`.
pub fn peer_uid(socket: impl AsFd) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut length =
        libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
    // SAFETY: `peer` and `length` live to the end of this call, and the kernel writes no more than `length`
    // bytes, which is the size of `peer`; any bytes are a value of it.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(peer.uid) } else { Err(io::Error::last_os_error()) }
}
