//! One system call, and nothing else: no libc, no error number in the memory of a thread.
//!
//! For the shim, and for the process that becomes it, which shares the memory of the host.

#![expect(clippy::as_conversions, clippy::cast_possible_wrap, reason = "registers are words")]

use core::arch::asm;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the shim knows the system calls of x86_64 and aarch64 only");

/// Makes a system call, and gives what the kernel gives.
///
/// # Safety
///
/// The effect of the call on this process's memory is allowed: every pointer among the arguments is
/// valid for the kernel's reads and writes.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn system_call(number: usize, args: [usize; 6]) -> isize {
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
    result
}

/// Makes a system call, and gives what the kernel gives.
///
/// # Safety
///
/// The effect of the call on this process's memory is allowed: every pointer among the arguments is
/// valid for the kernel's reads and writes.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn system_call(number: usize, args: [usize; 6]) -> isize {
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
    result
}
