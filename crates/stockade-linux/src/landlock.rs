//! Landlock, as far as processes go: a scope that signals and ptrace cannot leave.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// `struct landlock_ruleset_attr` of `linux/landlock.h`, ABI 6.
#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

const _: () = assert!(size_of::<RulesetAttr>() == 24);

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: libc::c_uint = 1;
/// `LANDLOCK_SCOPE_SIGNAL`.
const SCOPE_SIGNAL: u64 = 1 << 1;
/// The first ABI with scopes, Linux 6.12.
const ABI_WITH_SCOPES: i64 = 6;

/// The Landlock ABI of this kernel; none if it has no Landlock, or Landlock is switched off.
pub fn abi() -> Option<u32> {
    // SAFETY: with the version flag the kernel wants a null attribute of size zero and reads no
    // memory.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<RulesetAttr>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(version).ok()
}

/// A ruleset that keeps a program from signalling or tracing what is outside its tree, and from
/// reading there what `/proc` guards like tracing: `environ`, `mem`, `maps`. Root included.
///
/// It handles no access to files or network. `None` where the kernel has no scopes (before 6.12).
pub fn signal_scope() -> io::Result<Option<OwnedFd>> {
    if abi().is_none_or(|abi| i64::from(abi) < ABI_WITH_SCOPES) {
        return Ok(None);
    }
    let attr = RulesetAttr { handled_access_fs: 0, handled_access_net: 0, scoped: SCOPE_SIGNAL };
    // SAFETY: the kernel copies 24 bytes from the attribute, which is that large and lives on.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::from_ref(&attr),
            size_of::<RulesetAttr>(),
            0,
        )
    };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made this descriptor, close-on-exec, and nobody else knows it.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) }))
}
