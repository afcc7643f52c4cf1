//! A poorer machine, for tests: an outer filter that refuses what some machines do not give.

use std::io;

use rustix::io::Errno;

use super::number;
use super::program::{self, Check, Outcome};

/// A feature that a poorer machine lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// New namespaces; `clone3`, whose flags no filter sees, is missing altogether.
    Namespaces,
    /// Mounts of any kind.
    Mounts,
    /// Landlock.
    Landlock,
    /// Filters of system calls.
    Filters,
}

impl Lack {
    fn calls(self, outcome: Outcome) -> Vec<(libc::c_long, Outcome)> {
        let all = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, outcome)).collect();
        match self {
            Self::Namespaces => vec![
                (libc::SYS_clone, Outcome::Check(Check::Clone)),
                (libc::SYS_unshare, Outcome::Check(Check::Unshare)),
                (libc::SYS_clone3, Outcome::Errno(libc::ENOSYS)),
                (libc::SYS_setns, outcome),
            ],
            Self::Mounts => all(&[
                libc::SYS_mount,
                libc::SYS_umount2,
                libc::SYS_pivot_root,
                libc::SYS_open_tree,
                libc::SYS_move_mount,
                libc::SYS_fsopen,
                libc::SYS_fsconfig,
                libc::SYS_fsmount,
                libc::SYS_fspick,
                libc::SYS_mount_setattr,
            ]),
            Self::Landlock => all(&[
                libc::SYS_landlock_create_ruleset,
                libc::SYS_landlock_add_rule,
                libc::SYS_landlock_restrict_self,
            ]),
            Self::Filters => all(&[libc::SYS_seccomp]),
        }
    }
}

/// Takes these from this process and all that it starts, for good; what is asked for then fails with
/// this error.
pub fn lack(what: &[Lack], errno: Errno) -> io::Result<()> {
    let outcome = Outcome::Errno(errno.raw_os_error());
    let calls = what.iter().flat_map(|one| one.calls(outcome));
    let program = program::compile(calls.map(|(call, outcome)| (number(call), outcome)).collect());
    rustix::thread::set_no_new_privs(true)?;
    install(&program)
}

fn install(program: &[u64]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    let head = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel copies the head and its instructions, which are as large as `sock_filter`
    // and outlive the call, and writes to neither.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            std::ptr::from_ref(&head),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

const _: () = assert!(size_of::<libc::sock_filter>() == size_of::<u64>());
