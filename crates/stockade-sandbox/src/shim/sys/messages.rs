//! System calls for sockets, by which messages come with descriptors.

use core::ptr;

use super::{Fd, Result, call, nr, plain_call};
use crate::protocol::Plain;

/// Two connected sockets that are closed on execution.
pub(crate) fn socket_pair() -> Result<[Fd; 2]> {
    const AF_UNIX: usize = 1;
    const SOCK_SEQPACKET_CLOEXEC: usize = 0o2_000_005;
    let mut ends = [0; 2];
    let at = ends.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes two ints.
    unsafe { call(nr::SOCKETPAIR, [AF_UNIX, SOCK_SEQPACKET_CLOEXEC, 0, at, 0, 0]) }?;
    Ok(ends)
}

/// A TCP socket of this family, which does not block and is closed on execution.
pub(crate) fn tcp_socket(family: u32) -> Result<Fd> {
    const SOCK_STREAM_CLOEXEC_NONBLOCK: usize = 0o2_004_001;
    plain_call(nr::SOCKET, [family as usize, SOCK_STREAM_CLOEXEC_NONBLOCK, 0, 0])
        .map(|socket| socket as Fd)
}

/// `struct msghdr` of the 64-bit system calls.
#[repr(C)]
struct MsgHdr {
    name: usize,
    name_len: usize,
    parts: usize,
    part_count: usize,
    control: usize,
    control_len: usize,
    flags: usize,
}

/// Room for one `SCM_RIGHTS` message: `struct cmsghdr` and an even number of descriptors.
#[repr(C)]
struct Rights<const N: usize> {
    len: usize,
    level: i32,
    kind: i32,
    fds: [Fd; N],
}

const RIGHTS_HEADER: usize = 16;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;

/// Receives a message and the descriptors that come with it: how many bytes, how many descriptors.
pub(crate) fn receive<T: Plain, const N: usize>(
    socket: Fd,
    into: &mut T,
    fds: &mut [Fd; N],
) -> Result<(usize, usize)> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    let bytes = into.bytes_mut();
    let part = [bytes.as_mut_ptr().expose_provenance(), bytes.len()];
    let mut rights = Rights { len: 0, level: 0, kind: 0, fds: [-1; N] };
    let mut message = MsgHdr {
        name: 0,
        name_len: 0,
        parts: part.as_ptr().expose_provenance(),
        part_count: 1,
        control: ptr::from_mut(&mut rights).expose_provenance(),
        control_len: size_of::<Rights<N>>(),
        flags: 0,
    };
    let header = ptr::from_mut(&mut message).expose_provenance();
    // SAFETY: the header describes one part, all of `into`, and control room, all of `rights`;
    // the kernel writes no further than their lengths, and both outlive the call.
    let len = unsafe { call(nr::RECVMSG, [socket as usize, header, MSG_CMSG_CLOEXEC, 0, 0, 0]) }?;
    let is_rights = rights.level == SOL_SOCKET && rights.kind == SCM_RIGHTS;
    let count = if is_rights {
        rights.len.saturating_sub(RIGHTS_HEADER).checked_div(size_of::<Fd>()).unwrap_or(0)
    } else {
        0
    };
    *fds = rights.fds;
    Ok((len, count.min(fds.len())))
}

/// Sends a message, with a descriptor if one is given.
pub(crate) fn send<T: Plain>(socket: Fd, from: &T, fd: Option<Fd>) -> Result<()> {
    const MSG_NOSIGNAL: usize = 0x4000;
    let bytes = from.bytes();
    let part = [bytes.as_ptr().expose_provenance(), bytes.len()];
    let len = RIGHTS_HEADER.wrapping_add(size_of::<Fd>());
    // Two, so that the structure has no padding.
    let fds = [fd.unwrap_or(-1), 0];
    let rights = Rights { len, level: SOL_SOCKET, kind: SCM_RIGHTS, fds };
    let is_with = fd.is_some();
    let message = MsgHdr {
        name: 0,
        name_len: 0,
        parts: part.as_ptr().expose_provenance(),
        part_count: 1,
        control: if is_with { ptr::from_ref(&rights).expose_provenance() } else { 0 },
        // Control messages are padded to whole words.
        control_len: if is_with { len.next_multiple_of(size_of::<usize>()) } else { 0 },
        flags: 0,
    };
    let header = ptr::from_ref(&message).expose_provenance();
    // SAFETY: the header describes one part, all of `from`, and control of no more than `rights`;
    // the kernel only reads them, and both outlive the call.
    unsafe { call(nr::SENDMSG, [socket as usize, header, MSG_NOSIGNAL, 0, 0, 0]) }.map(drop)
}
