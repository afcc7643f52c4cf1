//! The system calls that are refused outright, and with which error.
//!
//! `ENOSYS` where programs try something newer and fall back, `EPERM` where they should say so.

use super::program::Outcome;
use super::{Tracing, number};

/// All calls that are refused.
pub(super) fn refused(tracing: Tracing) -> impl Iterator<Item = (u32, Outcome)> {
    let forbidden = FORBIDDEN.iter().chain(OLD).map(|call| (*call, libc::EPERM));
    let traced = TRACING.iter().filter(move |_| tracing == Tracing::Forbidden);
    let traced = traced.map(|call| (*call, libc::EPERM));
    let absent = ABSENT.iter().map(|call| (*call, libc::ENOSYS));
    let all = forbidden.chain(traced).chain(absent);
    all.map(|(call, errno)| (number(call), Outcome::Errno(errno)))
}

/// Refused, and the program should say so.
const FORBIDDEN: &[libc::c_long] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
    SYS_OPEN_TREE_ATTR,
    // Namespaces of others.
    libc::SYS_setns,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Files by number, and watching whole file systems.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Parts of the kernel with a history.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    // The machine.
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    SYS_LSM_SET_SELF_ATTR,
];

/// Refused, on the architecture that still has them.
#[cfg(target_arch = "x86_64")]
const OLD: &[libc::c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS__sysctl,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];

/// Refused, on the architecture that still has them.
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[libc::c_long] = &[];

/// The memory and descriptors of other processes.
const TRACING: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
];

/// As if the kernel did not have them: programs do without.
const ABSENT: &[libc::c_long] = &[
    // Its flags are in memory, which no filter can read; libraries then use `clone`.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
];

// Newer than libc's tables; the same number on every architecture, `asm-generic/unistd.h`.
const SYS_STATMOUNT: libc::c_long = 457;
const SYS_LISTMOUNT: libc::c_long = 458;
const SYS_LSM_SET_SELF_ATTR: libc::c_long = 460;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
