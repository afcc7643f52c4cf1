//! Which calls make names, and how their arguments stand.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "arguments are words, of which the kernel takes as much as it needs"
)]

use super::super::sys::{self, Errno, nr};
use super::book::Book;
use super::caller::Caller;
use super::later::Waiting;
use super::making::{self, At};
use super::opening;
use super::owned::Owned;

/// What the caller is told.
pub(super) enum Answer {
    /// It is done.
    Done,
    /// This is open, to be given with these flags.
    Opened(Owned, u32),
    /// Nobody is at the other end of a pipe yet.
    Later(Waiting),
}

/// The numbers of calls that only x86 still has, from `asm/unistd_64.h`.
#[cfg(target_arch = "x86_64")]
pub(super) mod old {
    pub(in super::super) const OPEN: usize = 2;
    pub(in super::super) const RENAME: usize = 82;
    pub(in super::super) const MKDIR: usize = 83;
    pub(in super::super) const CREAT: usize = 85;
    pub(in super::super) const LINK: usize = 86;
    pub(in super::super) const SYMLINK: usize = 88;
    pub(in super::super) const MKNOD: usize = 133;
}

/// Neither architecture has it in the table of calls that the keeper makes.
#[cfg(target_arch = "x86_64")]
pub(super) const RENAMEAT: usize = 264;
/// The same.
#[cfg(target_arch = "aarch64")]
pub(super) const RENAMEAT: usize = 38;

/// Makes the call for the caller, unless it makes a name that must not be made.
pub(super) fn perform(caller: &Caller<'_>, book: &Book) -> sys::Result<Answer> {
    let at = |folder: usize, path: usize| At { folder: caller.arg(folder), path: caller.arg(path) };
    let word = |index: usize| caller.arg(index) as u32 as usize;
    match usize::try_from(caller.notice.number).unwrap_or(usize::MAX) {
        nr::OPENAT => opening::open(caller, book, at(0, 1), word(2), word(3)),
        nr::MKDIRAT => making::folder(caller, book, at(0, 1), word(2)),
        nr::MKNODAT => making::node(caller, book, at(0, 1), word(2), word(3)),
        nr::LINKAT => making::link(caller, book, [at(0, 1), at(2, 3)], word(4)),
        nr::SYMLINKAT => making::symbolic_link(caller, book, caller.arg(0), at(1, 2)),
        RENAMEAT => making::rename(caller, book, [at(0, 1), at(2, 3)], 0),
        nr::RENAMEAT2 => making::rename(caller, book, [at(0, 1), at(2, 3)], word(4)),
        nr::BIND => making::socket(caller, book, [caller.arg(0), caller.arg(1), caller.arg(2)]),
        number => perform_old(caller, book, number),
    }
}

#[cfg(target_arch = "x86_64")]
fn perform_old(caller: &Caller<'_>, book: &Book, number: usize) -> sys::Result<Answer> {
    const O_CREAT_WRONLY_TRUNC: usize = 0o1101;
    let at = |path: usize| At { folder: sys::AT_FDCWD as u64, path: caller.arg(path) };
    let word = |index: usize| caller.arg(index) as u32 as usize;
    match number {
        old::OPEN => opening::open(caller, book, at(0), word(1), word(2)),
        old::CREAT => opening::open(caller, book, at(0), O_CREAT_WRONLY_TRUNC, word(1)),
        old::MKDIR => making::folder(caller, book, at(0), word(1)),
        old::MKNOD => making::node(caller, book, at(0), word(1), word(2)),
        old::LINK => making::link(caller, book, [at(0), at(1)], 0),
        old::SYMLINK => making::symbolic_link(caller, book, caller.arg(0), at(1)),
        old::RENAME => making::rename(caller, book, [at(0), at(1)], 0),
        _ => Err(Errno::NOSYS),
    }
}

#[cfg(target_arch = "aarch64")]
fn perform_old(_: &Caller<'_>, _: &Book, _: usize) -> sys::Result<Answer> {
    Err(Errno::NOSYS)
}
