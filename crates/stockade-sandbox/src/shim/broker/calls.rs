//! Which calls make names, and how their arguments stand.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "arguments are words, of which the kernel takes as much as it needs"
)]

use super::super::sys::{self, Errno, nr};
use super::caller::Caller;
use super::create::{self, PathArg};
use super::deferred::DeferredCall;
use super::fds::OwnedFd;
use super::forbidden::ForbiddenPaths;
use super::opening;

/// The answer for the caller.
pub(super) enum Reply {
    /// It is done.
    Done,
    /// This is open, to be given with these flags.
    Opened(OwnedFd, u32),
    /// Nobody is at the other end of a pipe yet.
    Deferred(DeferredCall),
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

/// Neither architecture has it in the table of calls that the shim makes.
#[cfg(target_arch = "x86_64")]
pub(super) const RENAMEAT: usize = 264;
/// The same.
#[cfg(target_arch = "aarch64")]
pub(super) const RENAMEAT: usize = 38;

/// Makes the call for the caller, unless it makes a name that must not be made.
pub(super) fn perform(caller: &Caller<'_>, forbidden: &ForbiddenPaths) -> sys::Result<Reply> {
    let at =
        |folder: usize, path: usize| PathArg { folder: caller.arg(folder), path: caller.arg(path) };
    let word = |index: usize| caller.arg(index) as u32 as usize;
    match usize::try_from(caller.notice.number).unwrap_or(usize::MAX) {
        nr::OPENAT => opening::open(caller, forbidden, at(0, 1), word(2), word(3)),
        nr::MKDIRAT => create::folder(caller, forbidden, at(0, 1), word(2)),
        nr::MKNODAT => create::node(caller, forbidden, at(0, 1), word(2), word(3)),
        nr::LINKAT => create::link(caller, forbidden, [at(0, 1), at(2, 3)], word(4)),
        nr::SYMLINKAT => create::symbolic_link(caller, forbidden, caller.arg(0), at(1, 2)),
        RENAMEAT => create::rename(caller, forbidden, [at(0, 1), at(2, 3)], 0),
        nr::RENAMEAT2 => create::rename(caller, forbidden, [at(0, 1), at(2, 3)], word(4)),
        nr::BIND => {
            create::socket(caller, forbidden, [caller.arg(0), caller.arg(1), caller.arg(2)])
        }
        number => perform_old(caller, forbidden, number),
    }
}

#[cfg(target_arch = "x86_64")]
fn perform_old(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    number: usize,
) -> sys::Result<Reply> {
    const O_CREAT_WRONLY_TRUNC: usize = 0o1101;
    let at = |path: usize| PathArg { folder: sys::AT_FDCWD as u64, path: caller.arg(path) };
    let word = |index: usize| caller.arg(index) as u32 as usize;
    match number {
        old::OPEN => opening::open(caller, forbidden, at(0), word(1), word(2)),
        old::CREAT => opening::open(caller, forbidden, at(0), O_CREAT_WRONLY_TRUNC, word(1)),
        old::MKDIR => create::folder(caller, forbidden, at(0), word(1)),
        old::MKNOD => create::node(caller, forbidden, at(0), word(1), word(2)),
        old::LINK => create::link(caller, forbidden, [at(0), at(1)], 0),
        old::SYMLINK => create::symbolic_link(caller, forbidden, caller.arg(0), at(1)),
        old::RENAME => create::rename(caller, forbidden, [at(0), at(1)], 0),
        _ => Err(Errno::NOSYS),
    }
}

#[cfg(target_arch = "aarch64")]
fn perform_old(_: &Caller<'_>, _: &ForbiddenPaths, _: usize) -> sys::Result<Reply> {
    Err(Errno::NOSYS)
}
