//! The shim's tables against libc's, and its readers against real files.

use std::fs::{self, File};
use std::os::fd::AsRawFd;

use super::proclist::{NumberedEntries, Numbers, Path};
use super::sys::{AT_FDCWD, nr};
use crate::protocol::step::Step;
use crate::spawn::PROGRAM;

#[test]
fn system_call_numbers_are_those_of_libc() {
    let pairs = [
        (nr::READ, libc::SYS_read),
        (nr::WRITE, libc::SYS_write),
        (nr::CLOSE, libc::SYS_close),
        (nr::MMAP, libc::SYS_mmap),
        (nr::MUNMAP, libc::SYS_munmap),
        (nr::RT_SIGACTION, libc::SYS_rt_sigaction),
        (nr::RT_SIGPROCMASK, libc::SYS_rt_sigprocmask),
        (nr::PREAD64, libc::SYS_pread64),
        (nr::FCHMODAT, libc::SYS_fchmodat),
        (nr::GETPID, libc::SYS_getpid),
        (nr::GETUID, libc::SYS_getuid),
        (nr::GETGID, libc::SYS_getgid),
        (nr::SENDMSG, libc::SYS_sendmsg),
        (nr::RECVMSG, libc::SYS_recvmsg),
        (nr::CLONE, libc::SYS_clone),
        (nr::EXECVE, libc::SYS_execve),
        (nr::WAIT4, libc::SYS_wait4),
        (nr::KILL, libc::SYS_kill),
        (nr::FCHDIR, libc::SYS_fchdir),
        (nr::UMASK, libc::SYS_umask),
        (nr::GETRUSAGE, libc::SYS_getrusage),
        (nr::GETPPID, libc::SYS_getppid),
        (nr::SETSID, libc::SYS_setsid),
        (nr::GETPGID, libc::SYS_getpgid),
        (nr::CAPGET, libc::SYS_capget),
        (nr::CAPSET, libc::SYS_capset),
        (nr::RT_SIGTIMEDWAIT, libc::SYS_rt_sigtimedwait),
        (nr::SCHED_SETSCHEDULER, libc::SYS_sched_setscheduler),
        (nr::SCHED_GETSCHEDULER, libc::SYS_sched_getscheduler),
        (nr::SCHED_SETATTR, libc::SYS_sched_setattr),
        (nr::SCHED_GETATTR, libc::SYS_sched_getattr),
        (nr::GETPRIORITY, libc::SYS_getpriority),
        (nr::SETPRIORITY, libc::SYS_setpriority),
        (nr::PRCTL, libc::SYS_prctl),
        (nr::GETDENTS64, libc::SYS_getdents64),
        (nr::CLOCK_GETTIME, libc::SYS_clock_gettime),
        (nr::FUTEX, libc::SYS_futex),
        (nr::EXIT_GROUP, libc::SYS_exit_group),
        (nr::OPENAT, libc::SYS_openat),
        (nr::PPOLL, libc::SYS_ppoll),
        (nr::SIGNALFD4, libc::SYS_signalfd4),
        (nr::DUP3, libc::SYS_dup3),
        (nr::PIPE2, libc::SYS_pipe2),
        (nr::PRLIMIT64, libc::SYS_prlimit64),
        (nr::EXECVEAT, libc::SYS_execveat),
        (nr::STATX, libc::SYS_statx),
        (nr::PIDFD_SEND_SIGNAL, libc::SYS_pidfd_send_signal),
        (nr::PIDFD_OPEN, libc::SYS_pidfd_open),
        (nr::CLOSE_RANGE, libc::SYS_close_range),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(i64::try_from(ours), Ok(theirs));
    }
}

#[test]
fn system_call_numbers_for_boxes_are_those_of_libc() {
    let pairs = [
        (nr::IOCTL, libc::SYS_ioctl),
        (nr::SOCKET, libc::SYS_socket),
        (nr::SETRESUID, libc::SYS_setresuid),
        (nr::SETRESGID, libc::SYS_setresgid),
        (nr::SETGROUPS, libc::SYS_setgroups),
        (nr::PIVOT_ROOT, libc::SYS_pivot_root),
        (nr::MOUNT, libc::SYS_mount),
        (nr::UMOUNT2, libc::SYS_umount2),
        (nr::SETHOSTNAME, libc::SYS_sethostname),
        (nr::CHDIR, libc::SYS_chdir),
        (nr::MKDIRAT, libc::SYS_mkdirat),
        (nr::SYMLINKAT, libc::SYS_symlinkat),
        (nr::UNSHARE, libc::SYS_unshare),
        (nr::SECCOMP, libc::SYS_seccomp),
        (nr::OPEN_TREE, libc::SYS_open_tree),
        (nr::MOVE_MOUNT, libc::SYS_move_mount),
        (nr::FSOPEN, libc::SYS_fsopen),
        (nr::FSCONFIG, libc::SYS_fsconfig),
        (nr::FSMOUNT, libc::SYS_fsmount),
        (nr::CLONE3, libc::SYS_clone3),
        (nr::OPENAT2, libc::SYS_openat2),
        (nr::MOUNT_SETATTR, libc::SYS_mount_setattr),
        (nr::LANDLOCK_ADD_RULE, libc::SYS_landlock_add_rule),
        (nr::LANDLOCK_RESTRICT_SELF, libc::SYS_landlock_restrict_self),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(i64::try_from(ours), Ok(theirs));
    }
}

#[test]
fn system_call_numbers_for_brokers_are_those_of_libc() {
    let pairs = [
        (nr::BIND, libc::SYS_bind),
        (nr::SOCKETPAIR, libc::SYS_socketpair),
        (nr::FCNTL, libc::SYS_fcntl),
        (nr::FLOCK, libc::SYS_flock),
        (nr::FSTATFS, libc::SYS_fstatfs),
        (nr::MKNODAT, libc::SYS_mknodat),
        (nr::LINKAT, libc::SYS_linkat),
        (nr::READLINKAT, libc::SYS_readlinkat),
        (nr::PROCESS_VM_READV, libc::SYS_process_vm_readv),
        (nr::RENAMEAT2, libc::SYS_renameat2),
        (nr::PIDFD_GETFD, libc::SYS_pidfd_getfd),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(i64::try_from(ours), Ok(theirs));
    }
}

#[test]
fn numbers_are_read_across_the_edge_of_the_buffer() {
    let expected: Vec<i32> = (1..2000).map(|n| n * 997).collect();
    let words: Vec<_> = expected.iter().map(i32::to_string).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, words.join(" ")).unwrap();
    let numbers = Numbers::of(file.as_file().as_raw_fd());
    assert!(numbers.eq(expected));
}

#[test]
fn an_empty_list_has_no_numbers() {
    let file = tempfile::tempfile().unwrap();
    assert_eq!(Numbers::of(file.as_raw_fd()).next(), None);
}

#[test]
fn entries_with_other_names_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["7", "42", "x", "123456"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let dir = File::open(folder.path()).unwrap();
    let mut found: Vec<_> = NumberedEntries::of(dir.as_raw_fd()).collect();
    found.sort_unstable();
    assert_eq!(found, [7, 42, 123_456]);
}

#[test]
fn a_path_of_numbers_opens_the_file() {
    let own = i32::try_from(std::process::id()).unwrap();
    let path = Path::new().text("/proc/").number(own).text("/stat");
    let fd = path.open(AT_FDCWD).unwrap();
    assert_eq!(
        fs::read_link(format!("/proc/self/fd/{fd}")).unwrap().to_str(),
        Some(format!("/proc/{own}/stat").as_str())
    );
    super::sys::close(fd);
    assert!(Path::new().text("/proc/").number(0).open(AT_FDCWD).is_err());
}

#[test]
fn every_step_has_a_number_of_its_own() {
    for number in 0..200 {
        if let Some(step) = Step::from_number(number) {
            assert_eq!(step.number(), number);
        }
    }
    assert_eq!(Step::from_number(Step::Execute.number()), Some(Step::Execute));
    assert_eq!(Step::from_number(Step::Execute.number() + 1), None);
}

/// Between a fork and an execution nothing may allocate. The shim, and every process that it clones,
/// is a program that has nothing to allocate with: no library, no loader, no heap of its own.
#[test]
fn the_shim_cannot_allocate() {
    const PT_DYNAMIC: u32 = 2;
    const PT_INTERP: u32 = 3;
    let word = |at: usize| u64::from_le_bytes(PROGRAM[at..at + 8].try_into().unwrap());
    let half = |at: usize| u16::from_le_bytes(PROGRAM[at..at + 2].try_into().unwrap());
    let (headers, size, count) = (word(32), half(54), half(56));
    let kinds = (0..count).map(|number| {
        let at = usize::try_from(headers).unwrap() + usize::from(number) * usize::from(size);
        u32::from_le_bytes(PROGRAM[at..at + 4].try_into().unwrap())
    });
    let kinds: Vec<u32> = kinds.collect();
    assert!(!kinds.is_empty());
    assert!(!kinds.iter().any(|kind| [PT_DYNAMIC, PT_INTERP].contains(kind)), "{kinds:?}");
    let source = include_str!("main.rs");
    assert!(source.contains("#![no_std]"));
    for text in ["extern crate alloc", "global_allocator", "extern crate std"] {
        assert!(!source.contains(text), "{text}");
    }
    for library in [&b"malloc"[..], b"__rust_alloc", b"__libc_start_main"] {
        assert!(!PROGRAM.windows(library.len()).any(|window| window == library));
    }
}
