//! Landlock: rules about files, and scopes that signals and abstract sockets cannot leave.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::protocol::landlock_access as fs;

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
/// `LANDLOCK_CREATE_RULESET_ERRATA`.
const ERRATA: libc::c_uint = 2;
/// `LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET`.
const SCOPE_ABSTRACT: u64 = 1;
/// `LANDLOCK_SCOPE_SIGNAL`.
const SCOPE_SIGNAL: u64 = 1 << 1;
/// The first ABI with scopes, Linux 6.12.
const ABI_WITH_SCOPES: i64 = 6;

/// The Landlock ABI of this kernel; none if it has no Landlock, or Landlock is switched off.
pub fn abi() -> Option<u32> {
    query(VERSION).ok()
}

/// Why there is no Landlock: no such system call, switched off (`EOPNOTSUPP`), or refused.
pub(crate) fn missing() -> Option<rustix::io::Errno> {
    query(VERSION).err().as_ref().and_then(rustix::io::Errno::from_io_error)
}

/// The corrections that this kernel's Landlock has, a bit each; none where it does not say (before
/// ABI 7), or has no Landlock.
pub(crate) fn errata() -> Option<u32> {
    query(ERRATA).ok()
}

fn query(flag: libc::c_uint) -> io::Result<u32> {
    // SAFETY: with one of these flags the kernel wants a null attribute of size zero and reads no
    // memory.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<RulesetAttr>(), 0_usize, flag)
    };
    u32::try_from(answer).map_err(|_negative| io::Error::last_os_error())
}

/// `struct landlock_path_beneath_attr` of `linux/landlock.h`.
#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

const _: () = assert!(size_of::<PathBeneathAttr>() == 12);

/// A second lock on the files of a sandbox, whatever its mounts say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landlock {
    /// The allowed rights by path of the sandbox. On `/` itself only [`LIST`](rights::LIST) can be
    /// allowed: the sandbox tests itself with a file there that it must not be able to read.
    pub rules: Vec<Rule>,
}

/// The rights allowed beneath a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// A file or folder of the sandbox. Without namespaces it is the host's, and no part of the
    /// path may be a link.
    pub path: CString,
    /// Rights, from [`rights`]; those that this kernel does not know are not handled at all.
    pub rights: u64,
}

/// Sets of rights that a [`Rule`] allows.
pub mod rights {
    use crate::protocol::landlock_access as fs;

    /// List folders.
    pub const LIST: u64 = fs::READ_DIR;
    /// Execute files, read them and list folders.
    pub const READ: u64 = fs::EXECUTE | fs::READ_FILE | LIST;
    /// Write, truncate, create, rename and remove everything but device files.
    pub const WRITE: u64 = fs::WRITE_FILE
        | fs::TRUNCATE
        | fs::MAKE_REG
        | fs::MAKE_DIR
        | fs::MAKE_SYM
        | fs::MAKE_FIFO
        | fs::MAKE_SOCK
        | fs::REMOVE_FILE
        | fs::REMOVE_DIR
        | fs::REFER;
    /// Send commands to devices.
    pub const DEVICE: u64 = fs::IOCTL_DEV;
}

impl Landlock {
    /// The rights that a ruleset of this ABI handles: what no rule allows is refused.
    pub(crate) fn handled(abi: u32) -> u64 {
        const FIRST: u64 = rights::READ | rights::WRITE | fs::MAKE_CHAR | fs::MAKE_BLOCK;
        const BASE: u64 = FIRST & !(fs::REFER | fs::TRUNCATE);
        const BY_ABI: [(u32, u64); 3] = [(2, fs::REFER), (3, fs::TRUNCATE), (5, fs::IOCTL_DEV)];
        let newer = BY_ABI.into_iter().filter(|(since, _)| abi >= *since);
        newer.fold(BASE, |all, (_, right)| all | right)
    }

    /// Returns whether the file at the root of a sandbox, by which it tests itself, could be read.
    pub(crate) fn reads_canary(&self) -> bool {
        self.rules.iter().any(|rule| {
            rule.path.to_bytes().iter().all(|byte| *byte == b'/') && rule.rights != rights::LIST
        })
    }

    /// A ruleset with its rules, for a program that sees the host's own files.
    pub(crate) fn ruleset_of_host(&self) -> io::Result<OwnedFd> {
        let ruleset = Self::ruleset()?;
        let handled = Self::handled(abi().ok_or(io::ErrorKind::Unsupported)?);
        for rule in &self.rules {
            allow(&ruleset, rule, handled)?;
        }
        Ok(ruleset)
    }

    /// A ruleset without rules, which are added where the paths are.
    pub(crate) fn ruleset() -> io::Result<OwnedFd> {
        let abi = abi().ok_or(io::ErrorKind::Unsupported)?;
        let scoped =
            if i64::from(abi) < ABI_WITH_SCOPES { 0 } else { SCOPE_ABSTRACT | SCOPE_SIGNAL };
        create(&RulesetAttr {
            handled_access_fs: Self::handled(abi),
            handled_access_net: 0,
            scoped,
        })
    }
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
    create(&attr).map(Some)
}

/// Allows what a rule says beneath its path. A link on the way may have been laid by the program
/// that is to be locked in, and is not followed.
fn allow(ruleset: &OwnedFd, rule: &Rule, handled: u64) -> io::Result<()> {
    const PATH_BENEATH: libc::c_int = 1;
    let beneath = open_without_links(&rule.path)?;
    let is_folder = FileType::from_raw_mode(fstat(&beneath)?.st_mode) == FileType::Directory;
    let rights = if is_folder { rule.rights } else { rule.rights & fs::OF_FILES };
    let attr = PathBeneathAttr { allowed_access: rights & handled, parent_fd: beneath.as_raw_fd() };
    // SAFETY: the kernel copies 12 bytes from the attribute, which is that large and lives on; the
    // descriptors in it and beside it are open.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            ptr::from_ref(&attr),
            0,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens an absolute path part by part. (`openat2` would do it in one, and some filters of system
/// calls refuse that, our own among them.)
fn open_without_links(path: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut place = openat(CWD, "/", flags, Mode::empty())?;
    for part in path.to_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        place = openat(&place, part, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Symlink {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
    }
    Ok(place)
}

fn create(attr: &RulesetAttr) -> io::Result<OwnedFd> {
    // Kernels before the scopes know a shorter attribute, and a longer one only if the rest is zero.
    // SAFETY: the kernel copies 24 bytes from the attribute, which is that large and lives on.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::from_ref(attr),
            size_of::<RulesetAttr>(),
            0,
        )
    };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made this descriptor, close-on-exec, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_abi_handles_what_it_knows() {
        let handled = [1, 2, 3, 4, 5, 7, 9].map(Landlock::handled);
        assert_eq!(handled, [0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff, 0xffff]);
    }

    #[test]
    fn reading_and_writing_are_all_but_devices() {
        let devices = fs::MAKE_CHAR | fs::MAKE_BLOCK | rights::DEVICE;
        assert_eq!(rights::READ & rights::WRITE, 0);
        assert_eq!(rights::READ | rights::WRITE | devices, Landlock::handled(7));
    }

    #[test]
    fn the_whole_root_cannot_be_readable() {
        let rule = Rule { path: c"/".to_owned(), rights: rights::READ };
        assert!(Landlock { rules: vec![rule] }.reads_canary());
        let rule = Rule { path: c"/".to_owned(), rights: rights::LIST };
        assert!(!Landlock { rules: vec![rule] }.reads_canary());
    }
}
