//! System calls by number, as small functions that cannot be misused from safe code.
//!
//! It is long because it is a table: one function a call, no logic. Descriptors are plain
//! numbers: the keeper is one short-lived program that owns them all.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "registers are words: every argument and result is converted at this border"
)]

pub(crate) mod locks;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod notices;
pub(crate) mod spaces;

use core::arch::asm;
use core::ffi::CStr;
use core::ptr;

use super::wire::{Plain, Rlimit};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the keeper knows the system calls of x86_64 and aarch64 only");

/// A descriptor's number.
pub(crate) type Fd = i32;
/// A process id.
pub(crate) type Pid = i32;

/// An error number, as the kernel gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub i32);

impl Errno {
    /// No such device, or nobody at the other end.
    pub(crate) const NXIO: Self = Self(6);
    /// Not an open descriptor.
    pub(crate) const BADF: Self = Self(9);
    /// Try again.
    pub(crate) const AGAIN: Self = Self(11);
    /// An address that is not mapped.
    pub(crate) const FAULT: Self = Self(14);
    /// In use.
    pub(crate) const BUSY: Self = Self(16);
    /// Not a folder.
    pub(crate) const NOTDIR: Self = Self(20);
    /// A folder.
    pub(crate) const ISDIR: Self = Self(21);
    /// A name that is too long.
    pub(crate) const NAMETOOLONG: Self = Self(36);
    /// No such system call.
    pub(crate) const NOSYS: Self = Self(38);
    /// Too many links.
    pub(crate) const LOOP: Self = Self(40);
    /// No such file.
    pub(crate) const NOENT: Self = Self(2);
    /// No such process.
    pub(crate) const SRCH: Self = Self(3);
    /// Interrupted.
    pub(crate) const INTR: Self = Self(4);
    /// Not permitted.
    pub(crate) const PERM: Self = Self(1);
    /// Permission denied.
    pub(crate) const ACCES: Self = Self(13);
    /// It exists already.
    pub(crate) const EXIST: Self = Self(17);
    /// No room left.
    pub(crate) const NOSPC: Self = Self(28);
    /// Invalid argument.
    pub(crate) const INVAL: Self = Self(22);
    /// A handle that no longer names what it did.
    pub(crate) const STALE: Self = Self(116);
    /// What a test build says when it makes a step fail.
    pub(crate) const NOTRECOVERABLE: Self = Self(131);
    /// The host did not let the program go.
    pub(crate) const CANCELED: Self = Self(125);
    /// A message that does not make sense.
    pub(crate) const BADMSG: Self = Self(74);
}

/// What a system call gives.
pub(crate) type Result<T> = core::result::Result<T, Errno>;

/// System call numbers, from `asm/unistd_64.h`.
#[cfg(target_arch = "x86_64")]
pub(crate) mod nr {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const MMAP: usize = 9;
    pub(crate) const MUNMAP: usize = 11;
    pub(crate) const RT_SIGACTION: usize = 13;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const IOCTL: usize = 16;
    pub(crate) const PREAD64: usize = 17;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const SOCKET: usize = 41;
    pub(crate) const SENDMSG: usize = 46;
    pub(crate) const RECVMSG: usize = 47;
    pub(crate) const BIND: usize = 49;
    pub(crate) const SOCKETPAIR: usize = 53;
    pub(crate) const CLONE: usize = 56;
    pub(crate) const EXECVE: usize = 59;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const KILL: usize = 62;
    pub(crate) const FCNTL: usize = 72;
    pub(crate) const FLOCK: usize = 73;
    pub(crate) const CHDIR: usize = 80;
    pub(crate) const FCHDIR: usize = 81;
    pub(crate) const UMASK: usize = 95;
    pub(crate) const GETRUSAGE: usize = 98;
    pub(crate) const GETEUID: usize = 107;
    pub(crate) const GETPPID: usize = 110;
    pub(crate) const SETSID: usize = 112;
    pub(crate) const SETGROUPS: usize = 116;
    pub(crate) const SETRESUID: usize = 117;
    pub(crate) const SETRESGID: usize = 119;
    pub(crate) const GETPGID: usize = 121;
    pub(crate) const CAPGET: usize = 125;
    pub(crate) const CAPSET: usize = 126;
    pub(crate) const RT_SIGTIMEDWAIT: usize = 128;
    pub(crate) const FSTATFS: usize = 138;
    pub(crate) const GETPRIORITY: usize = 140;
    pub(crate) const SETPRIORITY: usize = 141;
    pub(crate) const SCHED_SETSCHEDULER: usize = 144;
    pub(crate) const SCHED_GETSCHEDULER: usize = 145;
    pub(crate) const PIVOT_ROOT: usize = 155;
    pub(crate) const PRCTL: usize = 157;
    pub(crate) const MOUNT: usize = 165;
    pub(crate) const UMOUNT2: usize = 166;
    pub(crate) const SETHOSTNAME: usize = 170;
    pub(crate) const GETDENTS64: usize = 217;
    pub(crate) const CLOCK_GETTIME: usize = 228;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const MKDIRAT: usize = 258;
    pub(crate) const MKNODAT: usize = 259;
    pub(crate) const LINKAT: usize = 265;
    pub(crate) const SYMLINKAT: usize = 266;
    pub(crate) const READLINKAT: usize = 267;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const UNSHARE: usize = 272;
    pub(crate) const SIGNALFD4: usize = 289;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const PIPE2: usize = 293;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const PROCESS_VM_READV: usize = 310;
    pub(crate) const RENAMEAT2: usize = 316;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const EXECVEAT: usize = 322;
    pub(crate) const STATX: usize = 332;
    pub(crate) const PIDFD_SEND_SIGNAL: usize = 424;
    pub(crate) const OPEN_TREE: usize = 428;
    pub(crate) const MOVE_MOUNT: usize = 429;
    pub(crate) const FSOPEN: usize = 430;
    pub(crate) const FSCONFIG: usize = 431;
    pub(crate) const FSMOUNT: usize = 432;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLONE3: usize = 435;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
    pub(crate) const PIDFD_GETFD: usize = 438;
    pub(crate) const MOUNT_SETATTR: usize = 442;
    pub(crate) const LANDLOCK_ADD_RULE: usize = 445;
    pub(crate) const LANDLOCK_RESTRICT_SELF: usize = 446;
}

/// System call numbers, from `asm-generic/unistd.h`.
#[cfg(target_arch = "aarch64")]
pub(crate) mod nr {
    pub(crate) const DUP3: usize = 24;
    pub(crate) const FCNTL: usize = 25;
    pub(crate) const IOCTL: usize = 29;
    pub(crate) const FLOCK: usize = 32;
    pub(crate) const MKNODAT: usize = 33;
    pub(crate) const MKDIRAT: usize = 34;
    pub(crate) const SYMLINKAT: usize = 36;
    pub(crate) const LINKAT: usize = 37;
    pub(crate) const UMOUNT2: usize = 39;
    pub(crate) const MOUNT: usize = 40;
    pub(crate) const PIVOT_ROOT: usize = 41;
    pub(crate) const FSTATFS: usize = 44;
    pub(crate) const CHDIR: usize = 49;
    pub(crate) const FCHDIR: usize = 50;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const PIPE2: usize = 59;
    pub(crate) const GETDENTS64: usize = 61;
    pub(crate) const READ: usize = 63;
    pub(crate) const WRITE: usize = 64;
    pub(crate) const PREAD64: usize = 67;
    pub(crate) const PPOLL: usize = 73;
    pub(crate) const SIGNALFD4: usize = 74;
    pub(crate) const READLINKAT: usize = 78;
    pub(crate) const CAPGET: usize = 90;
    pub(crate) const CAPSET: usize = 91;
    pub(crate) const EXIT_GROUP: usize = 94;
    pub(crate) const UNSHARE: usize = 97;
    pub(crate) const CLOCK_GETTIME: usize = 113;
    pub(crate) const SCHED_SETSCHEDULER: usize = 119;
    pub(crate) const SCHED_GETSCHEDULER: usize = 120;
    pub(crate) const KILL: usize = 129;
    pub(crate) const RT_SIGACTION: usize = 134;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const RT_SIGTIMEDWAIT: usize = 137;
    pub(crate) const SETPRIORITY: usize = 140;
    pub(crate) const GETPRIORITY: usize = 141;
    pub(crate) const SETRESUID: usize = 147;
    pub(crate) const SETRESGID: usize = 149;
    pub(crate) const GETPGID: usize = 155;
    pub(crate) const SETSID: usize = 157;
    pub(crate) const SETGROUPS: usize = 159;
    pub(crate) const SETHOSTNAME: usize = 161;
    pub(crate) const GETRUSAGE: usize = 165;
    pub(crate) const UMASK: usize = 166;
    pub(crate) const PRCTL: usize = 167;
    pub(crate) const GETPID: usize = 172;
    pub(crate) const GETPPID: usize = 173;
    pub(crate) const GETEUID: usize = 175;
    pub(crate) const SOCKET: usize = 198;
    pub(crate) const SOCKETPAIR: usize = 199;
    pub(crate) const BIND: usize = 200;
    pub(crate) const SENDMSG: usize = 211;
    pub(crate) const RECVMSG: usize = 212;
    pub(crate) const MUNMAP: usize = 215;
    pub(crate) const CLONE: usize = 220;
    pub(crate) const EXECVE: usize = 221;
    pub(crate) const MMAP: usize = 222;
    pub(crate) const WAIT4: usize = 260;
    pub(crate) const PRLIMIT64: usize = 261;
    pub(crate) const PROCESS_VM_READV: usize = 270;
    pub(crate) const RENAMEAT2: usize = 276;
    pub(crate) const SECCOMP: usize = 277;
    pub(crate) const EXECVEAT: usize = 281;
    pub(crate) const STATX: usize = 291;
    pub(crate) const PIDFD_SEND_SIGNAL: usize = 424;
    pub(crate) const OPEN_TREE: usize = 428;
    pub(crate) const MOVE_MOUNT: usize = 429;
    pub(crate) const FSOPEN: usize = 430;
    pub(crate) const FSCONFIG: usize = 431;
    pub(crate) const FSMOUNT: usize = 432;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLONE3: usize = 435;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
    pub(crate) const PIDFD_GETFD: usize = 438;
    pub(crate) const MOUNT_SETATTR: usize = 442;
    pub(crate) const LANDLOCK_ADD_RULE: usize = 445;
    pub(crate) const LANDLOCK_RESTRICT_SELF: usize = 446;
}

/// Makes a system call.
///
/// # Safety
///
/// What the call does to this process's memory is allowed: every pointer among the arguments is
/// valid for what the kernel reads or writes through it.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, args: [usize; 6]) -> Result<usize> {
    let result: isize;
    // SAFETY: the instruction clobbers rax, rcx and r11 only, all declared; the caller answers
    // for the memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    checked(result)
}

/// Makes a system call.
///
/// # Safety
///
/// What the call does to this process's memory is allowed: every pointer among the arguments is
/// valid for what the kernel reads or writes through it.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, args: [usize; 6]) -> Result<usize> {
    let result: isize;
    // SAFETY: the instruction changes x0 only, which is declared; the caller answers for the
    // memory.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] as isize => result,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") args[5],
            options(nostack),
        );
    }
    checked(result)
}

pub(crate) fn checked(result: isize) -> Result<usize> {
    // The last 4095 values are negated error numbers: MAX_ERRNO in linux/err.h.
    if (-4095..0).contains(&result) {
        Err(Errno(result.wrapping_neg() as i32))
    } else {
        Ok(result as usize)
    }
}

/// Makes a system call that takes numbers only.
fn plain_call(number: usize, args: [usize; 4]) -> Result<usize> {
    // SAFETY: no argument of the calls made through this function is a pointer.
    unsafe { call(number, [args[0], args[1], args[2], args[3], 0, 0]) }
}

/// Ends the process.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        let _never = plain_call(nr::EXIT_GROUP, [code as usize, 0, 0, 0]);
    }
}

/// `CLOSE_RANGE_CLOEXEC` of `linux/close_range.h`: mark instead of closing.
pub(crate) const CLOSE_RANGE_CLOEXEC: usize = 4;

/// Closes, or marks close-on-exec, every descriptor from `first` on.
pub(crate) fn close_from(first: Fd, flags: usize) -> Result<()> {
    plain_call(nr::CLOSE_RANGE, [first as usize, u32::MAX as usize, flags, 0]).map(drop)
}

/// Closes a descriptor.
pub(crate) fn close(fd: Fd) {
    // Linux frees the number whatever close(2) returns.
    let _freed = plain_call(nr::CLOSE, [fd as usize, 0, 0, 0]);
}

/// Options of prctl(2), from `linux/prctl.h`.
pub(crate) mod pr {
    /// A signal for this process when its parent dies.
    pub(crate) const SET_PDEATHSIG: usize = 1;
    /// Whether others of the same user may look inside.
    pub(crate) const SET_DUMPABLE: usize = 4;
    /// Orphans among the descendants become children of this process.
    pub(crate) const SET_CHILD_SUBREAPER: usize = 36;
    /// No set-user-ID and no file capabilities from here on.
    pub(crate) const SET_NO_NEW_PRIVS: usize = 38;
}

/// Sets a process attribute that is a number.
pub(crate) fn prctl(option: usize, value: usize) -> Result<()> {
    plain_call(nr::PRCTL, [option, value, 0, 0]).map(drop)
}

/// Names the process, for those who read process lists.
pub(crate) fn set_name(name: &CStr) {
    const PR_SET_NAME: usize = 15;
    // SAFETY: PR_SET_NAME reads at most 16 bytes and stops at the NUL.
    let _cosmetic =
        unsafe { call(nr::PRCTL, [PR_SET_NAME, name.as_ptr().expose_provenance(), 0, 0, 0, 0]) };
}

/// This process's id.
pub(crate) fn getpid() -> Pid {
    plain_call(nr::GETPID, [0; 4]).map_or(0, |pid| pid as Pid)
}

/// The parent's id.
pub(crate) fn getppid() -> Pid {
    plain_call(nr::GETPPID, [0; 4]).map_or(0, |pid| pid as Pid)
}

/// The process group of a process.
pub(crate) fn getpgid(pid: Pid) -> Result<Pid> {
    plain_call(nr::GETPGID, [pid as usize, 0, 0, 0]).map(|group| group as Pid)
}

/// Starts a session.
pub(crate) fn setsid() -> Result<()> {
    plain_call(nr::SETSID, [0; 4]).map(drop)
}

/// Sets the mask of permissions that new files do not get, and gives the one before.
pub(crate) fn umask(mask: usize) -> usize {
    plain_call(nr::UMASK, [mask, 0, 0, 0]).unwrap_or(0)
}

/// Makes the directory the working directory.
pub(crate) fn fchdir(dir: Fd) -> Result<()> {
    plain_call(nr::FCHDIR, [dir as usize, 0, 0, 0]).map(drop)
}

/// Makes `to` a copy of `from` that survives execution.
pub(crate) fn dup3(from: Fd, to: Fd) -> Result<()> {
    plain_call(nr::DUP3, [from as usize, to as usize, 0, 0]).map(drop)
}

/// Moves a descriptor to another number, of which it takes the place.
pub(crate) fn move_to(from: Fd, to: Fd) -> Result<()> {
    if from != to {
        dup3(from, to)?;
        close(from);
    }
    Ok(())
}

/// This process's nice value.
pub(crate) fn nice() -> Result<isize> {
    // The kernel gives 20 minus the value, so that no result looks like an error.
    plain_call(nr::GETPRIORITY, [0; 4]).map(|shifted| 20_isize.wrapping_sub(shifted as isize))
}

/// Sets this process's nice value.
pub(crate) fn set_nice(nice: isize) -> Result<()> {
    plain_call(nr::SETPRIORITY, [0, 0, nice as usize, 0]).map(drop)
}

/// Whether this process is scheduled in the ordinary way.
pub(crate) fn is_scheduled_normally() -> bool {
    plain_call(nr::SCHED_GETSCHEDULER, [0; 4]) == Ok(0)
}

/// Lets this process run before every ordinary one; what it forks is ordinary again.
pub(crate) fn schedule_first() -> Result<()> {
    const SCHED_FIFO_RESET_ON_FORK: usize = 0x4000_0001;
    let lowest_priority: i32 = 1;
    let parameter = ptr::from_ref(&lowest_priority).expose_provenance();
    // SAFETY: the kernel reads one struct sched_param, an int.
    unsafe { call(nr::SCHED_SETSCHEDULER, [0, SCHED_FIFO_RESET_ON_FORK, parameter, 0, 0, 0]) }
        .map(drop)
}

/// Signals, from `asm/signal.h`.
pub(crate) mod sig {
    /// Cannot be caught.
    pub(crate) const KILL: usize = 9;
    /// A child ended.
    pub(crate) const CHLD: usize = 17;
    /// The highest number.
    pub(crate) const MAX: usize = 64;
}

const SIGSET_SIZE: usize = 8;

/// Blocks every signal that can be blocked.
pub(crate) fn block_signals() -> Result<()> {
    set_mask(u64::MAX)
}

/// Lets every signal through.
pub(crate) fn unblock_signals() -> Result<()> {
    set_mask(0)
}

fn set_mask(mask: u64) -> Result<()> {
    const SIG_SETMASK: usize = 2;
    let set = ptr::from_ref(&mask).expose_provenance();
    // SAFETY: the kernel reads eight bytes of the mask and writes nothing, the old set being null.
    unsafe { call(nr::RT_SIGPROCMASK, [SIG_SETMASK, set, 0, SIGSET_SIZE, 0, 0]) }.map(drop)
}

/// Gives every signal its default action.
pub(crate) fn default_signals() {
    // handler, flags, restorer and mask, all zero: SIG_DFL.
    let action = [0_u64; 4];
    for signal in 1..=sig::MAX {
        let new = action.as_ptr().expose_provenance();
        // SAFETY: the kernel reads one 32-byte sigaction and writes nothing, the old one being
        // null. SIGKILL and SIGSTOP are refused, which is their default too.
        let _refused = unsafe { call(nr::RT_SIGACTION, [signal, new, 0, SIGSET_SIZE, 0, 0]) };
    }
}

/// Lets the kernel reap children as they end.
pub(crate) fn ignore_children() -> Result<()> {
    const SIG_IGN: u64 = 1;
    on_child(SIG_IGN)
}

/// Keeps children that have ended to be reaped.
pub(crate) fn heed_children() -> Result<()> {
    const SIG_DFL: u64 = 0;
    on_child(SIG_DFL)
}

fn on_child(handler: u64) -> Result<()> {
    let action = [handler, 0, 0, 0];
    let new = action.as_ptr().expose_provenance();
    // SAFETY: the kernel reads one 32-byte sigaction and writes nothing, the old one being null.
    unsafe { call(nr::RT_SIGACTION, [sig::CHLD, new, 0, SIGSET_SIZE, 0, 0]) }.map(drop)
}

const CHILD_SET: u64 = 1 << (sig::CHLD - 1);

/// A descriptor that is readable while SIGCHLD is pending.
pub(crate) fn child_signals() -> Result<Fd> {
    const SFD_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
    let set = ptr::from_ref(&CHILD_SET).expose_provenance();
    let new = (-1_isize) as usize;
    // SAFETY: the kernel reads eight bytes of the set.
    unsafe { call(nr::SIGNALFD4, [new, set, SIGSET_SIZE, SFD_NONBLOCK_CLOEXEC, 0, 0]) }
        .map(|fd| fd as Fd)
}

/// Waits for a pending SIGCHLD and takes it, or for the time to pass.
pub(crate) fn await_child_signal(timeout_ns: u64) {
    let set = ptr::from_ref(&CHILD_SET).expose_provenance();
    let time = timespec(timeout_ns);
    let timeout = time.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the set and the timespec; the information pointer is null.
    let _either = unsafe { call(nr::RT_SIGTIMEDWAIT, [set, 0, timeout, SIGSET_SIZE, 0, 0]) };
}

const fn timespec(ns: u64) -> [u64; 2] {
    [ns / 1_000_000_000, ns % 1_000_000_000]
}

/// The monotonic clock, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_ns(1) // CLOCK_MONOTONIC
}

/// The processor time that this process has used, in nanoseconds.
pub(crate) fn used_ns() -> u64 {
    clock_ns(2) // CLOCK_PROCESS_CPUTIME_ID
}

/// The processor time that a process has used, its children not counted, in nanoseconds; also of one
/// that has ended, until it is reaped.
pub(crate) fn used_by_ns(process: Pid) -> Result<u64> {
    // CPUCLOCK_SCHED of include/linux/posix-timers_types.h, of the process and not of one thread.
    const SCHED: usize = 2;
    read_clock_ns(!(process as usize) << 3 | SCHED)
}

fn clock_ns(clock: usize) -> u64 {
    // Never fails for these clocks.
    read_clock_ns(clock).unwrap_or(0)
}

fn read_clock_ns(clock: usize) -> Result<u64> {
    let mut time = [0_u64; 2];
    let at = time.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one 16-byte timespec.
    unsafe { call(nr::CLOCK_GETTIME, [clock, at, 0, 0, 0, 0]) }?;
    Ok(time[0].saturating_mul(1_000_000_000).saturating_add(time[1]))
}

/// One descriptor to poll, as `struct pollfd`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Poll {
    /// The descriptor; a negative one is passed over.
    pub(crate) fd: Fd,
    /// What to wait for.
    pub(crate) events: i16,
    /// What happened.
    pub(crate) revents: i16,
}

impl Poll {
    /// Something can be read: `POLLIN`.
    pub(crate) const INPUT: i16 = 1;

    /// Waits for something to read, or for the end.
    pub(crate) const fn input(fd: Fd) -> Self {
        Self { fd, events: Self::INPUT, revents: 0 }
    }
}

/// Waits until a descriptor is ready or the time has passed.
pub(crate) fn poll(fds: &mut [Poll], timeout_ns: Option<u64>) -> Result<()> {
    let time = timespec(timeout_ns.unwrap_or(0));
    let timeout = if timeout_ns.is_some() { time.as_ptr().expose_provenance() } else { 0 };
    let list = fds.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads and writes fds.len() pollfds and may write the remaining time into
    // the timespec, which is a local that is not read again.
    unsafe { call(nr::PPOLL, [list, fds.len(), timeout, 0, 0, 0]) }.map(drop)
}

/// Reads into a buffer.
pub(crate) fn read(fd: Fd, into: &mut [u8]) -> Result<usize> {
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most into.len() bytes to the buffer.
    unsafe { call(nr::READ, [fd as usize, to, into.len(), 0, 0, 0]) }
}

/// Reads into a buffer from a position.
pub(crate) fn pread(fd: Fd, into: &mut [u8], position: usize) -> Result<usize> {
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most into.len() bytes to the buffer.
    unsafe { call(nr::PREAD64, [fd as usize, to, into.len(), position, 0, 0]) }
}

/// Writes a buffer.
pub(crate) fn write(fd: Fd, from: &[u8]) -> Result<usize> {
    // SAFETY: the kernel reads at most from.len() bytes of the buffer.
    unsafe {
        call(nr::WRITE, [fd as usize, from.as_ptr().expose_provenance(), from.len(), 0, 0, 0])
    }
}

/// Reads directory entries.
pub(crate) fn getdents(dir: Fd, into: &mut [u8]) -> Result<usize> {
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most into.len() bytes to the buffer.
    unsafe { call(nr::GETDENTS64, [dir as usize, to, into.len(), 0, 0, 0]) }
}

/// The working directory, as a descriptor argument.
pub(crate) const AT_FDCWD: Fd = -100;

const O_CLOEXEC: usize = 0o2_000_000;

/// Opens a file for reading, close-on-exec.
pub(crate) fn open(dir: Fd, path: &CStr) -> Result<Fd> {
    open_as(dir, path, 0)
}

/// Opens a file for writing, close-on-exec.
pub(crate) fn open_for_writing(dir: Fd, path: &CStr) -> Result<Fd> {
    const O_WRONLY: usize = 1;
    open_as(dir, path, O_WRONLY)
}

/// Opens a file with these flags, close-on-exec; none is made.
pub(crate) fn open_as(dir: Fd, path: &CStr, flags: usize) -> Result<Fd> {
    let name = path.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the path up to its NUL.
    unsafe { call(nr::OPENAT, [dir as usize, name, O_CLOEXEC | flags, 0, 0, 0]) }.map(|fd| fd as Fd)
}

/// A close-on-exec pipe: the end to read, the end to write.
pub(crate) fn pipe() -> Result<[Fd; 2]> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two ints.
    unsafe { call(nr::PIPE2, [ends.as_mut_ptr().expose_provenance(), O_CLOEXEC, 0, 0, 0, 0]) }?;
    Ok(ends)
}

const MAP_PRIVATE: usize = 0x2;
const MAP_ANONYMOUS_NORESERVE: usize = 0x4020;

/// Maps `len` bytes, page-aligned, readable and writable, private to this process: of a file, or zeroes.
pub(crate) fn map(file: Option<Fd>, len: usize) -> Result<*mut u64> {
    match file {
        Some(fd) => map_as(MAP_PRIVATE, fd, len),
        None => map_as(MAP_PRIVATE | MAP_ANONYMOUS_NORESERVE, -1, len),
    }
}

/// Unmaps what was mapped. Nothing may use it any more.
pub(crate) fn unmap(data: &'static [u8]) {
    let at = data.as_ptr().expose_provenance();
    // SAFETY: the caller gives up the only reference to a whole mapping.
    let _unmapped = unsafe { call(nr::MUNMAP, [at, data.len(), 0, 0, 0, 0]) };
}

fn map_as(flags: usize, fd: Fd, len: usize) -> Result<*mut u64> {
    const PROT_READ_WRITE: usize = 3;
    // SAFETY: without MAP_FIXED the kernel chooses an address where nothing is mapped.
    unsafe { call(nr::MMAP, [0, len, PROT_READ_WRITE, flags, fd as usize, 0]) }
        .map(ptr::with_exposed_provenance_mut)
}

/// Which side of a fork one is on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Forked {
    /// The child.
    Child,
    /// The parent, with the child's id.
    Parent(Pid),
}

/// Forks.
pub(crate) fn fork() -> Result<Forked> {
    // SAFETY: without CLONE_VM the child works on a copy of the memory, as after fork(2); the
    // keeper has one thread and no locks.
    let pid = unsafe { call(nr::CLONE, [sig::CHLD, 0, 0, 0, 0, 0]) }?;
    Ok(if pid == 0 { Forked::Child } else { Forked::Parent(pid as Pid) })
}

/// Sends a signal to a process, to a group (negative) or to all that may be signalled (-1).
pub(crate) fn kill(pid: Pid, signal: usize) -> Result<()> {
    plain_call(nr::KILL, [pid as usize, signal, 0, 0]).map(drop)
}

/// A handle on a process, close-on-exec.
pub(crate) fn pidfd_open(pid: Pid) -> Result<Fd> {
    plain_call(nr::PIDFD_OPEN, [pid as usize, 0, 0, 0]).map(|fd| fd as Fd)
}

/// Whether the process behind a pidfd may be signalled.
pub(crate) fn may_signal(pidfd: Fd) -> Result<()> {
    plain_call(nr::PIDFD_SEND_SIGNAL, [pidfd as usize, 0, 0, 0]).map(drop)
}

const WNOHANG: usize = 1;
const WALL: usize = 0x4000_0000;

/// Reaps one child that has ended, if any has.
pub(crate) fn reap() -> Result<Option<(Pid, i32)>> {
    let (pid, status) = wait(WNOHANG | WALL)?;
    Ok(if pid == 0 { None } else { Some((pid, status)) })
}

/// Waits until a child ends, and reaps it.
pub(crate) fn reap_next() -> Result<(Pid, i32)> {
    wait(WALL)
}

fn wait(options: usize) -> Result<(Pid, i32)> {
    const ANY: usize = (-1_isize) as usize;
    let mut status: i32 = 0;
    let out = ptr::from_mut(&mut status).expose_provenance();
    // SAFETY: the kernel writes one int; the usage pointer is null.
    let pid = unsafe { call(nr::WAIT4, [ANY, out, options, 0, 0, 0]) }?;
    Ok((pid as Pid, status))
}

/// What the children that were reaped have used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu_ns: u64,
    /// The largest resident set of one of them.
    pub(crate) peak_rss_bytes: u64,
}

/// What the children that were reaped have used, their own reaped children included.
pub(crate) fn children_usage() -> Usage {
    const RUSAGE_CHILDREN: usize = (-1_isize) as usize;
    // struct rusage: two timevals, ru_maxrss in KiB, thirteen more longs.
    let mut usage = [0_u64; 18];
    let out = usage.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one struct rusage, 18 words.
    let _always = unsafe { call(nr::GETRUSAGE, [RUSAGE_CHILDREN, out, 0, 0, 0, 0]) };
    let [user, user_micros, system, system_micros, maxrss_kib, ..] = usage;
    let seconds = user.saturating_add(system);
    let micros = user_micros.saturating_add(system_micros);
    Usage {
        cpu_ns: seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1000)),
        peak_rss_bytes: maxrss_kib.saturating_mul(1024),
    }
}

/// Lowers a limit of this process; what is already lower stays.
pub(crate) fn lower_limit(limit: Rlimit) -> Result<()> {
    let mut current = [0_u64; 2];
    let old = current.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one rlimit64, two words; the new limit is null.
    unsafe { call(nr::PRLIMIT64, [0, limit.resource as usize, 0, old, 0, 0]) }?;
    let hard = limit.hard.min(current[1]);
    let wanted = [limit.soft.min(hard), hard];
    let new = wanted.as_ptr().expose_provenance();
    // SAFETY: the kernel reads one rlimit64, two words; the old limit is null.
    unsafe { call(nr::PRLIMIT64, [0, limit.resource as usize, new, 0, 0, 0]) }.map(drop)
}

/// Enters a Landlock domain, without audit records for what this program does itself.
pub(crate) fn landlock_restrict_self(ruleset: Fd) -> Result<()> {
    const LOG_SAME_EXEC_OFF: usize = 1;
    match plain_call(nr::LANDLOCK_RESTRICT_SELF, [ruleset as usize, LOG_SAME_EXEC_OFF, 0, 0]) {
        // The flag is known since ABI 7 (Linux 6.15).
        Err(Errno::INVAL) => plain_call(nr::LANDLOCK_RESTRICT_SELF, [ruleset as usize, 0, 0, 0]),
        other => other,
    }
    .map(drop)
}

/// One instruction of a filter, `struct sock_filter`: code, steps if true, steps if not, value.
#[repr(C)]
struct Instruction(u16, u8, u8, u32);

/// Refuses `prlimit64` that sets a limit of a process by its number, and lets all else through.
#[rustfmt::skip]
static NO_LIMITS_FOR_OTHERS: [Instruction; 16] = {
    // AUDIT_ARCH_* of linux/audit.h and the number of the call: of this architecture, and of its
    // 32-bit programs.
    #[cfg(target_arch = "x86_64")]
    const ARCH: [u32; 4] = [0xc000_003e, 302, 0x4000_0003, 340];
    #[cfg(target_arch = "aarch64")]
    const ARCH: [u32; 4] = [0xc000_00b7, 261, 0x4000_0028, 369];
    const LOAD: u16 = 0x20;
    const AND: u16 = 0x54;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    [
        // The offsets are those of struct seccomp_data: nr 0, arch 4, args from 16 on.
        Instruction(LOAD, 0, 0, 4),
        Instruction(IF_EQUAL, 0, 3, ARCH[0]),
        Instruction(LOAD, 0, 0, 0),
        // The calls of x32 are the same with this bit set.
        Instruction(AND, 0, 0, !0x4000_0000),
        Instruction(IF_EQUAL, 3, 10, ARCH[1]),
        Instruction(IF_EQUAL, 0, 9, ARCH[2]),
        Instruction(LOAD, 0, 0, 0),
        Instruction(IF_EQUAL, 0, 7, ARCH[3]),
        // The process: 0 is the caller itself.
        Instruction(LOAD, 0, 0, 16),
        Instruction(IF_EQUAL, 5, 0, 0),
        // The new limit: null only asks for the old one.
        Instruction(LOAD, 0, 0, 32),
        Instruction(IF_EQUAL, 0, 2, 0),
        Instruction(LOAD, 0, 0, 36),
        Instruction(IF_EQUAL, 1, 0, 0),
        // SECCOMP_RET_ERRNO with EPERM, SECCOMP_RET_ALLOW.
        Instruction(RETURN, 0, 0, 0x0005_0001),
        Instruction(RETURN, 0, 0, 0x7fff_0000),
    ]
};

/// Refuses this process and its descendants to set the limits of others.
///
/// A limit of no processor time kills, one of no file size ends whoever writes next, and no signal
/// scope is asked: the same user may. Needs `no_new_privs`.
pub(crate) fn refuse_limiting_others() -> Result<()> {
    #[repr(C)]
    struct Filter {
        len: u16,
        instructions: *const Instruction,
    }
    const PR_SET_SECCOMP: usize = 22;
    const SECCOMP_MODE_FILTER: usize = 2;
    let len = NO_LIMITS_FOR_OTHERS.len() as u16;
    let filter = Filter { len, instructions: NO_LIMITS_FOR_OTHERS.as_ptr() };
    let filter = ptr::from_ref(&filter).expose_provenance();
    // SAFETY: the kernel reads one struct sock_fprog and as many instructions as it says.
    unsafe { call(nr::PRCTL, [PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0, 0]) }.map(drop)
}

/// Capabilities with which a process reads the memory of others past every security module:
/// since Linux 6.15 `may_access_mm` in `kernel/fork.c` lets `perfmon_capable()` through.
const CAPABILITIES_TO_LOOK: u64 = 1 << 21 | 1 << 38; // CAP_SYS_ADMIN, CAP_PERFMON

/// Gives up the capabilities with which the memory of other processes can be read.
pub(crate) fn drop_capabilities_to_look() -> Result<()> {
    // struct __user_cap_header_struct: version 3, this process. The data are two structs of
    // effective, permitted and inheritable sets: the low halves, then the high ones.
    let mut header: [u32; 2] = [0x2008_0522, 0];
    let mut sets = [0_u32; 6];
    let (head, data) =
        (header.as_mut_ptr().expose_provenance(), sets.as_mut_ptr().expose_provenance());
    // SAFETY: the kernel reads the header, may write the version into it, and writes 24 bytes.
    unsafe { call(nr::CAPGET, [head, data, 0, 0, 0, 0]) }?;
    let kept = !CAPABILITIES_TO_LOOK;
    for (at, set) in sets.iter_mut().enumerate() {
        *set &= if at < 3 { kept as u32 } else { (kept >> 32) as u32 };
    }
    // SAFETY: the kernel reads the header and 24 bytes.
    unsafe { call(nr::CAPSET, [head, data, 0, 0, 0, 0]) }.map(drop)
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Its device and inode: two files are the same if these are.
    pub(crate) identity: ((u32, u32), u64),
    /// How many names it has.
    pub(crate) names: u32,
    /// Whether it is a folder.
    pub(crate) is_folder: bool,
    /// The kind of file, one of `S_IFMT` of `linux/stat.h`.
    pub(crate) kind: u16,
}

const AT_EMPTY_PATH: usize = 0x1000;

/// What is known of the file at a path, or of the descriptor when the path is empty.
pub(crate) fn stat(dir: Fd, path: *const u8) -> Result<Stat> {
    const STATX_TYPE_NLINK_INO: usize = 0x105;
    const S_IFMT: u16 = 0o170_000;
    const S_IFDIR: u16 = 0o040_000;
    #[repr(C)]
    struct Statx {
        head: [u32; 4],
        names: u32,
        owners: [u32; 2],
        mode: [u16; 2],
        inode: u64,
        middle: [u64; 12],
        device: (u32, u32),
        tail: [u64; 14],
    }
    const _: () = assert!(size_of::<Statx>() == 256);
    const _: () = assert!(core::mem::offset_of!(Statx, device) == 136);
    // SAFETY: integers only, for which zero is a value.
    let mut stat: Statx = unsafe { core::mem::zeroed() };
    let out = ptr::from_mut(&mut stat).expose_provenance();
    let path = path.expose_provenance();
    // SAFETY: the callers' paths are strings with a NUL, and the kernel writes one struct statx.
    unsafe { call(nr::STATX, [dir as usize, path, AT_EMPTY_PATH, STATX_TYPE_NLINK_INO, out, 0]) }?;
    Ok(Stat {
        identity: (stat.device, stat.inode),
        names: stat.names,
        is_folder: stat.mode[0] & S_IFMT == S_IFDIR,
        kind: stat.mode[0] & S_IFMT,
    })
}

/// Executes the file behind a descriptor. Returns only on failure.
///
/// # Safety
///
/// Both tables end with a null pointer and the others point to strings with a NUL.
pub(crate) unsafe fn execute_fd(
    program: Fd,
    argv: *const *const u8,
    envp: *const *const u8,
) -> Errno {
    let empty = c"".as_ptr().expose_provenance();
    let (argv, envp) = (argv.expose_provenance(), envp.expose_provenance());
    // SAFETY: the caller promises the tables; the kernel copies them before the memory goes.
    let result =
        unsafe { call(nr::EXECVEAT, [program as usize, empty, argv, envp, AT_EMPTY_PATH, 0]) };
    result.err().unwrap_or(Errno::INVAL)
}

/// Executes the file at a path. Returns only on failure.
///
/// # Safety
///
/// The path is a string with a NUL; the tables are as for [`execute_fd`].
pub(crate) unsafe fn execute_path(
    path: *const u8,
    argv: *const *const u8,
    envp: *const *const u8,
) -> Errno {
    let path = path.expose_provenance();
    let (argv, envp) = (argv.expose_provenance(), envp.expose_provenance());
    // SAFETY: the caller promises path and tables; the kernel copies them before the memory goes.
    let result = unsafe { call(nr::EXECVE, [path, argv, envp, 0, 0, 0]) };
    result.err().unwrap_or(Errno::INVAL)
}

/// `struct msghdr` of the 64-bit system calls.
#[repr(C)]
struct Message {
    name: usize,
    name_len: usize,
    parts: usize,
    part_count: usize,
    control: usize,
    control_len: usize,
    flags: usize,
}

/// Room for one `SCM_RIGHTS` message: `struct cmsghdr` and an even number of descriptors.
#[repr(C)]
struct Rights<const N: usize> {
    len: usize,
    level: i32,
    kind: i32,
    fds: [Fd; N],
}

const RIGHTS_HEADER: usize = 16;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;

/// Receives a message and the descriptors that come with it: how many bytes, how many descriptors.
pub(crate) fn receive<T: Plain, const N: usize>(
    socket: Fd,
    into: &mut T,
    fds: &mut [Fd; N],
) -> Result<(usize, usize)> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    let bytes = into.bytes_mut();
    let part = [bytes.as_mut_ptr().expose_provenance(), bytes.len()];
    let mut rights = Rights { len: 0, level: 0, kind: 0, fds: [-1; N] };
    let mut message = Message {
        name: 0,
        name_len: 0,
        parts: part.as_ptr().expose_provenance(),
        part_count: 1,
        control: ptr::from_mut(&mut rights).expose_provenance(),
        control_len: size_of::<Rights<N>>(),
        flags: 0,
    };
    let header = ptr::from_mut(&mut message).expose_provenance();
    // SAFETY: the header describes one part, all of `into`, and control room, all of `rights`;
    // the kernel writes no further than their lengths, and both outlive the call.
    let len = unsafe { call(nr::RECVMSG, [socket as usize, header, MSG_CMSG_CLOEXEC, 0, 0, 0]) }?;
    let is_rights = rights.level == SOL_SOCKET && rights.kind == SCM_RIGHTS;
    let count = if is_rights {
        rights.len.saturating_sub(RIGHTS_HEADER).checked_div(size_of::<Fd>()).unwrap_or(0)
    } else {
        0
    };
    *fds = rights.fds;
    Ok((len, count.min(fds.len())))
}

/// Sends a message, with a descriptor if one is given.
pub(crate) fn send<T: Plain>(socket: Fd, from: &T, fd: Option<Fd>) -> Result<()> {
    send_with(socket, from, &[fd.unwrap_or(-1), 0], usize::from(fd.is_some()))
}

/// Sends a message with the first few of these descriptors, of which there is an even number.
pub(crate) fn send_with<T: Plain, const N: usize>(
    socket: Fd,
    from: &T,
    fds: &[Fd; N],
    count: usize,
) -> Result<()> {
    const MSG_NOSIGNAL: usize = 0x4000;
    const { assert!(N.is_multiple_of(2)) }
    let count = count.min(N);
    let bytes = from.bytes();
    let part = [bytes.as_ptr().expose_provenance(), bytes.len()];
    let len = RIGHTS_HEADER.wrapping_add(count.wrapping_mul(size_of::<Fd>()));
    let rights = Rights { len, level: SOL_SOCKET, kind: SCM_RIGHTS, fds: *fds };
    let is_with = count != 0;
    let message = Message {
        name: 0,
        name_len: 0,
        parts: part.as_ptr().expose_provenance(),
        part_count: 1,
        control: if is_with { ptr::from_ref(&rights).expose_provenance() } else { 0 },
        // Control messages are padded to whole words.
        control_len: if is_with { len.next_multiple_of(size_of::<usize>()) } else { 0 },
        flags: 0,
    };
    let header = ptr::from_ref(&message).expose_provenance();
    // SAFETY: the header describes one part, all of `from`, and control of no more than `rights`,
    // whose descriptors are an even number; the kernel only reads them, and both outlive the call.
    unsafe { call(nr::SENDMSG, [socket as usize, header, MSG_NOSIGNAL, 0, 0, 0]) }.map(drop)
}
