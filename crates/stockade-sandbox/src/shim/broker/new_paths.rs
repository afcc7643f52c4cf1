//! Which names a call would create, from its number and arguments alone.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "arguments are words, of which the kernel takes as much as it needs"
)]

use super::super::sys::mounts::O_NOFOLLOW;
use super::super::sys::{self, AT_FDCWD, Errno, nr};
use super::caller::{Caller, descriptor_number};
use super::calls::RENAMEAT;
#[cfg(target_arch = "x86_64")]
use super::calls::old;
use super::create::PathArg;

const O_EXCL: usize = 0o200;
const RENAME_EXCHANGE: usize = 2;

/// The names that a call would create.
pub(super) struct NewPaths {
    /// At most two, for a call that exchanges names.
    pub(super) paths: [Option<NewPath>; 2],
    /// The address of a socket, whose path is in it.
    pub(super) socket: Option<Address>,
}

/// One name that a call would create.
pub(super) struct NewPath {
    /// Its path.
    pub(super) at: PathArg,
    /// The thing that would get it.
    pub(super) how: NewKind,
}

/// A thing that would get a name.
#[derive(Clone, Copy)]
pub(super) enum NewKind {
    /// A file, perhaps where a symbolic link leads.
    Opened {
        /// True if a link is followed.
        follows: bool,
    },
    /// A new folder.
    Folder,
    /// The file or folder that has this path now.
    Moved(PathArg),
    /// Something else that is new.
    Other,
}

/// The address of a socket.
pub(super) struct Address {
    bytes: [u8; 112],
}

impl Address {
    /// The path in it: nothing if it has none.
    pub(super) fn path(&self) -> &[u8] {
        const UNIX: [u8; 2] = 1_u16.to_ne_bytes();
        let path = self.bytes.strip_prefix(&UNIX).unwrap_or(&[]);
        path.split(|byte| *byte == 0).next().unwrap_or(&[])
    }
}

/// The names that this call would create.
pub(super) fn of(caller: &Caller<'_>) -> sys::Result<NewPaths> {
    let at =
        |folder: usize, path: usize| PathArg { folder: caller.arg(folder), path: caller.arg(path) };
    let word = |index: usize| caller.arg(index) as u32 as usize;
    let number = usize::try_from(caller.notice.number).unwrap_or(usize::MAX);
    Ok(match number {
        nr::OPENAT => one(at(0, 1), opened(word(2))),
        nr::MKDIRAT => one(at(0, 1), NewKind::Folder),
        nr::MKNODAT => one(at(0, 1), NewKind::Other),
        nr::LINKAT => one(at(2, 3), NewKind::Other),
        nr::SYMLINKAT => one(at(1, 2), NewKind::Other),
        RENAMEAT => renamed([at(0, 1), at(2, 3)], 0),
        nr::RENAMEAT2 => renamed([at(0, 1), at(2, 3)], word(4)),
        nr::BIND => bound(caller)?,
        number => old_of(caller, number)?,
    })
}

#[cfg(target_arch = "x86_64")]
fn old_of(caller: &Caller<'_>, number: usize) -> sys::Result<NewPaths> {
    let at = |path: usize| PathArg { folder: AT_FDCWD as u64, path: caller.arg(path) };
    Ok(match number {
        old::OPEN => one(at(0), opened(caller.arg(1) as u32 as usize)),
        old::CREAT => one(at(0), NewKind::Opened { follows: true }),
        old::MKDIR => one(at(0), NewKind::Folder),
        old::MKNOD => one(at(0), NewKind::Other),
        old::LINK | old::SYMLINK => one(at(1), NewKind::Other),
        old::RENAME => renamed([at(0), at(1)], 0),
        _ => return Err(Errno::NOSYS),
    })
}

#[cfg(target_arch = "aarch64")]
fn old_of(_: &Caller<'_>, _: usize) -> sys::Result<NewPaths> {
    Err(Errno::NOSYS)
}

fn one(at: PathArg, how: NewKind) -> NewPaths {
    NewPaths { paths: [Some(NewPath { at, how }), None], socket: None }
}

fn opened(flags: usize) -> NewKind {
    NewKind::Opened { follows: flags & (O_EXCL | O_NOFOLLOW) == 0 }
}

fn renamed([from, to]: [PathArg; 2], flags: usize) -> NewPaths {
    let there = Some(NewPath { at: to, how: NewKind::Moved(from) });
    let back = NewPath { at: from, how: NewKind::Moved(to) };
    let back = (flags & RENAME_EXCHANGE != 0).then_some(back);
    NewPaths { paths: [there, back], socket: None }
}

fn bound(caller: &Caller<'_>) -> sys::Result<NewPaths> {
    let mut bytes = [0; 112];
    let len = usize::try_from(descriptor_number(caller.arg(2))).map_err(|_short| Errno::INVAL)?;
    let room = bytes.get_mut(..len.min(110)).ok_or(Errno::INVAL)?;
    caller.memory(caller.arg(1), room)?;
    Ok(NewPaths { paths: [None, None], socket: Some(Address { bytes }) })
}
