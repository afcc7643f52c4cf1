//! System calls for pseudo-terminals.

use super::files::{AT_FDCWD, open_as};
use super::{Fd, Result, call, nr, plain_call};

const O_RDWR: usize = 2;
/// `O_NOCTTY` of `asm/fcntl.h`.
const O_NOCTTY: usize = 0o400;

/// Opens a new pseudo-terminal of the sandbox, and gives the end that a terminal emulator has.
pub(crate) fn open() -> Result<Fd> {
    const TIOCSPTLCK: usize = 0x4004_5431;
    let end = open_as(AT_FDCWD, c"/dev/pts/ptmx", O_RDWR | O_NOCTTY)?;
    let unlocked = 0_i32;
    let at = (&raw const unlocked).expose_provenance();
    // SAFETY: the kernel reads one int.
    unsafe { call(nr::IOCTL, [end as usize, TIOCSPTLCK, at, 0, 0, 0]) }?;
    Ok(end)
}

/// Sets how many rows and columns a terminal has: the halves of the low 32 bits.
pub(crate) fn resize(terminal: Fd, size: u64) -> Result<()> {
    const TIOCSWINSZ: usize = 0x5414;
    // struct winsize: rows, columns, and the same in pixels.
    let size = [(size >> 16) as u16, size as u16, 0, 0];
    let at = (&raw const size).expose_provenance();
    // SAFETY: the kernel reads four shorts.
    unsafe { call(nr::IOCTL, [terminal as usize, TIOCSWINSZ, at, 0, 0, 0]) }.map(drop)
}

/// Opens the end of a pseudo-terminal that programs have.
pub(crate) fn own_end(end: Fd) -> Result<Fd> {
    const TIOCGPTPEER: usize = 0x5441;
    plain_call(nr::IOCTL, [end as usize, TIOCGPTPEER, O_RDWR | O_NOCTTY, 0]).map(|fd| fd as Fd)
}

/// Makes a terminal the one that controls this process's session.
pub(crate) fn take_over(terminal: Fd) -> Result<()> {
    const TIOCSCTTY: usize = 0x540e;
    plain_call(nr::IOCTL, [terminal as usize, TIOCSCTTY, 0, 0]).map(drop)
}
