//! The system calls that are refused outright, and with which error.
//!
//! `ENOSYS` where programs try something newer and fall back, `EPERM` where they should say so.

use super::program::{Check, Outcome};
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

/// Calls that give a file its permissions, and which argument has them.
///
/// A sandbox may own files as root does on disk. A set-user-ID file that it made would be root's
/// for every other user of the machine, whatever the sandbox itself may execute.
pub(super) fn with_modes() -> impl Iterator<Item = (u32, Outcome)> {
    let at = |(call, mode): &(libc::c_long, u32)| (number(*call), Check::Mode { mode: *mode });
    let plain = MODE_CALLS.iter().chain(OLD_MODE_CALLS).map(at);
    let opening = OPENING_CALLS.iter().map(|(call, flags, mode)| {
        (number(*call), Check::ModeIfMade { flags: *flags, mode: *mode })
    });
    plain.chain(opening).map(|(call, check)| (call, Outcome::Check(check)))
}

/// The same where a broker makes names, with all other calls that make one.
pub(super) fn brokered() -> Vec<(u32, Outcome)> {
    let mut calls = told();
    calls.extend(BYPASSED.iter().map(|call| (number(*call), Outcome::Errno(libc::ENOSYS))));
    calls
}

/// The same where init is notified of all calls that create a name.
pub(super) fn told() -> Vec<(u32, Outcome)> {
    let made: Vec<u32> = MAKING.iter().chain(OLD_MAKING).map(|call| number(*call)).collect();
    let mut calls: Vec<_> = with_modes()
        .map(|(call, outcome)| match outcome {
            Outcome::Check(Check::ModeIfMade { flags, mode }) => {
                (call, Outcome::Check(Check::ModeIfMadeTold { flags, mode }))
            }
            Outcome::Check(Check::Mode { mode }) if made.contains(&call) => {
                (call, Outcome::Check(Check::ModeTold { mode }))
            }
            Outcome::Allow | Outcome::Errno(_) | Outcome::Tell | Outcome::Check(_) => {
                (call, outcome)
            }
        })
        .collect();
    let others = made.into_iter().filter(|call| calls.iter().all(|(known, _)| known != call));
    let others: Vec<_> = others.map(|call| (call, Outcome::Tell)).collect();
    calls.extend(others);
    calls
}

/// Absent where a broker makes names.
const BYPASSED: &[libc::c_long] = &[
    // A restriction that a program puts on itself and its children does not bind the broker, so it
    // is refused and the program knows.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // It changes which names are the same in a folder.
    SYS_FILE_SETATTR,
];

/// Calls that make a name, but for `open`, which may.
const MAKING: &[libc::c_long] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_bind,
];

#[cfg(target_arch = "x86_64")]
const OLD_MAKING: &[libc::c_long] = &[
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_rename,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MAKING: &[libc::c_long] = &[];

const MODE_CALLS: &[(libc::c_long, u32)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2), (libc::SYS_mknodat, 2)];

#[cfg(target_arch = "x86_64")]
const OLD_MODE_CALLS: &[(libc::c_long, u32)] =
    &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MODE_CALLS: &[(libc::c_long, u32)] = &[];

/// Here the argument counts only if the flags say that a file is made.
#[cfg(target_arch = "x86_64")]
const OPENING_CALLS: &[(libc::c_long, u32, u32)] =
    &[(libc::SYS_openat, 2, 3), (libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING_CALLS: &[(libc::c_long, u32, u32)] = &[(libc::SYS_openat, 2, 3)];

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

/// Calls that change what another process may use, by the argument that names it.
pub(super) fn of_processes() -> impl Iterator<Item = (u32, Outcome)> {
    let calls = [(libc::SYS_prlimit64, 0), (libc::SYS_setpriority, 1)];
    calls
        .into_iter()
        .map(|(call, process)| (number(call), Outcome::Check(Check::NotTheFirst { process })))
}

/// Memory, queues and semaphores that belong to the machine where there is no namespace for them:
/// they outlive the run, count for no limit of it, and are found by number.
pub(super) fn of_the_machine() -> impl Iterator<Item = (u32, Outcome)> {
    let calls = [
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
    ];
    calls.into_iter().map(|call| (number(call), Outcome::Errno(libc::EPERM)))
}

/// As if the kernel did not have them: programs do without.
const ABSENT: &[libc::c_long] = &[
    // Its flags are in memory, which no filter can read; libraries then use `clone`.
    libc::SYS_clone3,
    // Its mode is in memory too.
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
];

// Newer than libc's tables; the same number on every architecture, `asm-generic/unistd.h`.
const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_STATMOUNT: libc::c_long = 457;
const SYS_LISTMOUNT: libc::c_long = 458;
const SYS_LSM_SET_SELF_ATTR: libc::c_long = 460;
const SYS_FILE_SETATTR: libc::c_long = 469;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
